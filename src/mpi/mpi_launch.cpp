#include "mpi/mpi_launch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <vector>

#include "node/node.h"
#include "node/proc_files.h"

namespace nearfar {
namespace {

const std::vector<std::string> of_rank{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
// SLURM_NTASKS would not do: it is also set where a job's script starts a program without srun.
const std::vector<std::string> of_size{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
// Slurm's is "4" on one node and "4(x2)" on two.
const std::vector<std::string> of_size_here{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE",
                                            "SLURM_STEP_TASKS_PER_NODE"};

std::optional<int> number_in(const char* text) {
    if (text == nullptr || *text == '\0') return {};
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return *end == '\0' ? std::optional(static_cast<int>(value)) : std::nullopt;
}

std::optional<int> first_number(const std::vector<std::string>& names) {
    for (const std::string& name : names)
        if (const std::optional<int> number = number_in(std::getenv(name.c_str()))) return number;
    return {};
}

// What a process was started with; nothing for one that has ended, and for another user's.
std::optional<int> number_of(pid_t process, const std::string& variable) {
    std::ifstream file("/proc/" + std::to_string(process) + "/environ");
    for (std::string line; std::getline(file, line, '\0');)
        if (line.rfind(variable + "=", 0) == 0) return number_in(line.c_str() + variable.size() + 1);
    return {};
}

}  // namespace

std::optional<int> launched_rank() { return first_number(of_rank); }

std::optional<int> launched_size() { return first_number(of_size); }

bool is_first_rank() { return launched_rank().value_or(0) == 0; }

std::string missing_ranks(pid_t front) {
    const auto variable = std::find_if(of_rank.begin(), of_rank.end(),
                                       [](const std::string& name) { return number_in(std::getenv(name.c_str())).has_value(); });
    const std::optional<int> size = launched_size();
    if (variable == of_rank.end() || !size || size != first_number(of_size_here)) return "";
    pid_t launcher = parent_of(front);  // or a script between the launcher and its rank
    while (launcher > 1 && number_of(launcher, *variable)) launcher = parent_of(launcher);
    if (launcher <= 1) return "";
    std::set<int> there;
    for (const pid_t process : numbered("/proc"))
        if (parent_of(process) == launcher)
            if (const std::optional<int> rank = number_of(process, *variable)) there.insert(*rank);
    std::string names;
    for (int rank = 0; rank < *size; ++rank)
        if (there.count(rank) == 0) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return names.empty() ? "" : names + " on " + hostname();
}

}  // namespace nearfar
