// Rank 0's eye on a run of several ranks: a rank that dies, one that hangs, a launcher that ends them all.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cell/measure.h"

namespace nearfar {

// Why a run ended early: the words, and whether it is the run's failure (else it was interrupted).
struct EarlyEnd {
    std::string code;
    std::string reason;
    bool failed = true;
};

// The ranks of `host` that are there no more, in words; empty where all are. A rank that has died and that its launcher has not
// noticed yet counts as gone.
std::string gone_ranks(const MpiFacts& mpi, const std::string& host);

// Calls `end` from a thread of its own, once, when the process is told to end, a rank of this host is gone, or nothing has
// moved for `seconds`. `end` does not return: a barrier that waits for a dead rank cannot be left otherwise.
class RankWatch {
public:
    RankWatch(const MpiFacts& mpi, double seconds, std::function<void(const EarlyEnd&)> end);
    ~RankWatch();
    RankWatch(const RankWatch&) = delete;
    RankWatch& operator=(const RankWatch&) = delete;

    // Something moved: `what` is done next.
    void progress(const std::string& what);

private:
    const MpiFacts mpi_;
    double seconds_;
    std::function<void(const EarlyEnd&)> end_;
    std::mutex mutex_;
    std::string what_ = "set-up";
    double since_;
    std::atomic<bool> done_{false};
    std::thread thread_;

    void watch();
};

}  // namespace nearfar
