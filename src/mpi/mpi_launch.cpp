#include "mpi/mpi_launch.h"

#include <cstdlib>
#include <initializer_list>

namespace nearfar {
namespace {

std::optional<int> first_number(std::initializer_list<const char*> names) {
    for (const char* const name : names) {
        const char* const text = std::getenv(name);
        if (text == nullptr || *text == '\0') continue;
        char* end = nullptr;
        const long value = std::strtol(text, &end, 10);
        if (*end == '\0') return static_cast<int>(value);
    }
    return {};
}

}  // namespace

std::optional<int> launched_rank() {
    return first_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"});
}

// SLURM_NTASKS would not do: it is also set where a job's script starts a program without srun.
std::optional<int> launched_size() {
    return first_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"});
}

}  // namespace nearfar
