#include "kernels/level_one/sustained_load.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/suspension.h"
#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"
#include "kernels/gpu_compute/product_check.h"

namespace nearfar {
namespace {

constexpr double batch_seconds = 0.1;  // about, where so many products are exact together
constexpr double between_looks = 1e-3;
constexpr double least_second = 0.5;  // the last one is left out where it is shorter

// So many products, added up, are whole numbers that the results' type has, whatever the order of the sums.
int exact_products(const ProblemShape& shape) {
    const double largest = static_cast<double>(largest_whole * largest_whole * shape.n);
    return static_cast<int>(std::min((shape.kernel == "dgemm" ? 0x1p53 : 0x1p24) / largest, 1e6));
}

}  // namespace

SustainedLoad::SustainedLoad(const GpuDevice& gpu, const Nvml& nvml, const ProblemShape& shape)
    : gpu_(gpu), nvml_(nvml), shape_(shape), memory_(gpu, {shape}) {
    memory_.require(shape_);
    first_ = make_cublas_gemm(shape_, stream());
    more_ = make_cublas_gemm(shape_, stream(), true);
    right_ = make_pinned<unsigned long long>(2 * sizeof *right_, "host memory for counts");
    ProductCheck(shape_, stream()).require_exact(first_, memory_.in(shape_, 0), product());
    check(cudaMemsetAsync(memory_.count(), 0, sizeof *right_, stream()), "cudaMemset");
    first_(operands(), sum());
    more_(operands(), sum());  // libraries load what they need when they are first used
    check(cudaEventRecord(end_of(0), stream()), "cudaEventRecord");
    more_(operands(), sum());
    check(cudaEventRecord(end_of(1), stream()), "cudaEventRecord");
    check(cudaStreamSynchronize(stream()), shape_.kernel.c_str());
    const double one = std::max(seconds_between(end_of(0), end_of(1)), 1e-6);
    products_ = std::clamp(static_cast<int>(std::lround(batch_seconds / one)), 1, exact_products(shape_));
}

SustainedLoad::~SustainedLoad() { cudaSetDevice(gpu_.ordinal); }  // before what is freed there

std::vector<SustainedSecond> SustainedLoad::series() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return series_;
}

void SustainedLoad::queue_batch(std::uint64_t batch) {
    first_(operands(), sum());
    for (int i = 1; i < products_; ++i) more_(operands(), sum());
    queue_count_right(sum(), product(), elements(), shape_.kernel == "dgemm", products_, memory_.count(), stream());
    check(cudaMemcpyAsync(&right_after(batch), memory_.count(), sizeof(unsigned long long), cudaMemcpyDeviceToHost, stream()),
          "a count to the host");
    check(cudaEventRecord(end_of(batch), stream()), "cudaEventRecord");
}

void SustainedLoad::look(SustainedSecond& second) const {
    RunningState state = nvml_.running_state(gpu_.on_bus.pci);
    const RunningState before = second.state.running;  // nothing is the least
    state.power = std::max(state.power, before.power);
    state.temperature = std::max(state.temperature, before.temperature);
    state.memory_temperature = std::max(state.memory_temperature, before.memory_temperature);
    second.state.running = state;
    std::vector<std::string>& throttle = second.state.throttle;
    for (const std::string& reason : nvml_.throttle_reasons(gpu_.on_bus.pci))
        if (std::find(throttle.begin(), throttle.end(), reason) == throttle.end()) throttle.push_back(reason);
}

void SustainedLoad::run(double begin, double seconds) {
    check(cudaSetDevice(gpu_.ordinal), "cudaSetDevice");
    last_progress_ = begin;
    check(cudaEventRecord(end_of(0), stream()), "cudaEventRecord");
    queue_batch(1);
    SustainedSecond second;
    unsigned long long right = 0;
    for (std::uint64_t batch = 1, kept = 0;; ++batch) {
        // One more is always queued behind the one that is waited for.
        const bool goes_on = running_time() < begin + seconds && !interrupted();
        if (goes_on) queue_batch(batch + 1);
        look(second);
        while (!has_happened(end_of(batch))) sleep_until(now() + between_looks);
        last_progress_ = running_time();
        second.at = last_progress_ - begin;
        second.seconds += seconds_between(end_of(batch - 1), end_of(batch));
        second.products += products_;
        second.wrong += elements() - (right_after(batch) - right);
        right = right_after(batch);
        const bool is_over = goes_on ? second.at >= static_cast<double>(kept + 1)
                                     : second.seconds >= least_second || second.wrong > 0 || kept == 0;
        if (is_over) {
            const std::lock_guard<std::mutex> lock(mutex_);
            series_.push_back(second);
            kept = std::max(kept + 1, static_cast<std::uint64_t>(second.at));
            second = {};
        }
        if (!goes_on) return;
    }
}

}  // namespace nearfar
