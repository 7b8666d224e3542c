// The parts of nearfar-contention that touch the system: command line, adapters, threads of a window.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "mpi/contention/contention.h"
#include "mpi/contention/data_mover.h"
#include "node/cpus.h"
#include "node/nic.h"

namespace nearfar {
namespace {

namespace fs = std::filesystem;

ContentionOptions parse(std::vector<std::string> words) {
    words.insert(words.begin(), "nearfar-contention");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return parse_contention_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(ContentionOptions, MessagesAreSmallAndLargeAndTheLargeAreStreamedToo) {
    std::string all;
    for (const Traffic& traffic : parse({}).traffics) all += traffic.text() + " ";
    EXPECT_EQ(all, "pingpong_8B pingpong_1MiB stream_1MiB ");
    EXPECT_EQ(parse({"--sizes", "64,64KiB,4MiB"}).traffics.back().text(), "stream_4MiB");
}

TEST(ContentionOptions, AreReadInBothForms) {
    const ContentionOptions options = parse({"--with=stream", "--layout", "split", "--tasks", "3", "--flows=h2d", "--json=f"});
    EXPECT_EQ(options.ask.with, With::stream);
    EXPECT_EQ(options.ask.layouts, std::vector<Layout>{Layout::split});
    EXPECT_EQ(parse({"--layout=together,split"}).ask.layouts.size(), 2U);
    EXPECT_EQ(options.ask.tasks, 3);
    EXPECT_FALSE(options.ask.to_host);
    EXPECT_EQ(options.json_file, "f");
}

TEST(ContentionOptions, WhatMakesNoSenseIsRefused) {
    EXPECT_THROW(parse({"--layout", "apart"}), WrongUse);
    EXPECT_THROW(parse({"--layout", "split,split"}), WrongUse);
    EXPECT_THROW(parse({"--mpi-only", "--layout", "split"}), WrongUse);
    EXPECT_THROW(parse({"--mpi-only", "--with", "stream"}), WrongUse) << "nothing would move beside MPI";
    EXPECT_THROW(parse({"--tasks", "1", "--mpi-only"}), WrongUse);
    EXPECT_THROW(parse({"--tasks", "0"}), WrongUse);
    EXPECT_THROW(parse({"--tasks", "1.5"}), WrongUse);
    EXPECT_THROW(parse({"--sizes", "1GiB"}), WrongUse);
    EXPECT_THROW(parse({"--rounds"}), WrongUse);
    EXPECT_THROW(parse({"n0:g0"}), WrongUse);
}

class Sysfs : public ::testing::Test {
protected:
    fs::path root = fs::path(::testing::TempDir()) / ("nic" + std::to_string(getpid()));
    void adapter(const std::string& kind, const std::string& name, const std::string& node) const {
        fs::create_directories(root / "class" / kind / name / "device");
        std::ofstream(root / "class" / kind / name / "device" / "numa_node") << node << "\n";
    }
    void TearDown() override { fs::remove_all(root); }
};

TEST_F(Sysfs, TheOnlyNicIsTheOneThatIsMeant) {
    adapter("infiniband", "mlx5_0", "1");
    adapter("net", "eth0", "0");
    EXPECT_EQ(nic_node("", root), 1) << "the management network is none";
    EXPECT_EQ(nic_node("eth0", root), 0) << "unless it is named";
    EXPECT_THROW(nic_node("mlx5_9", root), WrongUse);
}

TEST_F(Sysfs, NicsOnSeveralNodesHaveToBeNamed) {
    adapter("infiniband", "mlx5_0", "0");
    adapter("infiniband", "mlx5_1", "1");
    EXPECT_THROW(nic_node("", root), WrongUse);
    EXPECT_EQ(nic_node("mlx5_1", root), 1);
}

TEST_F(Sysfs, WhatTheSystemDoesNotSayIsNotKnown) {
    EXPECT_FALSE(nic_node("", root));
    adapter("infiniband", "mlx5_0", "-1");
    EXPECT_FALSE(nic_node("", root));
}

// Flows whose chunk takes a millisecond and moves a million bytes. `breaks`: "before", "within" or nothing.
struct FakeMovers {
    bool verified = false;
    std::vector<Mover> flows{};

    explicit FakeMovers(std::size_t count, const std::string& breaks = "") {
        for (std::size_t flow = 0; flow < count; ++flow) {
            const auto body = [=](FlowThread& thread) {
                if (breaks == "before" && flow == 0) throw Failure("lost", "the GPU is lost");
                thread.start();
                while (!thread.stopped()) {
                    if (breaks == "within") throw Failure("lost", "the GPU is lost");
                    sleep_until(now() + 0.001);
                    thread.complete(now());
                }
            };
            flows.push_back({{body, 1000000, flow, cpus_in_effect()}, {}, [this] {
                                 verified = true;
                                 return Verified();
                             }});
        }
    }
};

TEST(MovingPhase, CountsWhatIsCompleteInsideTheWindow) {
    const FakeMovers movers(2);
    MovingPhase phase(movers.flows, false);
    phase.begin(agree_window(now(), 0.005, 0.01, 0.1));
    const std::vector<MovedFlow> flows = phase.finish();
    ASSERT_EQ(flows.size(), 2U);
    EXPECT_GT(flows[0].rate, 0.2);
    EXPECT_LT(flows[0].rate, 1.0) << "a million bytes in a millisecond and a little";
    EXPECT_FALSE(flows[1].starved);
    EXPECT_TRUE(movers.verified);
}

TEST(MovingPhase, PollingMovesNothing) {
    const FakeMovers movers(1);
    MovingPhase phase(movers.flows, true);
    const double begin = now();
    phase.begin(agree_window(begin, 0.001, 0.001, 0.02));
    EXPECT_EQ(phase.finish()[0].rate, 0);
    EXPECT_GE(now() - begin, 0.02);
    EXPECT_FALSE(movers.verified);
}

TEST(MovingPhase, ATroubleBeforeTheStartHoldsNobodyUp) {
    const FakeMovers movers(2, "before");
    EXPECT_THROW(MovingPhase(movers.flows, false), Failure) << "before anybody waits for the window";
}

TEST(MovingPhase, ATroubleWithinIsThrownAtTheEnd) {
    const FakeMovers movers(1, "within");
    MovingPhase phase(movers.flows, false);
    phase.begin(agree_window(now(), 0.001, 0.001, 0.01));
    EXPECT_THROW(phase.finish(), Failure);
}

TEST(MovingPhase, MayBeGivenUpBeforeItBegins) {
    const FakeMovers movers(1);
    { const MovingPhase phase(movers.flows, false); }
    SUCCEED();
}

}  // namespace
}  // namespace nearfar
