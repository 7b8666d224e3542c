// The host's side of flows of emulated GPUs: which CPUs drive, which GPU registers, and the clocks of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "core/error.h"
#include "gpu/host_registration.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "tests/gpu/tested_gpus.h"

namespace nearfar {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// Two NUMA nodes of two CPUs; both GPUs are attached to the second, of which the cpuset allows the memory alone.
Node half_allowed() {
    Node node;
    node.numa_nodes = {{0, 0, {0, 1}, 1 << 30}, {1, 1, {2, 3}, 1 << 30}};
    node.allowed_cpus = {0, 1};
    node.gpus.resize(2);
    for (PciGpu& gpu : node.gpus) gpu.numa_node = 1;
    return node;
}

std::vector<int> cpus_of(const std::string& cell) {
    const Node node = half_allowed();
    std::vector<GpuDevice> gpus(2);
    for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].on_bus = node.gpus[i];
    return driving_cpus(parse_cell(cell).flows[0], node, gpus);
}

TEST(DrivingCpus, OnlyAFlowOfANodesMemoryNeedsItsCpus) {
    EXPECT_EQ(cpus_of("g0:g1"), (std::vector<int>{0, 1}));
    EXPECT_EQ(cpus_of("n1:g0@n0"), (std::vector<int>{0, 1}));
    EXPECT_EQ(cpus_of("n0:g0"), (std::vector<int>{0, 1}));
    EXPECT_THROW(cpus_of("n1:g0"), Prevented);
    EXPECT_THROW(cpus_of("n0:g0@n1"), Prevented);
}

TEST(HostRegistration, EachRefusalHasItsOwnCause) {
    const Prevented confidential = registration_refused("not supported", true, 256 * mib, 64 << 10);
    EXPECT_EQ(confidential.code, "denied");
    EXPECT_EQ(std::string(confidential.what()).find("ulimit"), std::string::npos);
    const Prevented limited = registration_refused("out of memory", false, 256 * mib, 64 << 10);
    EXPECT_EQ(limited.code, "memlock");
    EXPECT_NE(std::string(limited.what()).find("256 MiB were asked for, and the limit on locked memory ('ulimit -l') is 64 KiB"),
              std::string::npos);
    const Prevented unlimited = registration_refused("out of memory", false, 256 * mib, {});
    EXPECT_NE(std::string(unlimited.what()).find("is none"), std::string::npos);
}

TEST(Windowed, ALongPumpFollowsAClockThatDrifts) {
    setenv("EMULATED_CUDA", "gpus=1,clock_drift=0.01", 1);
    const Node node = node_with_gpus();
    std::vector<GpuDevice> gpus = find_gpus_by_cuda(node);
    open_gpus(gpus, {0});
    const Cell cell = parse_cell("g0:n0");
    Buffers buffers(node, gpus);
    buffers.plan(cell);
    buffers.allocate_host();
    buffers.allocate_device_and_register();
    std::vector<Route> routes = plan_routes(cell.flows[0], buffers_of(cell)[0], buffers, node, gpus, 1);
    begin_chunks(routes[0], mib);
    double ahead = -1;
    const double end = now() + 1.8;
    pump_chunks(
        routes[0], [&] { return now() > end; }, [&](double time) { ahead = std::max(ahead, time - now()); });
    EXPECT_LT(ahead, 0.014) << "seconds that a chunk's time lies in the future; 0.018 without another alignment";
}

}  // namespace
}  // namespace nearfar
