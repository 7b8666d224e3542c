#include "engine/together.h"

#include <gtest/gtest.h>

#include <chrono>
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
    EXPECT_FALSE(outcome.converged);
}

TEST(Together, WhatDoesNotMoveHasNoRate) {
    const double begin = now();
    EXPECT_THROW(run_together({steady(0.5)}, Policy{}, 0.05, nullptr), Prevented);
    EXPECT_LT(now() - begin, 2);
}

}  // namespace
}  // namespace nearfar
