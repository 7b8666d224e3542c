#include "memory/copy_series.h"

#include <algorithm>

namespace nearfar {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

}  // namespace

std::size_t wrong_words(const void* data, const Arrival& arrival) {
    const auto* in = static_cast<const std::uint64_t*>(data) + arrival.to / word;
    std::size_t wrong = 0;
    std::size_t i = 0;
    // What the last copy covers is nearly all: without a question at each word it takes a third less.
    const std::size_t last = arrival.last_step * step_bytes / word;
    for (; i < std::min(last, arrival.words); ++i) wrong += in[i] != expected_word(arrival, i) ? 1 : 0;
    for (; i < std::min(last + arrival.bytes / word, arrival.words); ++i)
        wrong += in[i] != pattern(arrival.seed, i - last) ? 1 : 0;
    for (; i < arrival.words; ++i) wrong += in[i] != expected_word(arrival, i) ? 1 : 0;
    return wrong;
}

CopySeries::CopySeries(std::size_t bytes, std::size_t places, std::size_t room, std::uint64_t seed)
    : bytes_(bytes), places_(places), pitch_(room / places / step_bytes * step_bytes),
      // Fewer than a turn has, so that a step of one turn is never mistaken for another of the next.
      steps_(std::min((pitch_ - bytes) / step_bytes + 1, turn_bytes / step_bytes)), seed_(seed) {}

std::size_t CopySeries::reach() const {
    const std::size_t of_last = std::min(pitch_, (steps_ - 1) * step_bytes + bytes_ + step_bytes);
    return ((places_ - 1) * pitch_ + of_last + word - 1) / word * word;
}

CopyPlace CopySeries::next() {
    if (in_lap_ == most_in_lap()) begin_lap();
    const std::size_t place = in_lap_ % places_;
    const std::size_t step = in_lap_ / places_;
    ++in_lap_;
    ++copies_;
    top_step_ = std::max(top_step_, step);
    return {place * bytes_ + lap_ % 2 * turn_bytes, place * pitch_ + step * step_bytes};
}

void CopySeries::begin_lap() {
    if (in_lap_ == 0) return;
    in_lap_ = 0;
    ++lap_;
}

std::vector<Arrival> CopySeries::arrivals() const {
    std::vector<Arrival> found;
    for (std::size_t place = 0; place < places_; ++place) {
        const std::size_t here = in_lap_ / places_ + (place < in_lap_ % places_ ? 1 : 0);
        if (here == 0 && lap_ == 0) continue;
        const std::uint64_t lap = here > 0 ? lap_ : lap_ - 1;
        const std::size_t last = (here > 0 ? here : steps_) - 1;
        // Where an earlier lap came further, what lies behind is that one's: no poison, and nothing of a word that is only half covered.
        const std::size_t end = last * step_bytes + bytes_;
        const std::size_t words = last < top_step_ ? end / word : (std::min(pitch_, end + step_bytes) + word - 1) / word;
        const std::uint64_t first_word = (place * bytes_ + lap % 2 * turn_bytes) / word;
        found.push_back({place * pitch_, words, seed_ + first_word, bytes_, last});
    }
    return found;
}

std::vector<Arrival> CopySeries::heads() const {
    std::vector<Arrival> found = arrivals();
    for (Arrival& one : found) one.words = std::min<std::size_t>(one.words, (one.last_step + 1) * step_bytes / word);
    return found;
}

std::uint64_t copies_seen(const std::vector<Arrival>& arrivals) {
    std::uint64_t seen = 0;
    for (const Arrival& one : arrivals) seen += one.last_step + 1;
    return seen;
}

}  // namespace nearfar
