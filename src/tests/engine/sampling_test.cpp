// Completion logs that are made up, replayed as a window would see them: every sample is of whole numbers of chunks' time.
#include "engine/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace nearfar {
namespace {

constexpr double chunk = 64e6;
constexpr double glance = 0.004;
constexpr double long_after = 10;

// The completions of a flow: each so many seconds after the one before.
CompletionLog log_of(const std::function<double(std::size_t)>& gap, double last = long_after) {
    CompletionLog log;
    log.chunk_bytes = chunk;
    for (double time = 0.001; time < last; time += gap(log.times.size())) log.times.push_back(time);
    return log;
}

CompletionLog steady(double gap) {
    return log_of([gap](std::size_t) { return gap; });
}

CompletionLog slowing(double fast, double slow) {
    return log_of([=](std::size_t done) { return done < 4 ? fast : slow; });
}

struct Replay {
    WindowSamples samples;
    double ended = 0;
    std::vector<CompletionLog> seen;

    // The fewest chunks of a flow in a sample.
    double fewest(std::size_t flow) const {
        const std::size_t count = samples.total.n();
        const double length = (samples.end - samples.begin) / static_cast<double>(count);
        double least = INFINITY;
        for (std::size_t i = 0; i < count; ++i) {
            const double from = samples.begin + static_cast<double>(i) * length;
            least = std::min(least, (seen[flow].bytes_at(from + length) - seen[flow].bytes_at(from)) / chunk);
        }
        return least;
    }
};

Replay replay(const std::vector<CompletionLog>& logs, const Policy& policy = {}, double seconds = Policy{}.windowed_seconds) {
    std::vector<std::size_t> flows;
    for (std::size_t i = 0; i < logs.size(); ++i) flows.push_back(i);
    Sampling sampling(flows, policy, 0, seconds);
    Replay found;
    do {
        found.ended += glance;
        found.seen = logs;
        for (CompletionLog& log : found.seen)
            log.times.erase(std::upper_bound(log.times.begin(), log.times.end(), found.ended), log.times.end());
    } while (!sampling.enough(found.seen, found.ended));
    found.samples = sampling.finish(found.seen, found.ended);
    return found;
}

void expect_whole_samples(const Replay& found, const std::string& words) {
    for (std::size_t flow = 0; flow < found.seen.size(); ++flow)
        EXPECT_GE(found.fewest(flow), Policy{}.sample_chunks * 0.9999) << words << ", flow " << flow;
}

TEST(Sampling, ASteadyFlowConvergesOnItsRateAtTheFirstLook) {
    for (const double gap : {0.0002, 0.0012, 0.0048}) {
        const Replay found = replay({steady(gap)});
        ASSERT_EQ(found.samples.total.n(), Policy{}.samples) << gap;
        EXPECT_TRUE(found.samples.complete) << gap;
        EXPECT_NEAR(found.samples.rates[0].median, chunk / gap / 1e9, 1e-6) << gap;
        expect_whole_samples(found, std::to_string(gap));
        EXPECT_LT(found.ended - found.samples.end,
                  (found.samples.end - found.samples.begin) / static_cast<double>(Policy{}.samples))
            << gap << ": a window too many";
    }
}

TEST(Sampling, AFlowThatSlowsAfterItsFirstChunksHasSamplesOfWholeChunks) {
    for (const double factor : {1.05, 1.33, 2.0, 3.0, 7.5, 20.0}) {
        const Replay found = replay({slowing(0.0013, 0.0013 * factor)});
        const std::string words = "slower by " + std::to_string(factor);
        ASSERT_FALSE(found.samples.rates.empty()) << words;
        expect_whole_samples(found, words);
        EXPECT_NEAR(found.samples.total.median, chunk / 0.0013 / factor / 1e9, 0.01 * chunk / 0.0013 / factor / 1e9) << words;
        EXPECT_EQ(found.samples.complete, found.samples.total.n() >= Policy{}.samples) << words;
    }
}

TEST(Sampling, TimeThatRunsOutLeavesFewerSamplesAndNoConvergence) {
    const Replay found = replay({slowing(0.0013, 0.010)});
    EXPECT_LT(found.samples.total.n(), Policy{}.samples);
    EXPECT_GE(found.samples.total.n(), 1U);
    EXPECT_FALSE(found.samples.complete);
    EXPECT_LE(found.ended, 2 * Policy{}.windowed_seconds);
}

TEST(Sampling, TheSlowestFlowDecidesForAll) {
    const Replay found = replay({steady(0.0013), slowing(0.0013, 0.0039)});
    ASSERT_EQ(found.samples.rates.size(), 2U);
    expect_whole_samples(found, "beside a fast one");
    EXPECT_NEAR(found.samples.rates[1].median, chunk / 0.0039 / 1e9, 0.1);
}

TEST(Sampling, BurstsAreNeverCutIntoSamplesOfFewChunks) {
    for (const int burst : {2, 4, 8, 16}) {
        for (const double pause : {0.003, 0.01, 0.03}) {
            const Replay found =
                replay({log_of([=](std::size_t done) { return done % static_cast<std::size_t>(burst) == 0 ? pause : 0.0002; })});
            const std::string words = std::to_string(burst) + " chunks, then " + std::to_string(pause) + " s";
            if (!found.samples.rates.empty()) expect_whole_samples(found, words);
            EXPECT_TRUE(found.samples.total.n() >= Policy{}.samples || !found.samples.complete) << words;
        }
    }
}

TEST(Sampling, ALoneFlowThatStopsHasNotConverged) {
    for (const double stop : {0.03, 0.04, 0.05}) {
        const Replay found = replay({log_of([](std::size_t done) { return done % 2 == 0 ? 0.0010 : 0.0016; }, stop)});
        EXPECT_FALSE(found.samples.complete) << stop;
        EXPECT_LE(found.samples.end, stop + 1e-9);
    }
}

TEST(Sampling, AFlowThatStopsHoldsNobodyUp) {
    const Replay found = replay({steady(0.0013), log_of([](std::size_t) { return 0.0013; }, 0.02)});
    ASSERT_EQ(found.samples.rates.size(), 2U);
    EXPECT_NEAR(found.samples.rates[0].median, chunk / 0.0013 / 1e9, 1e-6);
    EXPECT_GE(found.fewest(0), Policy{}.sample_chunks * 0.9999);
}

TEST(Sampling, TasksThatShareAFlowAreAskedTogether) {
    // Two tasks of one flow take turns of three chunks: neither alone is even, both together are.
    const auto turns = [](double first) {
        CompletionLog log;
        log.chunk_bytes = chunk;
        for (double time = first; time < 1; time += 0.006)
            for (int i = 0; i < 3; ++i) log.times.push_back(time + 0.001 * i);
        return log;
    };
    Policy policy;
    Sampling sampling({0, 0}, policy, 0, policy.windowed_seconds);
    const std::vector<CompletionLog> logs{turns(0.001), turns(0.004)};
    ASSERT_TRUE(sampling.enough(logs, 1));
    const WindowSamples samples = sampling.finish(logs, 1);
    ASSERT_EQ(samples.rates.size(), 1U);
    EXPECT_NEAR(samples.rates[0].median, chunk / 0.001 / 1e9, 2);
}

TEST(Sampling, NoisyFlowsHaveSamplesOfWholeChunks) {
    std::mt19937 random(13);
    for (int round = 0; round < 100; ++round) {
        std::vector<CompletionLog> logs;
        const int flows = 1 + static_cast<int>(random() % 4);
        for (int flow = 0; flow < flows; ++flow) {
            std::lognormal_distribution<double> gap(std::log(0.0013 * (1 + static_cast<double>(random() % 4))),
                                                    0.05 * static_cast<double>(random() % 12));
            std::mt19937 own(random());
            logs.push_back(log_of([&](std::size_t) { return gap(own); }, 2));
        }
        const Replay found = replay(logs);
        ASSERT_FALSE(found.samples.rates.empty()) << round;
        expect_whole_samples(found, "round " + std::to_string(round));
    }
}

}  // namespace
}  // namespace nearfar
