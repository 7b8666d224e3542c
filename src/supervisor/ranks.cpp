#include "supervisor/ranks.h"

#include <cerrno>
#include <csignal>

#include "core/clock.h"
#include "node/proc_files.h"

namespace nearfar {
namespace {

constexpr double between_looks = 0.25;

bool is_gone(int process) {
    if (kill(process, 0) != 0 && errno == ESRCH) return true;
    const auto times = parse_process_times(text_of("/proc/" + std::to_string(process) + "/stat"), 1);
    return times && (times->state == 'Z' || times->state == 'X');
}

}  // namespace

std::string names_of(const std::vector<KnownRank>& ranks) {
    std::string names;
    for (const KnownRank& rank : ranks)
        names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank.number) + " on " + rank.host + " (process " +
                 std::to_string(rank.process) + ")";
    return names;
}

std::string gone_ranks(const std::vector<KnownRank>& ranks) {
    std::vector<KnownRank> gone;
    for (const KnownRank& rank : ranks)
        if (&rank != &ranks.front() && rank.host == ranks.front().host && is_gone(rank.process)) gone.push_back(rank);
    return names_of(gone);
}

Starter::Starter(pid_t program) : program_(program) {
    struct sigaction hang_up {};
    if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) process_ = parent_of(program_);
}

bool Starter::is_gone() {
    if (process_ <= 1 || now() < next_look_) return false;
    next_look_ = now() + between_looks;
    return parent_of(program_) != process_;
}

}  // namespace nearfar
