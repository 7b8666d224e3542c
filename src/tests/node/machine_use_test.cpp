#include "node/machine_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace nearfar {
namespace {

constexpr pid_t program = 500;  // a user's shell 300 started it
constexpr std::uint64_t boot = 1000;

// Files as the kernel writes them, in a folder; times in CPU seconds.
class FakeSystem : public testing::Test {
protected:
    std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("nearfar-use-" + std::to_string(getpid()));
    SystemFiles files_{folder_ / "proc", folder_ / "node", folder_ / "passwd"};
    int forks_ = 1;

    void SetUp() override {
        std::filesystem::create_directories(folder_ / "node/node0");
        write("passwd", "alice:x:" + std::to_string(getuid()) + ":0::/:\n");
        write("node/node0/meminfo", "Node 0 MemFree: 100 kB\n");
        write("proc/meminfo", "MemAvailable: 200 kB\n");
        process(1, "init", 0, 999999, 0);
        process(300, "bash", 1, 300, 5);
        process(program, "nearfar-copy", 300, 300, 0);
        process(getpid(), "nearfar-copy", program, own(), 0);
        process(700, "old) (job", 1, 700, 900);
        cpu(1000);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    static pid_t own() { return getsid(0); }
    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name) << text;
    }
    void process(pid_t pid, const std::string& name, pid_t parent, pid_t session, double seconds, double reaped = 0,
                 std::uint64_t started = boot) {
        const auto tick = [](double each) {
            return std::to_string(std::lround(each * static_cast<double>(sysconf(_SC_CLK_TCK))));
        };
        write("proc/" + std::to_string(pid) + "/stat", std::to_string(pid) + " (" + name + ") R " + std::to_string(parent) +
                                                           " 1 " + std::to_string(session) + " 0 -1 0 0 0 0 0 " + tick(seconds) +
                                                           " 0 " + tick(reaped) + " 0 20 0 1 0 " + std::to_string(started) +
                                                           " 0 0\n");
        ++forks_;
    }
    void ends(pid_t pid) const { std::filesystem::remove_all(folder_ / "proc" / std::to_string(pid)); }
    void cpu(double busy, double steal = 0, double iowait = 0) {
        const auto tick = [](double each) {
            return std::to_string(std::lround(each * static_cast<double>(sysconf(_SC_CLK_TCK))));
        };
        write("proc/stat", "cpu  " + tick(busy) + " 0 0 " + tick(busy) + " " + tick(iowait) + " 0 0 " + tick(steal) +
                               " 0 0\nprocesses " + std::to_string(forks_) + "\n");
    }
    static std::vector<std::string> names(const MachineSeen& seen) {
        std::vector<std::string> found;
        for (const NotSeen& each : seen.missing) found.push_back(each.what);
        return found;
    }
};

TEST_F(FakeSystem, TellsTheRunFromOthers) {
    MachineUse use(10, program, files_);
    EXPECT_TRUE(use.is_due(10));
    use.look(10);
    EXPECT_FALSE(use.is_due(10.4));
    process(801, "nearfar-copy", getpid(), own(), 1);  // what measures, and began since
    process(802, "task", 801, own(), 1);
    process(700, "old) (job", 1, 700, 903);
    process(701, "new job", 1, 701, 1);
    cpu(1006, 0.5, 0.25);
    const MachineSeen seen = use.end(12);
    ASSERT_EQ(seen.looks.size(), 1U);
    EXPECT_DOUBLE_EQ(seen.looks[0].at, 2);
    EXPECT_DOUBLE_EQ(seen.looks[0].own, 1);
    EXPECT_DOUBLE_EQ(seen.looks[0].others, 2);
    EXPECT_DOUBLE_EQ(seen.looks[0].steal.value(), 0.25);
    EXPECT_DOUBLE_EQ(seen.looks[0].iowait.value(), 0.125);
    EXPECT_EQ(seen.looks[0].free_memory, 200U * 1024);
    ASSERT_EQ(seen.busiest.size(), 2U);
    EXPECT_EQ(seen.busiest[0].pid, 700);
    EXPECT_EQ(seen.busiest[0].command, "old) (job");
    EXPECT_EQ(seen.busiest[0].user, "alice");
    EXPECT_DOUBLE_EQ(seen.busiest[0].cpus, 1.5);
    EXPECT_EQ(seen.busiest[1].command, "new job");
    ASSERT_EQ(seen.memory.size(), 1U);
    EXPECT_EQ(seen.memory[0].after, 100U * 1024);
    EXPECT_TRUE(seen.missing.empty());
}

TEST_F(FakeSystem, CountsWhoeverStartedTheProgramWithoutItsOtherChildren) {
    MachineUse use(0, program, files_);
    use.look(0);
    process(300, "bash", 1, 300, 6);
    process(301, "stress", 300, 300, 1);
    process(600, "rank", 299, 600, 1);
    use.add_own(600);
    cpu(1003);
    const MachineSeen seen = use.end(1);
    EXPECT_DOUBLE_EQ(seen.mean.value().own, 2);
    EXPECT_DOUBLE_EQ(seen.mean.value().others, 1);
    ASSERT_EQ(seen.busiest.size(), 1U);
    EXPECT_EQ(seen.busiest[0].command, "stress");
    EXPECT_TRUE(use.is_own(600) && use.is_own(300) && !use.is_own(301));
}

