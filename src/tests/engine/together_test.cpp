#include "engine/together.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "core/clock.h"
#include "core/error.h"

namespace nearfar {
namespace {

constexpr std::size_t mega = 1000000;

// Completes a chunk of 1 MB every so many seconds.
TogetherSpec steady(double interval) {
    return {[interval](TogetherTask& task) {
                task.start();
                while (!task.stopped()) {
                    std::this_thread::sleep_for(std::chrono::duration<double>(interval));
                    task.complete(now());
                }
            },
            mega, 0};
}

TEST(Together, AFlowThatIsSlowForItsTimeIsStillGivenARate) {
    // Ten chunks of 25 ms are one sub-window, longer than the time for all.
    const TogetherOutcome outcome = run_together({steady(0.025)}, Policy{}, 0.15, nullptr);
    ASSERT_EQ(outcome.rates.size(), 1U);
    EXPECT_NEAR(outcome.rates[0].median, 0.001 / 0.025, 0.01);
    EXPECT_FALSE(outcome.complete);
}

TEST(Together, WhatDoesNotMoveHasNoRate) {
    const double begin = now();
    EXPECT_THROW(run_together({steady(0.5)}, Policy{}, 0.05, nullptr), Prevented);
    EXPECT_LT(now() - begin, 2);
}

// In a process of its own: the limit is on a user's processes and threads, and root has none.
TEST(Together, AThreadThatIsRefusedEndsTheOthersAndIsThrown) {
    const pid_t child = fork();
    if (child == 0) {
        const rlimit two{2, 2};
        if (geteuid() == 0 && setuid(64123) != 0) _exit(77);
        setrlimit(RLIMIT_NPROC, &two);
        const auto body = [](TogetherTask& task) {
            task.start();
            while (!task.stopped()) task.complete(now());
        };
        try {
            run_together(std::vector<TogetherSpec>(8, {body, 1, 0}), Policy{}, 0.1, nullptr);
        } catch (const std::system_error&) {
            _exit(0);
        } catch (...) {
        }
        _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "another user cannot be had";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

}  // namespace
}  // namespace nearfar
