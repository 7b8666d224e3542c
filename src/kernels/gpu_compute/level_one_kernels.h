// The kernels that nvcc compiles: those of one's own, and CUB's. Each is queued on a stream of the current device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/problems/gemm.h"
#include "kernels/problems/own_kernels.h"

namespace nearfar {

// In place: y = a x + y.
void queue_saxpy(const float* x, float* y, std::size_t n, cudaStream_t stream);
void queue_triad(const float* a, const float* b, float* c, std::size_t n, cudaStream_t stream);
// One pass over an n × n field.
void queue_nine_points(const float* from, float* to, std::size_t n, cudaStream_t stream);
template <typename Real>
void queue_lennard_jones(const MdAtom<Real>* atoms, const int* list, MdAtom<Real>* forces, std::size_t n, MdBox box,
                         cudaStream_t stream);

// n elements of matrices: of float, double and Bf16.
template <typename T>
void queue_operands(T* to, std::size_t n, Operands operands, cudaStream_t stream);
// Adds an n × n matrix, column by column, times a vector to `product`.
template <typename T>
void queue_times(const T* matrix, const double* vector, double* product, std::size_t n, Operands operands, cudaStream_t stream);
// Adds to `count` how many of these words differ.
void queue_differences(const std::uint32_t* a, const std::uint32_t* b, std::size_t words, unsigned long long* count,
                       cudaStream_t stream);

// Adds to `right` how many of n elements are `times` those of a product.
void queue_count_right(const void* sum, const void* product, std::size_t n, bool are_doubles, double times,
                       unsigned long long* right, cudaStream_t stream);

// CUB's reduction or scan of n numbers, or its sort of n keys and behind them n values, both ways. Without `scratch` memory (null) it only says in
// `bytes` how much of it is needed.
void queue_cub(const std::string& kernel, void* scratch, std::size_t& bytes, const std::uint32_t* in, std::uint32_t* out,
               std::size_t n, cudaStream_t stream);

}  // namespace nearfar
