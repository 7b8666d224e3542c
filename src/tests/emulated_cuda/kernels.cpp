// The kernels of gpu/gpu_kernels.h and kernels/gpu_stream/gpu_stream_kernels.h, done by the CPU.
#include <algorithm>
#include <cstring>

#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "kernels/gpu_stream/gpu_stream_kernels.h"
#include "kernels/stream/stream_kernels.h"
#include "kernels/stream/stream_values.h"
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

void queue_lines(void* lines, std::uint32_t count, cudaStream_t stream) {
    launch("lines", stream, [=](double) {
        for (std::uint32_t line = 0; line < count; ++line) {
            const std::uint32_t next = (line + 1) % count;
            std::memcpy(static_cast<char*>(lines) + static_cast<std::size_t>(line) * chase_line, &next, sizeof next);
        }
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

void queue_stream_values(double* a, double* b, std::size_t words, cudaStream_t stream) {
    launch("stream_values", stream, [=](double) {
        for (std::size_t i = 0; i < words; ++i) {
            a[i] = value_of_a(i);
            b[i] = value_of_b(i);
        }
        return now();
    });
}

// Byte 100 of the destination, or one of the summed, is wrong where `wrong=` says so; a pass may be left out as a copy may.
void queue_stream_pass(Kernel kernel, const GpuStreamPass& pass, cudaStream_t stream) {
    launch("stream", stream, [=](double start) {
        const std::size_t words = pass.bytes / sizeof(double);
        const double over = start + settings().start_seconds + stream_bytes(kernel, words) / settings().peer;
        if (emulated_cuda::leaves_out_copy()) return now();
        if (kernel == Kernel::fill) std::memset(pass.c, static_cast<int>(pass.fill), pass.bytes);
        for (std::size_t i = 0; i < words && kernel != Kernel::fill; ++i) {
            switch (kernel) {
                case Kernel::copy: pass.c[i] = pass.a[i]; break;
                case Kernel::scale: pass.c[i] = gpu_stream_scalar * pass.a[i]; break;
                case Kernel::add: pass.c[i] = pass.a[i] + pass.b[i]; break;
                case Kernel::triad: pass.c[i] = pass.a[i] + gpu_stream_scalar * pass.b[i]; break;
                case Kernel::dot: *pass.sum += pass.a[i] * pass.b[i]; break;
                case Kernel::read: *pass.sum += pass.a[i]; break;
                default: {
                    const std::uint64_t word = written_word(pass.first_word + i);
                    std::memcpy(pass.c + i, &word, sizeof word);
                }
            }
        }
        const std::optional<std::size_t> wrong = settings().wrong;
        if (wrong && is_reduction(kernel)) *pass.sum += 1;
        if (wrong && !is_reduction(kernel)) reinterpret_cast<unsigned char*>(pass.c)[*wrong] ^= 1;
        sleep_until(over);
        return std::max(now(), over);
    });
}

void queue_stream_verify(Kernel kernel, const void* data, const Arrival& arrival, unsigned long long* wrong,
                         cudaStream_t stream) {
    launch("stream_verify", stream, [=](double) {
        const auto* const words = static_cast<const std::uint64_t*>(data) + arrival.to / sizeof(std::uint64_t);
        for (std::size_t i = 0; i < arrival.words; ++i) *wrong += words[i] != expected_stream_word(kernel, arrival, i) ? 1 : 0;
        return now();
    });
}

void load_stream_kernels() {
    check(emulated_cuda::call("load_stream_kernels", [] { return cudaSuccess; }), "loading STREAM's kernels");
}

void load_kernels() {
    check(emulated_cuda::call("load_kernels", [] { return cudaSuccess; }), "loading the kernels");
}

}  // namespace nearfar
