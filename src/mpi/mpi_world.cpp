#include "mpi/mpi_world.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/trouble.h"
#include "mpi/mpi_launch.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_wrong_use = 2;
constexpr int exit_prevented = 3;

int level(MpiThreads needed) { return needed == MpiThreads::any ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED; }

const char* level_name(int given) {
    if (given == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
    if (given == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
    return given == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE";
}

std::string hostname() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

void say(const std::string& name, const std::string& words) { std::fprintf(stderr, "%s: %s\n", name.c_str(), words.c_str()); }

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
    for (const Message& told : gather({"place", {hostname(), std::to_string(getpid()), cpu_list(cpus_in_effect())}})) {
        RankPlace place;
        place.rank = static_cast<int>(places_.size());
        place.host = told.field(0);
        place.pid = static_cast<int>(told.count(1));
        place.cpus = told.field(2);
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

std::vector<Message> MpiWorld::gather(const Message& mine) const {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::string line = mine.line();
    const int length = static_cast<int>(line.size());
    std::vector<int> lengths(static_cast<std::size_t>(size));
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<int> starts(lengths.size(), 0);
    std::partial_sum(lengths.begin(), lengths.end() - 1, starts.begin() + 1);
    std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    MPI_Allgatherv(line.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, MPI_COMM_WORLD);
    std::vector<Message> messages;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        messages.push_back(parse_message(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i]))));
    return messages;
}

std::vector<Message> MpiWorld::all_tell(const std::function<Message()>& step) {
    Message mine;
    const Message trouble = trouble_of([&] { mine = step(); });
    std::vector<Message> all = gather(trouble.word.empty() ? mine : trouble);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        try {
            throw_trouble(all[rank], "rank " + std::to_string(rank) + " on " + places_[rank].host + ": ");
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

bool MpiWorld::all_threw(const std::exception& error) const { return agreed_ == error.what(); }

void MpiWorld::abort(int exit_code) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
}

int run_mpi_program(const std::string& name, int argc, char** argv, MpiThreads threads,
                    const std::function<int(MpiWorld&)>& body) {
    const bool first = launched_rank().value_or(0) == 0;
    try {
        MpiWorld world(argc, argv, threads);
        const auto agreed = [&](const std::exception& error, int exit_code) {
            if (!world.all_threw(error)) {
                say(name, "rank " + std::to_string(world.rank()) + " on " + world.mine().host + ": " + error.what());
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
            return agreed(error, exit_prevented);
        } catch (const std::exception& error) {
            return agreed(error, exit_failure);
        }
    } catch (const WrongUse& error) {  // MPI itself
        // One rank says it and fails. A launcher ends the others at the first exit code that is not 0, and if that were
        // another rank's, the words could be lost with rank 0.
        if (first) say(name, error.what());
        return first ? exit_wrong_use : 0;
    }
}

}  // namespace nearfar
