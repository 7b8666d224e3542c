#include "kernels/gpu_compute/product_check.h"

#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"

namespace nearfar {
namespace {

constexpr int poison = 0xff;
constexpr std::size_t vectors = 4;

}  // namespace

ProductCheck::ProductCheck(const ProblemShape& shape, cudaStream_t stream)
    : shape_(shape), stream_(stream),
      vectors_(make_memory<double>(vectors * shape.n * sizeof(double), "device memory for a check")) {}

void ProductCheck::queue_operands(void* in, Operands operands) const {
    const std::size_t elements = 2 * shape_.n * shape_.n;
    if (shape_.kernel == "dgemm")
        nearfar::queue_operands(static_cast<double*>(in), elements, operands, stream_);
    else if (shape_.kernel == "bf16gemm")
        nearfar::queue_operands(static_cast<Bf16*>(in), elements, operands, stream_);
    else
        nearfar::queue_operands(static_cast<float*>(in), elements, operands, stream_);
}

void ProductCheck::require(const void* in, const void* out, Operands operands) const {
    const std::vector<double> weights = product_weights(operands, shape_.n);
    check(cudaMemsetAsync(vectors_.get(), 0, vectors * shape_.n * sizeof(double), stream_), "cudaMemset");
    check(cudaMemcpyAsync(vector(0), weights.data(), shape_.n * sizeof(double), cudaMemcpyHostToDevice, stream_),
          "weights to the GPU");
    if (shape_.kernel == "dgemm")
        queue_rows<double, double>(in, out, operands);
    else if (shape_.kernel == "bf16gemm")
        queue_rows<Bf16, float>(in, out, operands);
    else
        queue_rows<float, float>(in, out, operands);
    const std::vector<double> right = read(2);
    require_product(shape_, operands, read(3), right);
}

void ProductCheck::require_exact(const GpuCompute& compute, void* in, void* out) const {
    queue_operands(in, Operands::whole);
    check(cudaMemsetAsync(out, poison, shape_.out_bytes, stream_), "cudaMemset");
    compute(in, out);
    require(in, out, Operands::whole);
}

template <typename In, typename Out>
void ProductCheck::queue_rows(const void* in, const void* out, Operands operands) const {
    const std::size_t n = shape_.n;
    const auto* const a = static_cast<const In*>(in);
    queue_times(a + n * n, vector(0), vector(1), n, operands, stream_);
    queue_times(a, vector(1), vector(2), n, operands, stream_);
    queue_times(static_cast<const Out*>(out), vector(0), vector(3), n, operands, stream_);
}

std::vector<double> ProductCheck::read(std::size_t which) const {
    std::vector<double> values(shape_.n);
    check(cudaMemcpyAsync(values.data(), vector(which), shape_.n * sizeof(double), cudaMemcpyDeviceToHost, stream_),
          "rows to the host");
    check(cudaStreamSynchronize(stream_), shape_.kernel.c_str());
    return values;
}

}  // namespace nearfar
