#include "node/team.h"

#include <algorithm>
#include <atomic>

#include "core/error.h"
#include "core/joined_threads.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t most_threads = 32;
constexpr std::size_t least_each = 4096;  // elements, below which a thread is not worth its start

// Where a thread runs decides its speed alone: one that cannot be bound does the same work.
void bind_if_allowed(int cpu) {
    try {
        bind_thread({cpu});
    } catch (const Prevented&) {
        return;
    }
}

}  // namespace

Team::Team(std::vector<int> cpus) : cpus_(std::move(cpus)) {
    if (cpus_.size() > most_threads) cpus_.resize(most_threads);
}

void Team::each(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body, std::size_t grain) const {
    const std::size_t units = (count + grain - 1) / grain;
    const std::size_t threads = std::min({cpus_.size(), units, std::max<std::size_t>(1, count / least_each)});
    if (threads <= 1) return body(0, count);
    JoinedThreads team;
    for (std::size_t i = 0; i < threads; ++i) {
        const std::size_t begin = units * i / threads * grain;
        const std::size_t end = std::min(count, units * (i + 1) / threads * grain);
        team.start([&body, begin, end, cpu = cpus_[i]] {
            bind_if_allowed(cpu);
            body(begin, end);
        });
    }
}

std::size_t Team::count_if(std::size_t count, const std::function<bool(std::size_t)>& is_so) const {
    std::atomic<std::size_t> total{0};
    each(count, [&](std::size_t begin, std::size_t end) {
        std::size_t part = 0;
        for (std::size_t i = begin; i < end; ++i) part += is_so(i) ? 1 : 0;
        total += part;
    });
    return total;
}

}  // namespace nearfar
