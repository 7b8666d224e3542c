// What the arrays of STREAM on GPUs hold, and what each kernel must leave: whole numbers, so that every answer is exact in whatever
// order it was computed, and another one a word further on. The destination moves on a step from pass to pass (memory/copy_series.h),
// so that a pass that was left out shows.
//
//     copy c=a   scale c=3a   add c=a+b   triad c=a+3b   dot sum+=ab   read sum+=a   write c=numbers   fill c=a byte
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cell/cell.h"
#include "memory/copy_series.h"

namespace nearfar {

constexpr double gpu_stream_scalar = 3.0;

// Primes: what is displaced by a power of two shows.
constexpr std::uint64_t period_of_a = 127;
constexpr std::uint64_t period_of_b = 109;

NEARFAR_BOTH inline double value_of_a(std::uint64_t i) { return static_cast<double>(i % period_of_a + 1); }
NEARFAR_BOTH inline double value_of_b(std::uint64_t i) { return static_cast<double>(i % period_of_b + 1); }

// The byte that a pass fills with: another one than the pass before it, and than this step's of the other turn.
NEARFAR_BOTH inline unsigned fill_byte(std::uint64_t step, bool other_turn) {
    return static_cast<unsigned>((2 * step + (other_turn ? 1 : 0)) % 251 + 1);
}

// The word that `write` leaves for the `i`th element of a.
NEARFAR_BOTH inline std::uint64_t written_word(std::uint64_t i) { return 0x4000000000000000ULL + i; }

// Whether it leaves nothing but a sum.
NEARFAR_BOTH inline bool is_reduction(Kernel kernel) { return kernel == Kernel::dot || kernel == Kernel::read; }

// What a kernel leaves in c for the `i`th elements of a and b, as the bits of a word.
NEARFAR_BOTH inline std::uint64_t answer_word(Kernel kernel, std::uint64_t i) {
    double answer = 0;
    switch (kernel) {
        case Kernel::copy: answer = value_of_a(i); break;
        case Kernel::scale: answer = gpu_stream_scalar * value_of_a(i); break;
        case Kernel::add: answer = value_of_a(i) + value_of_b(i); break;
        case Kernel::triad: answer = value_of_a(i) + gpu_stream_scalar * value_of_b(i); break;
        case Kernel::write: return written_word(i);
        default: break;
    }
    std::uint64_t bits = 0;
    memcpy(&bits, &answer, sizeof bits);
    return bits;
}

// What word `i` of a destination holds after the passes that `arrival` describes, whose seed counts words of a and b; poison where
// none came.
NEARFAR_BOTH inline std::uint64_t expected_stream_word(Kernel kernel, const Arrival& arrival, std::uint64_t i) {
    constexpr std::uint64_t word = sizeof(std::uint64_t);
    constexpr std::uint64_t step_words = step_bytes / word;
    const std::uint64_t step = i / step_words < arrival.last_step ? i / step_words : arrival.last_step;
    const std::uint64_t of_pass = i - step * step_words;
    if (of_pass * word >= arrival.bytes) return pattern(poison_seed, arrival.to / word + i);
    if (kernel == Kernel::fill) return fill_byte(step, arrival.seed != 0) * 0x0101010101010101ULL;
    return answer_word(kernel, arrival.seed + of_pass);
}

// What one pass of dot or read over the first `words` elements adds to the sum; exact while a sum is below 2^53.
double sum_of_pass(Kernel kernel, std::size_t words);

}  // namespace nearfar
