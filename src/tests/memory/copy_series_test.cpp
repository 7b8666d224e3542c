#include "memory/copy_series.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

namespace nearfar {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::uint64_t seed = 7;

// An engine that does what a test says with copy number n: nothing, half of it, or all.
class Engine {
public:
    using Copy = std::function<std::size_t(std::size_t n)>;  // how many of the bytes it moves

    Engine(std::size_t bytes, std::size_t places, Copy moved)
        : bytes_(bytes), room_(bytes * places + spare_bytes / 8 / step_bytes * step_bytes + step_bytes), moved_(std::move(moved)),
          source_((bytes * places + turn_bytes) / word + 1), destination_(room_ / word + 1), series_(bytes, places, room_, seed) {
        fill_pattern(source_.data(), seed, 0, source_.size());
        fill_pattern(destination_.data(), poison_seed, 0, series_.reach() / word);  // no more is needed
    }

    void copy(std::size_t times) {
        for (std::size_t i = 0; i < times; ++i) {
            const CopyPlace place = series_.next();
            EXPECT_LE(place.to + bytes_, std::min(room_, series_.reach()));
            EXPECT_EQ(place.to % step_bytes, 0U);
            EXPECT_EQ(place.from % word, 0U);
            std::memcpy(at(destination_, place.to), at(source_, place.from), moved_(series_.copies() - 1));
        }
    }
    std::size_t wrong(const std::vector<Arrival>& arrivals) const {
        std::size_t words = 0;
        for (const Arrival& one : arrivals) words += wrong_words(destination_.data(), one);
        return words;
    }
    std::size_t wrong() const { return wrong(series_.arrivals()); }
    CopySeries& series() { return series_; }
    char* destination() { return at(destination_, 0); }

private:
    std::size_t bytes_;
    std::size_t room_;
    Copy moved_;
    std::vector<std::uint64_t> source_;
    std::vector<std::uint64_t> destination_;
    CopySeries series_;

