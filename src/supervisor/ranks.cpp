#include "supervisor/ranks.h"

#include <cerrno>
#include <csignal>
#include <fstream>

#include "core/clock.h"
#include "supervisor/process_end.h"

namespace nearfar {
namespace {

constexpr double between_looks = 0.25;

bool is_gone(int process) {
    if (kill(process, 0) != 0 && errno == ESRCH) return true;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string words;
    std::getline(file, words);
    const std::size_t name_end = words.rfind(')');  // the name before it may hold anything
    return name_end != std::string::npos && words.size() > name_end + 2 &&
           (words[name_end + 2] == 'Z' || words[name_end + 2] == 'X');
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