TEST_F(FakeSystem, CountsATaskThatEndedOnce) {
    MachineUse use(0, program, files_);
    process(801, "measuring", getpid(), own(), 0);
    process(802, "task", 801, own(), 0);
    use.look(0);
    process(802, "task", 801, own(), 1);
    cpu(1001);
    use.look(1);
    ends(802);
    process(801, "measuring", getpid(), own(), 0, 1.5);
    cpu(1001.5);
    const MachineSeen seen = use.end(2);
    ASSERT_EQ(seen.looks.size(), 2U);
    EXPECT_DOUBLE_EQ(seen.looks[0].own, 1);
    EXPECT_DOUBLE_EQ(seen.looks[1].own, 0.5);
    EXPECT_DOUBLE_EQ(seen.mean.value().others, 0);
}

TEST_F(FakeSystem, NamesAProcessThatEndedAndOneThatHasItsNumber) {
    MachineUse use(0, program, files_);
    use.look(0);
    process(700, "old) (job", 1, 700, 908);
    cpu(1008);
    use.look(4);
    process(700, "second", 1, 700, 1, 0, boot + 50);
    cpu(1009);
    use.look(8);
    ends(700);
    const MachineSeen seen = use.end(10);
    ASSERT_EQ(seen.busiest.size(), 2U);
    EXPECT_DOUBLE_EQ(seen.busiest[0].cpus, 0.8);
    EXPECT_EQ(seen.busiest[1].command, "second");
    EXPECT_DOUBLE_EQ(seen.busiest[1].cpus, 0.1);
}

TEST_F(FakeSystem, IsNeverBelowNothing) {
    MachineUse use(0, program, files_);
    cpu(1000, 5, 5);
    use.look(0);
    process(getpid(), "nearfar-copy", program, own(), 1.01);  // counted finer than the whole machine is
    cpu(1001, 4, 3);
    const MachineSeen seen = use.end(1);
    EXPECT_EQ(seen.mean.value().others, 0);
    EXPECT_EQ(seen.mean.value().steal, 0.0);
    EXPECT_EQ(seen.mean.value().iowait, 0.0);
}

TEST_F(FakeSystem, KeepsTheMostOfEachWhereLooksAreMany) {
    MachineUse use(0, program, files_);
    double busy = 1000;
    double steal = 0;
    double time = 0;
    for (int i = 0; i <= 300; ++i) {
        if (i == 70) busy += 4;
        if (i == 190) steal += 2;
        write("proc/meminfo", i == 130 ? "MemAvailable: 50 kB\n" : "MemAvailable: 200 kB\n");
        cpu(busy, steal);
        use.look(time);
        time += 0.5;
    }
    const MachineSeen seen = use.end(time);
    EXPECT_LE(seen.looks.size(), 64U);
    EXPECT_GE(seen.looks.size(), 32U);
    EXPECT_DOUBLE_EQ(seen.looks.back().at, time);
    EXPECT_TRUE(std::is_sorted(seen.looks.begin(), seen.looks.end(), [](const auto& a, const auto& b) { return a.at < b.at; }));
    double others = 0;
    double steals = 0;
    for (const MachineLook& look : seen.looks) {
        others = std::max(others, look.others);
        steals = std::max(steals, look.steal.value());
    }
    EXPECT_NEAR(others, 8, 1e-6);
    EXPECT_NEAR(steals, 4, 1e-6);
    EXPECT_NEAR(seen.mean.value().others, 4 / time, 1e-6);
    EXPECT_EQ(seen.mean.value().free_memory, 50U * 1024);
}

TEST_F(FakeSystem, JoinsALastLookThatIsTooShort) {
    MachineUse use(0, program, files_);
    use.look(0);
    cpu(1001);
    use.look(1);
    cpu(1001.1);
    const MachineSeen seen = use.end(1.1);
    ASSERT_EQ(seen.looks.size(), 1U);
    EXPECT_NEAR(seen.looks[0].others, 1, 1e-9);
}

TEST_F(FakeSystem, SaysWhatTheKernelDoesNot) {
    write("proc/stat", "cpu 100 0 0 100\n");
    ends(1);
    write("proc/meminfo", "MemFree: 1 kB\n");
    std::filesystem::remove_all(folder_ / "node");
    MachineUse use(0, program, files_);
    use.look(0);
    const MachineSeen seen = use.end(2);
    EXPECT_EQ(names(seen), (std::vector<std::string>{"looks", "steal", "iowait", "free_memory", "memory", "busiest"}));
    EXPECT_EQ(seen.mean.value().others, 0);
    EXPECT_FALSE(seen.mean->steal || seen.mean->iowait || seen.mean->free_memory);
}

TEST_F(FakeSystem, ThatIsNotThereIsNoError) {
    std::filesystem::remove_all(folder_);
    MachineUse use(0, program, files_);
    const MachineSeen seen = use.end(0);
    EXPECT_TRUE(seen.looks.empty() && seen.busiest.empty() && !seen.mean);
    EXPECT_EQ(names(seen).front(), "looks");
}

TEST_F(FakeSystem, OfAContainerSaysSo) {
    std::filesystem::create_directories(folder_ / "proc/self/ns");
    std::filesystem::create_symlink("pid:[4026532000]", folder_ / "proc/self/ns/pid");
    MachineUse use(0, program, files_);
    EXPECT_TRUE(use.is_contained());
    const MachineSeen seen = use.end(1);
    EXPECT_EQ(names(seen), std::vector<std::string>{"busiest"});
}

}  // namespace
}  // namespace nearfar