    static char* at(std::vector<std::uint64_t>& words, std::size_t offset) {
        return reinterpret_cast<char*>(words.data()) + offset;
    }
};

Engine::Copy all_of(std::size_t bytes) {
    return [bytes](std::size_t) { return bytes; };
}

Engine::Copy all_but(std::size_t left_out, std::size_t bytes) {
    return [=](std::size_t n) { return n == left_out ? 0 : bytes; };
}

TEST(CopySeries, WhatArrivesIsAsExpectedWhateverTheSize) {
    for (const std::size_t bytes : {1U, 7U, 8U, 12U, 24U, 4095U, 4096U, 4097U, 100000U}) {
        Engine engine(bytes, 1, all_of(bytes));
        engine.copy(5);
        EXPECT_EQ(engine.wrong(), 0U) << bytes;
        EXPECT_EQ(copies_seen(engine.series().arrivals()), 5U);
        engine.series().begin_lap();
        engine.copy(3);
        EXPECT_EQ(engine.wrong(), 0U) << bytes << " after another lap";
        EXPECT_EQ(engine.wrong(engine.series().heads()), 0U) << bytes;
    }
}

TEST(CopySeries, EveryCopyOfALapThatIsLeftOutIsFound) {
    for (const std::size_t bytes : {1U, 12U, 40000U})
        for (std::size_t left_out = 0; left_out < 6; ++left_out) {
            Engine engine(bytes, 1, all_but(left_out, bytes));
            engine.copy(6);
            EXPECT_GT(engine.wrong(), 0U) << "copy " << left_out << " of " << bytes << " bytes";
            EXPECT_GT(engine.wrong(engine.series().heads()), 0U) << "copy " << left_out << " of " << bytes << " bytes";
        }
}

TEST(CopySeries, WhatThePreviousLapLeftDoesNotPass) {
    for (const std::size_t bytes : {1U, 12U, 40000U})
        for (std::size_t left_out = 4; left_out < 8; ++left_out) {
            Engine engine(bytes, 1, all_but(left_out, bytes));
            engine.copy(4);
            engine.series().begin_lap();
            engine.copy(4);
            EXPECT_GT(engine.wrong(engine.series().heads()), 0U) << "copy " << left_out << " of " << bytes << " bytes";
        }
}

TEST(CopySeries, OneCopyOfManyIsNotEnough) {
    // The last of 387, as an engine that skips whatever is overwritten anyway would do it.
    Engine engine(std::size_t{1} << 20, 4, [](std::size_t n) { return n == 386 ? std::size_t{1} << 20 : 0; });
    engine.copy(387);
    EXPECT_GT(engine.wrong(), 0U);
}

TEST(CopySeries, ARingOfPlacesShowsItsCopiesRoundByRound) {
    constexpr std::size_t bytes = 50000;
    constexpr std::size_t places = 3;
    const std::size_t lap = Engine(bytes, places, all_of(bytes)).series().most_in_lap();
    ASSERT_GT(lap, 3 * places);
    for (const std::size_t copies : {std::size_t{1}, std::size_t{2}, places + 1, lap, lap + 1, 2 * lap - 1, 3 * lap + 2}) {
        Engine right(bytes, places, all_of(bytes));
        right.copy(copies);
        EXPECT_EQ(right.wrong(), 0U) << copies;
        const std::uint64_t seen = copies_seen(right.series().arrivals());
        EXPECT_EQ(copies <= lap ? copies : seen, seen);
        // The copies of the present lap, and of the one before in places that this one has not come to.
        for (std::size_t back = 1; back <= (copies - 1) % lap + 1; ++back) {
            Engine wrong(bytes, places, all_but(copies - back, bytes));
            wrong.copy(copies);
            EXPECT_GT(wrong.wrong(), 0U) << "copy " << copies - back << " of " << copies;
        }
    }
}

TEST(CopySeries, ATailThatIsNotMovedIsFoundAndSoIsOneTooMany) {
    Engine less(12, 1, all_of(8));
    less.copy(1);
    EXPECT_EQ(less.wrong(), 1U) << "the word of which four bytes are missing";
    Engine more(12, 1, all_of(16));
    more.copy(1);
    EXPECT_EQ(more.wrong(), 1U) << "the word of which four bytes are too many";
    Engine behind(100000, 1, all_of(100000));
    behind.copy(2);
    behind.destination()[step_bytes + 100000 + 8] ^= 1;
    EXPECT_EQ(behind.wrong(), 1U) << "a word behind the last copy";
}

TEST(CopySeries, NoRoomForStepsLeavesTheTwoTurns) {
    constexpr std::size_t bytes = 2 * step_bytes;
    CopySeries series(bytes, 2, 2 * bytes, seed);
    EXPECT_EQ(series.most_in_lap(), 2U);
    std::set<std::size_t> from;
    for (int i = 0; i < 8; ++i) from.insert(series.next().from);
    EXPECT_EQ(from, (std::set<std::size_t>{0, bytes, turn_bytes, turn_bytes + bytes}));
}

TEST(Pattern, EveryByteDiffersFromTheOtherTurnsAndFromPoison) {
    for (const std::uint64_t source : {std::uint64_t{1}, (std::uint64_t{3} << 44) + 1, (std::uint64_t{77} << 44) + 1})
        for (std::uint64_t i = 0; i < 1000; ++i) {
            const std::uint64_t one = pattern(source, i);
            const std::uint64_t other = pattern(source, i + turn_bytes / word);
            const std::uint64_t poison = pattern(poison_seed, i);
            for (unsigned byte = 0; byte < 64; byte += 8) {
                EXPECT_NE(one >> byte & 0xff, other >> byte & 0xff);
                EXPECT_NE(one >> byte & 0xff, poison >> byte & 0xff);
                EXPECT_NE(other >> byte & 0xff, poison >> byte & 0xff);
            }
        }
}

}  // namespace
}  // namespace nearfar
