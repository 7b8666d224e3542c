// Where the copies of a series read and write, so that one that was left out is found, and what must be found after them.
//
// The destination has several places, each a little larger than a copy. Copies go to one place after another; when all have had one,
// the next round writes a step further on in each. So every copy brings other bytes than the one before it to the same address, and
// the first step of what it wrote stays as it is to the end of the lap. When the room of the places is used up, the next lap begins at
// their start, with the other turn of the source (memory/pattern.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/pattern.h"

namespace nearfar {

constexpr std::size_t step_bytes = 4096;
// So much larger than what is moved is each buffer: a source for its second turn, a destination for the steps.
constexpr std::size_t spare_bytes = turn_bytes;

// What one place of a destination holds after copies into it.
struct Arrival {
    std::size_t to;           // where the place begins, in bytes
    std::size_t words;        // to compare from there on
    std::uint64_t seed;       // of the source's first word
    std::size_t bytes;        // of one copy
    std::uint64_t last_step;  // of the last copy; what is not covered by a copy is poison
};

NEARFAR_BOTH inline std::uint64_t expected_word(const Arrival& arrival, std::uint64_t i) {
    constexpr std::uint64_t word = sizeof(std::uint64_t);
    constexpr std::uint64_t step_words = step_bytes / word;
    const std::uint64_t step = i / step_words < arrival.last_step ? i / step_words : arrival.last_step;
    const std::uint64_t of_copy = i - step * step_words;
    const std::uint64_t sent = pattern(arrival.seed, of_copy);
    if ((of_copy + 1) * word <= arrival.bytes) return sent;
    const std::uint64_t poison = pattern(poison_seed, arrival.to / word + i);
    if (of_copy * word >= arrival.bytes) return poison;
    const std::uint64_t covered = (std::uint64_t{1} << 8 * (arrival.bytes - of_copy * word)) - 1;
    return (sent & covered) | (poison & ~covered);
}

// Words of the destination that starts at `data` which are not as expected, on the CPU.
std::size_t wrong_words(const void* data, const Arrival& arrival);

struct CopyPlace {
    std::size_t from;  // in the source, in bytes
    std::size_t to;    // in the destination
};

class CopySeries {
public:
    CopySeries() = default;
    // Copies of `bytes` in a destination of `room` bytes, of which reach() is poison; `seed` is the source's, of room for all places and
    // spare_bytes.
    CopySeries(std::size_t bytes, std::size_t places, std::size_t room, std::uint64_t seed);

    std::size_t bytes() const { return bytes_; }
    // The place of the next copy.
    CopyPlace next();
    // The next copies, up to most_in_lap(), go on step by step at the start of a place. Only for series of one place.
    void begin_lap();
    std::size_t most_in_lap() const { return places_ * steps_; }
    // So many bytes of the destination, from its start, are written or compared by any of its copies, however many there are.
    std::size_t reach() const;

    // What the copies of this lap left, and in places that it has not come to yet those of the one before; one page behind the
    // last one too, where no copy came.
    std::vector<Arrival> arrivals() const;
    // The first step of each of them alone: little to read, and a copy that was left out is seen in it.
    std::vector<Arrival> heads() const;
    std::uint64_t copies() const { return copies_; }

private:
    std::size_t bytes_ = 0;
    std::size_t places_ = 1;
    std::size_t pitch_ = 0;  // from one place to the next
    std::size_t steps_ = 1;
    std::uint64_t seed_ = 0;
    std::uint64_t lap_ = 0;
    std::size_t in_lap_ = 0;
    std::size_t top_step_ = 0;  // of all laps
    std::uint64_t copies_ = 0;
};

// How many copies left what `arrivals` describe.
std::uint64_t copies_seen(const std::vector<Arrival>& arrivals);

}  // namespace nearfar
