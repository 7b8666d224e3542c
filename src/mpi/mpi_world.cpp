#include "mpi/mpi_world.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/statistics.h"
#include "core/trouble.h"
#include "gpu/cuda_environment.h"
#include "mpi/mpi_launch.h"
#include "node/cpus.h"
#include "node/node.h"
#include "supervisor/words.h"

namespace nearfar {
namespace {

constexpr int streams_a_gpu = 2;  // of a rank
constexpr int gather_tag = 3;
constexpr double report_after = 1;  // second that rank 0 waits

int level(MpiThreads needed) { return needed == MpiThreads::any ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED; }

const char* level_name(int given) {
    if (given == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
    if (given == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
    return given == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE";
}

}  // namespace

MpiWorld::MpiWorld(int& argc, char**& argv, MpiThreads needed) {
    MPI_Init_thread(&argc, &argv, level(needed), &given_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::string trouble;
    if (given_ < level(needed))
        trouble = "this MPI gives " + std::string(level_name(given_)) + " and " + level_name(level(needed)) + " is needed (" +
                  library() + "): use one that was built with support for threads";
    if (size == 1 && launched_size().value_or(1) > 1)
        trouble = std::to_string(*launched_size()) +
                  " ranks were started, and each believes that it is alone: the launcher is not that of " + library() +
                  ", which this program was built with";
    if (!trouble.empty()) {
        MPI_Finalize();
        throw WrongUse(trouble);
    }
    std::map<std::string, int> seen;
    for (const Message& message : gather({"place", {hostname(), std::to_string(getpid()), cpu_list(cpus_in_effect())}})) {
        RankPlace place;
        place.rank = static_cast<int>(places_.size());
        place.host = message.field(0);
        place.pid = static_cast<int>(message.count(1));
        place.cpus = message.field(2);
        place.on_host = seen[place.host]++;
        places_.push_back(place);
    }
}

MpiWorld::~MpiWorld() { MPI_Finalize(); }

const char* MpiWorld::threads() const { return level_name(given_); }

std::string MpiWorld::library() {
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(words, &length);
    const std::string line = std::string(words).substr(0, std::string(words).find('\n'));
    // "Open MPI v4.1.4, package: …, ident: …"; MPICH's version follows a tab.
    std::string name = line.substr(0, line.find(','));
    std::replace(name.begin(), name.end(), '\t', ' ');
    return name;
}

void MpiWorld::barrier() const { MPI_Barrier(MPI_COMM_WORLD); }

std::string MpiWorld::name_of(std::size_t rank) const {
    const std::string number = "rank " + std::to_string(rank);
    return rank < places_.size() ? number + " on " + places_[rank].host : number;
}

// On rank 0: takes a line of each other rank as they come, and tells whom it waits for.
void MpiWorld::take_lines(std::vector<std::string>& lines) const {
    std::set<std::size_t> missing;
    for (std::size_t rank = 1; rank < lines.size(); ++rank) missing.insert(rank);
    bool reported = false;
    for (const double begin = now(); !missing.empty();) {
        int is_there = 0;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, gather_tag, MPI_COMM_WORLD, &is_there, &status);
        if (is_there != 0) {
            int length = 0;
            MPI_Get_count(&status, MPI_CHAR, &length);
            const auto rank = static_cast<std::size_t>(status.MPI_SOURCE);
            lines[rank].resize(static_cast<std::size_t>(length));
            MPI_Recv(lines[rank].data(), length, MPI_CHAR, status.MPI_SOURCE, gather_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            missing.erase(rank);
        } else if (!reported && waiting_ && now() - begin > report_after) {
            reported = true;
            std::string names;
            for (const std::size_t rank : missing) names += (names.empty() ? "" : ", ") + name_of(rank);
            waiting_(names);
        }
    }
}

std::vector<Message> MpiWorld::gather(const Message& own) const {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::string all = own.line();
    if (rank_ == 0) {
        std::vector<std::string> lines(static_cast<std::size_t>(size));
        lines[0] = all;
        take_lines(lines);
        for (std::size_t rank = 1; rank < lines.size(); ++rank) all += '\n' + lines[rank];
    } else {
        MPI_Send(all.data(), static_cast<int>(all.size()), MPI_CHAR, 0, gather_tag, MPI_COMM_WORLD);
    }
    std::size_t length = all.size();
    MPI_Bcast(&length, sizeof length, MPI_BYTE, 0, MPI_COMM_WORLD);
    all.resize(length);
    MPI_Bcast(all.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
    std::vector<Message> messages;
    for (std::size_t begin = 0; messages.size() < static_cast<std::size_t>(size);) {
        const std::size_t end = std::min(all.find('\n', begin), length);
        messages.push_back(parse_message(all.substr(begin, end - begin)));
        begin = end + 1;
    }
    return messages;
}

std::vector<Message> MpiWorld::all_tell(const std::function<Message()>& step) {
    Message own;
    const Message trouble = trouble_of([&] { own = step(); });
    std::vector<Message> all = gather(trouble.word.empty() ? own : trouble);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        try {
            throw_trouble(all[rank], name_of(rank) + ": ");
        } catch (const std::exception& error) {
            agreed_ = error.what();
            throw;
        }
    }
    return all;
}

void MpiWorld::all_do(const std::function<void()>& step) {
    all_tell([&]() -> Message {
        step();
        return {};
    });
}

bool MpiWorld::agree(const std::function<bool()>& decide) {
    return all_tell([&]() -> Message { return {rank_ == 0 && decide() ? "yes" : "no", {}}; }).front().word == "yes";
}

bool MpiWorld::all_threw(const std::exception& error) const { return agreed_ == error.what(); }

void MpiWorld::abort(int exit_code) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
}

int run_mpi_program(const std::string& name, int argc, char** argv, MpiThreads threads,
                    const std::function<int(MpiWorld&)>& body) {
    const bool first = launched_rank().value_or(0) == 0;
    set_cuda_environment(streams_a_gpu);  // an MPI that knows GPUs may start CUDA
    try {
        MpiWorld world(argc, argv, threads);
        const auto agreed = [&](const std::exception& error, int exit_code) {
            if (!world.all_threw(error)) {
                say(name, world.name_of(static_cast<std::size_t>(world.rank())) + ": " + error.what());
                MpiWorld::abort(exit_code);
            }
            if (world.rank() == 0) say(name, error.what());
            return world.rank() == 0 ? exit_code : 0;
        };
        try {
            const int code = body(world);
            return world.rank() == 0 ? code : 0;
        } catch (const WrongUse& error) {
            return agreed(error, exit_wrong_use);
        } catch (const Prevented& error) {
            return agreed(error, exit_not_measured);
        } catch (const std::exception& error) {
            return agreed(error, exit_failed);
        }
    } catch (const WrongUse& error) {  // MPI itself
        // One rank says it and fails. A launcher ends the others at the first exit code that is not 0, and if that were
        // another rank's, the words could be lost with rank 0.
        if (first) say(name, error.what());
        return first ? exit_wrong_use : 0;
    }
}

bool is_look(std::size_t rounds) { return std::find(looks.begin(), looks.end(), rounds) != looks.end(); }

}  // namespace nearfar
