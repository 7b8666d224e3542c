#include "mpi/mpi_world.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <numeric>
#include <sstream>

#include "core/error.h"
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

// A trouble as one text, and back: "w", "p CODE" or "f CODE", then the words. Empty: none.
std::string trouble_of(const std::function<void()>& step) {
    try {
        step();
    } catch (const WrongUse& why) {
        return std::string("w -\n") + why.what();
    } catch (const Prevented& why) {
        return "p " + why.code + "\n" + why.what();
    } catch (const Failure& why) {
        return "f " + why.code + "\n" + why.what();
    }
    return "";
}

[[noreturn]] void throw_trouble(const std::string& who, const std::string& trouble) {
    const std::size_t line = trouble.find('\n');
    const std::string code = trouble.substr(2, line - 2);
    const std::string words = who + trouble.substr(line + 1);
    if (trouble[0] == 'w') throw WrongUse(words);
    if (trouble[0] == 'p') throw Prevented(code, words);
    throw Failure(code, words);
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
    for (const std::string& words :
         gather_everywhere(hostname() + " " + std::to_string(getpid()) + " " + cpu_list(cpus_in_effect()))) {
        RankPlace place;
        place.rank = static_cast<int>(places_.size());
        std::istringstream(words) >> place.host >> place.pid >> place.cpus;
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

std::vector<std::string> MpiWorld::gather_everywhere(const std::string& mine) const {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int length = static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<std::size_t>(size));
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<int> starts(lengths.size(), 0);
    std::partial_sum(lengths.begin(), lengths.end() - 1, starts.begin() + 1);
    std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    MPI_Allgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        texts.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
    return texts;
}

std::vector<std::string> MpiWorld::gather(const std::string& mine) const {
    const int length = static_cast<int>(mine.size());
    const std::size_t count = rank_ == 0 ? places_.size() : 0;
    std::vector<int> lengths(count);
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> starts(count, 0);
    for (std::size_t i = 1; i < count; ++i) starts[i] = starts[i - 1] + lengths[i - 1];
    std::string all(count == 0 ? 0 : static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i)
        texts.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
    return texts;
}

std::string MpiWorld::broadcast(const std::string& text) const {
    int length = static_cast<int>(text.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::string copy = rank_ == 0 ? text : std::string(static_cast<std::size_t>(length), '\0');
    MPI_Bcast(copy.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
    return copy;
}

void MpiWorld::all_do(const std::function<void()>& step) {
    const std::vector<std::string> troubles = gather_everywhere(trouble_of(step));
    const auto first = std::find_if(troubles.begin(), troubles.end(), [](const std::string& words) { return !words.empty(); });
    if (first == troubles.end()) return;
    gave_up_ = true;
    const RankPlace& place = places_[static_cast<std::size_t>(first - troubles.begin())];
    throw_trouble("rank " + std::to_string(place.rank) + " on " + place.host + ": ", *first);
}

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
            if (!world.gave_up()) {
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

void require_told(int exit_code) {
    if (exit_code == 0) return;
    if (exit_code == exit_wrong_use) std::exit(exit_code);
    throw Failure("error", "rank 0 ended with exit code " + std::to_string(exit_code) + ": why stands on standard error");
}

}  // namespace nearfar
