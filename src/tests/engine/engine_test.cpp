#include "engine/engine.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "node/cpus.h"
#include "tests/engine/refused_threads.h"

namespace nearfar {
namespace {

constexpr std::size_t mega = 1000000;

// Completes a chunk of 1 MB every so many seconds.
FlowWork steady(double interval, std::size_t flow = 0) {
    return {[interval](FlowThread& thread) {
                thread.start();
                while (!thread.stopped()) {
                    std::this_thread::sleep_for(std::chrono::duration<double>(interval));
                    thread.complete(now());
                }
            },
            mega, flow};
}

FlowWork failing(const std::string& code, double after_seconds = -1) {
    return {[=](FlowThread& thread) {
                if (after_seconds >= 0) {
                    thread.start();
                    std::this_thread::sleep_for(std::chrono::duration<double>(after_seconds));
                }
                throw Failure(code, "the GPU is lost");
            },
            mega};
}

// The code of what is thrown.
template <typename F>
std::string code_of(F&& body) {
    try {
        body();
    } catch (const Failure& why) {
        return why.code;
    } catch (const Prevented& why) {
        return why.code;
    }
    return "";
}

WindowOutcome window(const std::vector<FlowWork>& work, double seconds) {
    Engine engine(work);
    return run_window(engine, Policy{}, seconds, nullptr);
}

TEST(Engine, AllStartTogetherOnceTheOwnerSaysSo) {
    std::atomic<int> started{0};
    const FlowWork work{[&](FlowThread& thread) {
                            thread.start();
                            ++started;
                        },
                        mega};
    Engine engine({work, work});
    engine.await_ready();
    EXPECT_EQ(started, 0);
    EXPECT_FALSE(engine.threads()[0].has_ended());
    engine.begin();
    engine.join();
    EXPECT_EQ(started, 2);
    EXPECT_TRUE(engine.threads()[1].has_ended());
}

TEST(Engine, RunsBetweenTwoTimes) {
    Engine engine({steady(0.001), steady(0.001)});
    engine.await_ready();
    const double start = now() + 0.01;
    engine.begin(start, start + 0.1);
    engine.join();
    EXPECT_GE(now(), start + 0.1);
    for (const CompletionLog& log : engine.logs()) {
        EXPECT_EQ(log.chunk_bytes, mega);
        ASSERT_FALSE(log.times.empty());
        EXPECT_GE(log.times.front(), start);
    }
}

TEST(Engine, RunsUntilTheOwnerStopsIt) {
    Engine engine({steady(0.001)});
    EXPECT_LT(engine.threads()[0].latest(), 0) << "nothing is complete";
    engine.begin();
    const double begin = now();
    while (engine.threads()[0].latest() < begin + 0.005) std::this_thread::yield();
    EXPECT_FALSE(engine.threads()[0].has_ended());
    engine.stop();
    EXPECT_TRUE(engine.threads()[0].has_ended());
    EXPECT_EQ(engine.threads()[0].trouble(), nullptr);
}

TEST(Engine, IsGivenUpBeforeItBegins) {
    { const Engine engine({steady(0.001), steady(0.001)}); }
    SUCCEED();
}

TEST(Engine, BindsItsThreads) {
    const int cpu = cpus_in_effect().front();
    std::vector<int> seen;
    FlowWork work{[&](FlowThread& thread) {
                      seen = cpus_in_effect();
                      thread.start();
                  },
                  mega};
    work.cpus = {cpu};
    Engine engine({work, steady(0.001)});
    engine.await_ready();
    EXPECT_EQ(seen, std::vector<int>{cpu});
    EXPECT_EQ(engine.threads()[0].cpus(), std::vector<int>{cpu});
    EXPECT_TRUE(engine.threads()[1].cpus().empty());
}

TEST(Engine, OneThatFailsBeforeTheStartHoldsNobodyUp) {
    Engine engine({steady(0.001), failing("lost")});
    EXPECT_EQ(code_of([&] { engine.await_ready(); }), "lost");
    engine.begin();
    engine.stop();
    EXPECT_EQ(engine.threads()[0].trouble(), nullptr);
}

TEST(Engine, TheFirstTroubleIsThrownWhicheverCameFirst) {
    Engine engine({steady(0.001), failing("second", 0.01), failing("third", 0)});
    engine.await_ready();
    engine.begin();
    while (!engine.threads()[1].has_ended() || !engine.threads()[2].has_ended()) std::this_thread::yield();
    EXPECT_EQ(code_of([&] { engine.require(); }), "second");
}

TEST(Engine, AThreadThatIsRefusedEndsTheOthersAndIsThrown) {
    threads_left = 2;
    Engine engine({steady(0.001), steady(0.001), steady(0.001), steady(0.001)});
    threads_left = -1;
    EXPECT_THROW(run_window(engine, Policy{}, 0.1, nullptr), std::system_error);
    EXPECT_TRUE(engine.threads()[2].has_ended());
    engine.stop();
    EXPECT_TRUE(engine.threads()[0].has_ended());
}

TEST(Window, AFlowThatIsSlowForItsTimeIsStillGivenARate) {
    // Ten chunks of 25 ms are one sub-window, longer than the time for all.
    const WindowOutcome outcome = window({steady(0.025)}, 0.15);
    ASSERT_EQ(outcome.rates.size(), 1U);
    EXPECT_NEAR(outcome.rates[0].median, 0.001 / 0.025, 0.01);
    EXPECT_FALSE(outcome.complete);
}

TEST(Window, WhatDoesNotMoveHasNoRate) {
    const double begin = now();
    EXPECT_EQ(code_of([] { window({steady(0.5)}, 0.05); }), "budget");
    EXPECT_LT(now() - begin, 2);
}

TEST(Window, OneThatFailsEndsIt) {
    const double begin = now();
    EXPECT_EQ(code_of([] { window({steady(0.001), failing("lost", 0.01)}, 20); }), "lost");
    EXPECT_LT(now() - begin, 10);
}

// In a process of its own, which is interrupted for good.
TEST(Window, AnInterruptionEndsItAndFewSamplesAreNoFigure) {
    const auto interrupt = [] {
        catch_interrupts();
        Engine engine({steady(0.001)});
        const double begin = now();
        const std::string code = code_of([&] { run_window(engine, Policy{}, 20, [] { raise(SIGINT); }); });
        exit(code == "interrupted" && now() - begin < 10 ? 0 : 1);
    };
    EXPECT_EXIT(interrupt(), ::testing::ExitedWithCode(0), "");
}

TEST(Window, IsLookedAtUnderLoadOnce) {
    int looked = 0;
    Policy policy;
    policy.target = 1;  // the machine may be busy: a few samples are enough
    Engine engine({steady(0.001)});
    run_window(engine, policy, 5, [&] { ++looked; });
    EXPECT_EQ(looked, 1);
}

TEST(Window, WhatIsThrownUnderLoadEndsIt) {
    Engine engine({steady(0.001)});
    EXPECT_EQ(code_of([&] { run_window(engine, Policy{}, 20, [] { throw Failure("lost", "no answer"); }); }), "lost");
}

}  // namespace
}  // namespace nearfar
