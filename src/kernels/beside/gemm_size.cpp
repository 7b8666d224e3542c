#include "kernels/beside/gemm_series.h"

namespace nearfar {

const ProblemSize gemm_beside_copies = ProblemSize::paper;

}  // namespace nearfar
