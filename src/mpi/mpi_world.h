// The ranks of one run: start and end of MPI, who is where, agreement on troubles, and results to rank 0.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "core/message.h"

namespace nearfar {

enum class MpiThreads {
    main_alone,  // other threads exist, and call nothing of MPI (MPI_THREAD_FUNNELED)
    any          // every thread may call MPI (MPI_THREAD_MULTIPLE)
};

// Where a rank runs.
struct RankPlace {
    int rank = 0;
    std::string host;
    int pid = 0;
    int on_host = 0;   // its number among the host's ranks, from 0 by rank
    std::string cpus;  // that it may run on, as the launcher left it, in Linux's list form
};

// MPI from its construction to its destruction; one in a process. All member functions but the plain getters are collective:
// every rank calls them, in the same order.
class MpiWorld {
public:
    // Throws WrongUse, on every rank, where the MPI does not allow the threads that are needed, or where the launcher is
    // another MPI's, which starts each rank as if it were alone.
    MpiWorld(int& argc, char**& argv, MpiThreads needed);
    ~MpiWorld();
    MpiWorld(const MpiWorld&) = delete;
    MpiWorld& operator=(const MpiWorld&) = delete;

    int rank() const { return rank_; }
    int size() const { return static_cast<int>(places_.size()); }
    // Of every rank, by rank.
    const std::vector<RankPlace>& places() const { return places_; }
    const RankPlace& own_place() const { return places_[static_cast<std::size_t>(rank_)]; }
    // "rank 3 on HOST"
    std::string name_of(std::size_t rank) const;
    // "MPI_THREAD_MULTIPLE" and so on, as it was given.
    const char* threads() const;
    // The MPI's own words for itself: "Open MPI v4.1.4".
    static std::string library();

    // What rank 0 calls, from the member functions below, with the names of the ranks that it has been waiting for for a while.
    void when_waiting(std::function<void(const std::string&)> call) { waiting_ = std::move(call); }

    void barrier() const;
    // What every rank hands in, by rank, on every rank.
    std::vector<Message> gather(const Message& own) const;
    // Every rank does its step. Where one throws, every rank throws what the first of them threw (WrongUse, Prevented or
    // Failure: see core/trouble.h) with its name ahead, so that nobody waits for a rank that gave up.
    void all_do(const std::function<void()>& step);
    // The same for steps that end with something to tell: of all ranks, by rank, on every rank.
    std::vector<Message> all_tell(const std::function<Message()>& step);
    // What rank 0 decides; asked of it alone.
    bool agree(const std::function<bool()>& decide);
    // Whether this is what all ranks threw last: then each has it, and none waits for another.
    bool all_threw(const std::exception& error) const;
    // Ends all ranks at once, from any thread of one of them; for use where one of them cannot be waited for.
    [[noreturn]] static void abort(int exit_code);

private:
    int rank_ = 0;
    int given_ = 0;
    std::string agreed_;  // the words of what all ranks threw last
    std::vector<RankPlace> places_;
    std::function<void(const std::string&)> waiting_;

    void take_lines(std::vector<std::string>& lines) const;
};

// Starts MPI and runs the body, which returns rank 0's exit code; the other ranks exit with 0, as launchers report the first that
// is not. What all ranks agreed to throw becomes one line of rank 0 on standard error and exit code 2 (wrong use), 3 (prevented) or
// 1 (failure); anything else that one rank throws is told and ends all of them.
int run_mpi_program(const std::string& name, int argc, char** argv, MpiThreads threads,
                    const std::function<int(MpiWorld&)>& body);

// Whether ranks may stop after so many rounds: at one of the looks.
bool is_look(std::size_t rounds);

}  // namespace nearfar
