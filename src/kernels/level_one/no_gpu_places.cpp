// In the place of gpu_places.cpp where there is no CUDA compiler.
#include "core/error.h"
#include "kernels/level_one/kernels_bench.h"
#include "kernels/level_one/placed_kernel.h"

namespace nearfar {

std::unique_ptr<KernelPlaces> gpu_places(const Node&, bool, bool) {
    throw Prevented("missing_library", "nearfar-kernels was built without CUDA; --device host computes on the CPU");
}

void run_sustained(const KernelsOptions&, ProgramRun, Teller&, const Rest*) {
    throw Prevented("missing_library", "nearfar-kernels was built without CUDA: --sustain loads GPUs");
}

std::string cuda_of_kernels() { return ""; }

}  // namespace nearfar
