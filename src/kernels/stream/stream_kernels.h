// The four kernels of STREAM on a slice of three arrays, with stores that bypass the caches where the processor has them.
#pragma once

#include <cstddef>

#include "cell/cell.h"

namespace nearfar {

constexpr double stream_scalar = 3.0;

struct StreamArrays {
    double* a;
    double* b;
    double* c;
    std::size_t length;
};

// A value for each array; slices as below.
void fill_arrays(const StreamArrays& slice, double a, double b, double c);

// copy c=a, scale b=sc, add c=a+b, triad a=b+sc. The slice must start on a cache line and be a multiple of 8 long.
void run_stream_kernel(Kernel kernel, const StreamArrays& slice);

// How many arrays a kernel, of cores or of GPUs, reads and how many it writes.
int arrays_read(Kernel kernel);
int arrays_written(Kernel kernel);

// Bytes that STREAM counts for one run over `length` elements.
double stream_bytes(Kernel kernel, std::size_t length);

}  // namespace nearfar
