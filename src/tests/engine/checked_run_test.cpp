#include "engine/checked_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "memory/copy_series.h"

namespace nearfar {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t chunk = 4096;
constexpr std::size_t chunks = 8;
constexpr std::uint64_t seed = 7;

// A flow through host memory whose copies are whatever a test says: an engine that may do nothing, or half of it.
class FakeRoute {
public:
    using Copy = std::function<void(char* destination, const char* source, std::size_t bytes)>;

    explicit FakeRoute(Copy copy)
        : copy_(std::move(copy)), source_((chunk * chunks + spare_bytes) / word),
          destination_((chunk * chunks + spare_bytes) / word) {
        fill_pattern(source_.data(), seed, 0, source_.size());
    }

    std::size_t completed = 0;

    // What an earlier run left: all of it right.
    void leave_right_data() { destination_ = source_; }

    Mover mover(std::size_t flow) {
        const auto body = [this](FlowThread& thread) {
            thread.start();
            while (!thread.stopped()) {
                const CopyPlace place = series_.next();
                copy_(reinterpret_cast<char*>(destination_.data()) + place.to,
                      reinterpret_cast<const char*>(source_.data()) + place.from, chunk);
                std::this_thread::sleep_for(std::chrono::microseconds(500));
                thread.complete(now());
            }
            completed = thread.log().times.size();
        };
        const auto poison = [this] {
            series_ = CopySeries(chunk, chunks, destination_.size() * word, seed);
            fill_pattern(destination_.data(), poison_seed, 0, destination_.size());
        };
        const auto verify = [this] {
            std::size_t wrong = 0;
            for (const Arrival& one : series_.arrivals()) wrong += wrong_words(destination_.data(), one);
            if (wrong != 0) throw Failure("wrong_data", std::to_string(wrong) + " words are wrong");
            return Verified{chunk, series_.copies(), copies_seen(series_.arrivals())};
        };
        return {{body, chunk, flow}, poison, verify};
    }

private:
    Copy copy_;
    std::vector<std::uint64_t> source_;
    std::vector<std::uint64_t> destination_;
    CopySeries series_;
};

// Leaves every fifth copy out: how many a window holds is the machine's business.
class ForgetfulEngine {
public:
    void operator()(char* destination, const char* source, std::size_t bytes) {
        if (++copies_ % 5 != 0) std::memcpy(destination, source, bytes);
    }

private:
    int copies_ = 0;
};

void right(char* destination, const char* source, std::size_t bytes) { std::memcpy(destination, source, bytes); }
void nothing(char* /*destination*/, const char* /*source*/, std::size_t /*bytes*/) {}
void all_but_a_word(char* destination, const char* source, std::size_t bytes) { std::memcpy(destination, source, bytes - word); }

CheckedOutcome run(std::vector<Mover> movers) {
    Policy policy;
    policy.target = 1;  // the machine may be busy: a few samples are enough
    return run_checked(movers, policy, 5, nullptr);
}

std::string code_of(const std::exception_ptr& trouble) {
    if (!trouble) return "";
    try {
        std::rethrow_exception(trouble);
    } catch (const Failure& failure) {
        return failure.code;
    } catch (const Prevented& prevented) {
        return prevented.code;
    }
}

TEST(CheckedRun, WhatArrivesIsVerifiedCopyByCopy) {
    FakeRoute route(right);
    FakeRoute other(right);
    const CheckedOutcome outcome = run({route.mover(0), other.mover(1)});
    EXPECT_NO_THROW(outcome.require());
    EXPECT_GE(outcome.moved.rates.at(0).n(), Policy{}.samples);
    EXPECT_EQ(outcome.verified[0].copies, route.completed);
    EXPECT_EQ(outcome.verified[0].seen, outcome.verified[0].copies) << "as many as one lap holds";
    EXPECT_EQ(outcome.all_verified().copies, outcome.verified[0].copies + outcome.verified[1].copies);
    EXPECT_LT(outcome.moved.begin, outcome.moved.end);
}

TEST(CheckedRun, StaleDataDoesNotPassForMovedData) {
    FakeRoute route(nothing);
    route.leave_right_data();  // as a baseline leaves it in the same buffers
    const CheckedOutcome outcome = run({route.mover(0)});
    EXPECT_EQ(code_of(outcome.trouble[0]), "wrong_data") << "copies that do nothing must be found out";
    EXPECT_THROW(outcome.require(), Failure);
}

TEST(CheckedRun, ACopyThatWasLeftOutIsFoundThoughOthersFollow) {
    FakeRoute route{ForgetfulEngine()};
    EXPECT_EQ(code_of(run({route.mover(0)}).trouble[0]), "wrong_data");
}

TEST(CheckedRun, AMissingWordIsFound) {
    FakeRoute route(all_but_a_word);
    route.leave_right_data();
    EXPECT_EQ(code_of(run({route.mover(0)}).trouble[0]), "wrong_data");
}

TEST(CheckedRun, WrongDataIsTheTroubleOfOneAlone) {
    FakeRoute good(right);
    FakeRoute bad(nothing);
    const CheckedOutcome outcome = run({good.mover(0), bad.mover(1)});
    EXPECT_EQ(code_of(outcome.trouble[0]), "");
    EXPECT_EQ(code_of(outcome.trouble[1]), "wrong_data");
    EXPECT_EQ(outcome.moved.rates.size(), 2U) << "the other's rate stands";
}

TEST(CheckedRun, OneThatBreaksOffIsNamedAndTheOthersAreNot) {
    FakeRoute good(right);
    FakeRoute gone([](char*, const char*, std::size_t) { throw Failure("lost", "the GPU is gone"); });
    const CheckedOutcome outcome = run({good.mover(0), gone.mover(1)});
    EXPECT_EQ(code_of(outcome.trouble[0]), "");
    EXPECT_EQ(code_of(outcome.trouble[1]), "lost");
    EXPECT_TRUE(outcome.moved.rates.empty()) << "a window that ended early has no rates";
}

TEST(CheckedRun, TooLittleTimeIsThrown) {
    FakeRoute route(right);
    EXPECT_THROW(run_checked({route.mover(0)}, Policy{}, 1e-6, nullptr), Prevented);
}

}  // namespace
}  // namespace nearfar
