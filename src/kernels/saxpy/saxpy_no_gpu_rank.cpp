// In the place of saxpy_gpu_rank.cpp where there is no CUDA compiler.
#include "core/error.h"
#include "kernels/saxpy/saxpy_rank.h"

namespace nearfar {

SaxpyRank choose_gpu_rank(const Node&, int, int, const SaxpyOptions&) {
    throw Prevented("missing_library", "nearfar-kernels was built without CUDA; --device host runs the pattern in host memory");
}

}  // namespace nearfar
