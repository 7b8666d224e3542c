#include "mpi/rank_watch.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>

#include "core/clock.h"
#include "core/interrupt.h"

namespace nearfar {
namespace {

constexpr auto interval = std::chrono::milliseconds(20);

bool is_gone(int pid) {
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string words;
    std::getline(file, words);
    const std::size_t name_end = words.rfind(')');  // the name before it may hold anything
    return name_end != std::string::npos && words.size() > name_end + 2 &&
           (words[name_end + 2] == 'Z' || words[name_end + 2] == 'X');
}

}  // namespace

std::string gone_ranks(const MpiFacts& mpi, const std::string& host) {
    std::string names;
    for (const RankFacts& rank : mpi.ranks) {
        if (rank.host != host || !is_gone(rank.pid)) continue;
        names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank.rank) + " on " + rank.host + " (process " +
                 std::to_string(rank.pid) + ")";
    }
    return names;
}

RankWatch::RankWatch(const MpiFacts& mpi, double seconds, std::function<void(const EarlyEnd&)> end)
    : mpi_(mpi), seconds_(seconds), end_(std::move(end)), since_(now()), thread_([this] { watch(); }) {}

RankWatch::~RankWatch() {
    done_ = true;
    thread_.join();
}

void RankWatch::progress(const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    what_ = what;
    since_ = now();
}

void RankWatch::watch() {
    while (!done_) {
        std::this_thread::sleep_for(interval);
        std::string what;
        double still = 0;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            what = what_;
            still = now() - since_;
        }
        // A launcher that ends everybody does so because one rank died, or because it was told to.
        std::string gone = done_ ? "" : gone_ranks(mpi_, mpi_.ranks.front().host);
        if (!gone.empty()) return end_({"error", gone.append(" died during ").append(what).append("; the others were ended")});
        if (interrupted()) return end_({"interrupted", "ended by a signal during " + what, false});
        if (still > seconds_)
            return end_({"hang", what + " did not end within " + std::to_string(static_cast<int>(seconds_)) + " s"});
    }
}

}  // namespace nearfar
