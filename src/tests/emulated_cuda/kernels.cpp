// The kernels of gpu/gpu_kernels.h and kernels/saxpy_kernel.h, done by the CPU.
#include <algorithm>
#include <cstring>

#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "kernels/saxpy_kernel.h"
#include "memory/copy_series.h"
#include "memory/pattern.h"
#include "tests/emulated_cuda/runtime.h"
#include "tests/emulated_cuda/settings.h"

namespace nearfar {
namespace {

using emulated_cuda::now;
using emulated_cuda::place_of;
using emulated_cuda::settings;
using emulated_cuda::sleep_until;

constexpr double between_looks = 20e-6;  // at the latch

void launch(const char* name, cudaStream_t stream, emulated_cuda::Stream::Work work) {
    emulated_cuda::queue_call(name, stream, std::move(work));
    check(cudaGetLastError(), name);
}

}  // namespace

void queue_latch(LatchFlag* flag, double seconds, cudaStream_t stream) {
    emulated_cuda::note_latch();
    launch("latch", stream, [=](double) {
        const double start = now();
        while (__atomic_load_n(&flag->open, __ATOMIC_ACQUIRE) == 0) {
            if (now() - start > seconds) {
                __atomic_store_n(&flag->timed_out, 1, __ATOMIC_RELEASE);
                break;
            }
            sleep_until(now() + between_looks);
        }
        return now();
    });
}

void queue_sm_copy(void* destination, const void* source, std::size_t bytes, int passes, std::size_t step, cudaStream_t stream) {
    launch("sm_copy", stream, [=](double start) {
        return emulated_cuda::move(destination, place_of(destination), source, place_of(source), bytes, passes, step, start);
    });
}

void queue_fill(void* data, std::uint64_t seed, std::size_t words, cudaStream_t stream) {
    launch("fill", stream, [=](double) {
        fill_pattern(data, seed, 0, words);
        return now();
    });
}

void queue_verify(const void* data, const Arrival& arrival, unsigned long long* wrong, cudaStream_t stream) {
    launch("verify", stream, [=](double) {
        *wrong += wrong_words(data, arrival);
        return now();
    });
}

void queue_chase(const void* lines, std::uint32_t* at, std::uint32_t steps, cudaStream_t stream) {
    launch("chase", stream, [=](double start) {
        std::uint32_t line = *at;
        for (std::uint32_t i = 0; i < steps; ++i)
            std::memcpy(&line, static_cast<const char*>(lines) + static_cast<std::size_t>(line) * chase_line, sizeof line);
        *at = line;
        const double over = std::max(now(), start + settings().start_seconds + steps * settings().load_seconds);
        sleep_until(over);
        return over;
    });
}

void queue_nothing(cudaStream_t stream) {
    launch("nothing", stream, [](double start) { return start + settings().start_seconds; });
}

void queue_saxpy(float* y, const float* x, float a, std::size_t length, cudaStream_t stream) {
    launch("saxpy", stream, [=](double) {
        for (std::size_t i = 0; i < length; ++i) y[i] += a * x[i];
        return now();
    });
}

void load_kernels() {
    check(emulated_cuda::call("load_kernels", [] { return cudaSuccess; }), "loading the kernels");
}

}  // namespace nearfar
