#include "memory/memory_plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace nearfar {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
const char* const node_0 = "/sys/devices/system/node/node0/meminfo";

// A machine's files, as far as memory goes: two NUMA nodes with 1 GiB free each.
class MemoryPlanTest : public testing::Test {
protected:
    void SetUp() override {
        root_ = (fs::temp_directory_path() / ("memory-plan-" + std::to_string(getpid()))).string();
        write("/sys/devices/system/node/has_memory", "0-1\n");
        write(node_0, "Node 0 MemTotal: 2097152 kB\nNode 0 MemFree: 524288 kB\nNode 0 Inactive(file): 524288 kB\n");
        write("/sys/devices/system/node/node1/meminfo", "Node 1 MemFree: 1048576 kB\n");
    }
    void TearDown() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories(fs::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }

    // Version 2: a job's group of 600 MiB with 100 in use, 50 of them file caches, and a step's group below without a limit.
    void write_version_2() const {
        write("/proc/self/cgroup", "0::/job/step\n");
        write("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n");
        write("/sys/fs/cgroup/job/memory.max", "629145600\n");
        write("/sys/fs/cgroup/job/memory.high", "max\n");
        write("/sys/fs/cgroup/job/memory.current", "104857600\n");
        write("/sys/fs/cgroup/job/memory.stat", "anon 52428800\ninactive_file 31457280\nactive_file 20971520\n");
        write("/sys/fs/cgroup/job/step/memory.max", "max\n");
        write("/sys/fs/cgroup/job/step/memory.current", "104857600\n");
    }

    std::string refused(MemoryPlan& plan, int numa_node, std::uint64_t bytes, HostPages pages = HostPages::ordinary) const {
        try {
            plan.add(numa_node, bytes, pages);
            return "";
        } catch (const Prevented& why) {
            return why.code + ": " + why.what();
        }
    }

    std::string root_;
};

TEST_F(MemoryPlanTest, BuffersOfOneNodeAreSummed) {
    MemoryPlan plan(root_);
    EXPECT_EQ(refused(plan, 0, 768 * mib), "");
    EXPECT_EQ(refused(plan, 0, 512 * mib), "no_memory: NUMA node 0 has 1024 MiB free (" + std::string(node_0) +
                                               "), 512 MiB are needed beside 768 MiB of other buffers");
    EXPECT_EQ(refused(plan, 0, 256 * mib), "") << "what was refused is not planned";
    EXPECT_EQ(refused(plan, 1, 1024 * mib), "") << "another node has its own memory";
}

TEST_F(MemoryPlanTest, TheOnlyNodeOfAMachineMayGrow) {
    write("/sys/devices/system/node/has_memory", "0\n");
    write("/proc/meminfo", "MemTotal: 9437184 kB\nMemAvailable: 8388608 kB\n");
    MemoryPlan plan(root_);
    EXPECT_EQ(refused(plan, 0, 4096 * mib), "");
    EXPECT_NE(refused(plan, 0, 4097 * mib), "");
}

TEST_F(MemoryPlanTest, AGroupAboveTheProcesssOwnIsNamed) {
    write_version_2();
    MemoryPlan plan(root_);
    EXPECT_EQ(refused(plan, 0, 256 * mib), "");
    EXPECT_EQ(
        refused(plan, 1, 512 * mib),
        "no_memory: the control group's /sys/fs/cgroup/job/memory.max allows 600 MiB, of which 550 MiB are left: 512 MiB are "
        "needed beside 256 MiB of other buffers");
    EXPECT_EQ(refused(plan, 1, 294 * mib), "") << "to the last byte";
}

TEST_F(MemoryPlanTest, TheLowerOfHighAndMaxCounts) {
    write_version_2();
    write("/sys/fs/cgroup/job/memory.high", "209715200\n");
    MemoryPlan plan(root_);
    EXPECT_NE(refused(plan, 0, 256 * mib).find("/sys/fs/cgroup/job/memory.high allows 200 MiB, of which 150 MiB"),
              std::string::npos);
}

TEST_F(MemoryPlanTest, VersionOneAndAContainerThatSeesItsOwnGroupAsTheTop) {
    write("/proc/self/cgroup", "5:cpuset:/\n4:hugetlb,memory:/docker/1b2c\n0::/\n");
    write("/proc/self/mountinfo", "35 31 0:32 /docker/1b2c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
    write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
    const std::vector<GroupLimit> limits = group_limits(HostPages::ordinary, root_);
    ASSERT_EQ(limits.size(), 1U);
    EXPECT_EQ(limits[0].file, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    EXPECT_EQ(limits[0].left, 255 * mib);
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_TRUE(group_limits(HostPages::ordinary, root_).empty());
}

TEST_F(MemoryPlanTest, HugePagesHaveTheirOwnReserveAndLimit) {
    write_version_2();
    MemoryPlan none(root_);
    EXPECT_EQ(
        refused(none, 0, 2 * mib, HostPages::huge),
        "unsupported: this kernel has no huge pages of 2 MiB: /sys/devices/system/node/node0/hugepages/hugepages-2048kB is not "
        "there");
    write("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "1024\n");
    write("/sys/fs/cgroup/job/hugetlb.2MB.max", "8388608\n");
    write("/sys/fs/cgroup/job/hugetlb.2MB.current", "0\n");
    MemoryPlan plan(root_);
    EXPECT_EQ(refused(plan, 0, 8 * mib, HostPages::huge), "") << "1 GiB of huge pages counts on no memory limit";
    EXPECT_NE(refused(plan, 0, 2 * mib, HostPages::huge).find("/sys/fs/cgroup/job/hugetlb.2MB.max allows 8 MiB"),
              std::string::npos);
    EXPECT_NE(refused(plan, 0, 4096 * mib, HostPages::huge).find("1024 free huge pages of 2 MiB, 2052 are needed"),
              std::string::npos);
}

}  // namespace
}  // namespace nearfar
