// Binding and page placement on the machine that it runs on: one line for each NUMA node, and the error paths.
//
//   node 0: pages on 0, filled from cpus 0-1
//   node 0, huge pages: no_memory: NUMA node 0 has 0 free huge pages of 2 MiB, 8 are needed; …
//   node 2: no_memory: NUMA node 2 has no memory
//
// On a machine with one NUMA node it proves little; tests/guest/ runs it in guests with several and reads the lines.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "memory/host_memory.h"
#include "node/cpus.h"
#include "node/node.h"

namespace {

constexpr std::size_t buffer_bytes = std::size_t{16} << 20;
int faults = 0;

void expect(bool held, const std::string& what) {
    if (held) return;
    ++faults;
    std::printf("WRONG: %s\n", what.c_str());
}

// The code of what prevents `action`: "" if nothing does, "wrong use" for WrongUse.
template <typename Action>
std::string prevented(const Action& action) {
    try {
        action();
        return "";
    } catch (const nearfar::Prevented& reason) {
        return reason.code;
    } catch (const nearfar::WrongUse&) {
        return "wrong use";
    }
}

void place_on(const nearfar::Node& node, int numa_node, nearfar::HostPages kind) {
    const std::string name = "node " + std::to_string(numa_node) + (kind == nearfar::HostPages::huge ? ", huge pages" : "");
    try {
        const nearfar::HostBuffer buffer(node, numa_node, buffer_bytes, kind, 1);
        const std::map<int, std::size_t> pages = nearfar::pages_by_node(buffer.data(), buffer.bytes());
        expect(pages.size() == 1 && pages.count(numa_node) == 1, "pages of a bound buffer are on its node alone");
        expect(buffer.memory_nodes() == std::vector<int>{numa_node}, "the buffer says where its pages are");
        std::printf("%s: pages on %d, filled from cpus %s\n", name.c_str(), pages.begin()->first,
                    nearfar::cpu_list(node.nearest_cpus(numa_node)).c_str());
    } catch (const nearfar::Prevented& reason) {
        std::printf("%s: %s: %s\n", name.c_str(), reason.code.c_str(), reason.what());
    }
}

// The verification must see pages that are elsewhere: spread some over two nodes, behind the library's back.
void spread_over(int a, int b) {
    constexpr int mpol_interleave = 3;  // <numaif.h>
    void* data = mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return expect(false, "16 MiB can be mapped");
    const unsigned long mask = 1UL << static_cast<unsigned>(a) | 1UL << static_cast<unsigned>(b);
    expect(syscall(SYS_mbind, data, buffer_bytes, mpol_interleave, &mask, 65UL, 0) == 0, "pages can be interleaved");
    auto* bytes = static_cast<volatile char*>(data);
    for (std::size_t at = 0; at < buffer_bytes; at += 4096) bytes[at] = 1;
    const std::map<int, std::size_t> pages = nearfar::pages_by_node(data, buffer_bytes);
    expect(pages.size() == 2 && pages.count(a) == 1 && pages.count(b) == 1, "interleaved pages are seen on both nodes");
    std::printf("interleaved over %d and %d: seen on %zu nodes\n", a, b, pages.size());
    munmap(data, buffer_bytes);
}

int run() {
    const nearfar::Node node = nearfar::read_node();
    std::printf("packages: %zu, numa nodes: %zu, allowed cpus: %s\n", node.packages.size(), node.numa_nodes.size(),
                nearfar::cpu_list(node.allowed_cpus).c_str());
    for (const nearfar::NumaNode& numa : node.numa_nodes)
        for (const nearfar::HostPages kind : {nearfar::HostPages::ordinary, nearfar::HostPages::huge})
            place_on(node, numa.index, kind);
    const std::vector<int> usable = node.usable_memory();
    expect(!usable.empty(), "some NUMA node has memory");
    if (usable.size() >= 2) spread_over(usable[0], usable[1]);
    if (usable.empty()) return faults;

    const int absent = node.numa_nodes.back().index + 1;
    const auto buffer = [&](int numa_node, std::size_t bytes, nearfar::HostPages pages) {
        return prevented([&] { nearfar::HostBuffer(node, numa_node, bytes, pages, 1); });
    };
    expect(buffer(absent, buffer_bytes, nearfar::HostPages::ordinary) == "wrong use", "an absent NUMA node is wrong use");
    // A strict binding to a full node would be ended by the kernel: it must be refused before.
    // The machine's memory counts as well: that of a virtual machine's only node may still grow.
    const std::size_t machine =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t too_much = 2 * std::max(node.numa_node(usable.front())->memory, machine);
    expect(buffer(usable.front(), too_much, nearfar::HostPages::ordinary) == "no_memory", "twice a node's memory is refused");
    const std::string huge = buffer(usable.front(), too_much, nearfar::HostPages::huge);
    expect(huge == "no_memory" || huge == "unsupported", "huge pages beyond the reserve are refused");

    const std::vector<int> before = nearfar::cpus_in_effect();
    expect(prevented([] { nearfar::bind_thread({8000}); }) == "not_allowed", "binding to an absent CPU is refused");
    expect(nearfar::bind_thread({before.back()}) == std::vector<int>{before.back()}, "a binding that took is returned");
    return faults;
}

}  // namespace

int main() {
    try {
        const int wrong = run();
        std::printf(wrong == 0 ? "all held\n" : "%d did not hold\n", wrong);
        return wrong == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        std::printf("WRONG: %s\n", error.what());
        return 1;
    }
}
