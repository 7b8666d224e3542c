#include "kernels/stream/stream_slice.h"

#include <algorithm>
#include <atomic>

#include "core/clock.h"
#include "core/error.h"

namespace nearfar {
namespace {

constexpr std::size_t line_elements = 8;  // doubles in a cache line

constexpr std::size_t least_chunks = 16;
constexpr std::size_t largest_chunk = (std::size_t{4} << 20) / sizeof(double);  // elements an array

constexpr double start_a = 1.0;
constexpr double start_b = 2.0;
constexpr double start_c = 5.0;

StreamArrays part(const StreamArrays& whole, std::size_t first, std::size_t length) {
    return {whole.a + first, whole.b + first, whole.c + first, length};
}

bool all_equal(const double* values, std::size_t length, double wanted) {
    return std::all_of(values, values + length, [wanted](double value) { return value == wanted; });
}

// Whether the kernel's destination holds its answer.
bool is_right(Kernel kernel, const StreamArrays& arrays) {
    switch (kernel) {
        case Kernel::copy: return all_equal(arrays.c, arrays.length, start_a);
        case Kernel::scale: return all_equal(arrays.b, arrays.length, stream_scalar * start_c);
        case Kernel::add: return all_equal(arrays.c, arrays.length, start_a + start_b);
        case Kernel::triad: return all_equal(arrays.a, arrays.length, start_b + stream_scalar * start_c);
        default: break;  // of GPUs alone
    }
    return false;
}

}  // namespace

std::size_t chunks_a_pass(std::size_t length) {
    std::size_t chunks = least_chunks;
    while (length / chunks > largest_chunk) chunks *= 2;
    return chunks;
}

StreamArrays slice_of(const StreamArrays& whole, std::size_t share, std::size_t shares) {
    const std::size_t grain = line_elements * chunks_a_pass(whole.length / shares);
    const std::size_t length = whole.length / shares / grain * grain;
    return part(whole, share * length, length);
}

std::size_t run_slice(Kernel kernel, const StreamArrays& slice, const std::string& who, const Team& helpers, FlowThread& thread) {
    // Values of which every kernel gives the same answer however often it runs.
    helpers.each(
        slice.length,
        [&](std::size_t begin, std::size_t end) { fill_arrays(part(slice, begin, end - begin), start_a, start_b, start_c); },
        line_elements);
    const std::size_t chunks = chunks_a_pass(slice.length);
    const std::size_t length = slice.length / chunks;
    thread.start();
    std::size_t done = 0;
    for (; !thread.stopped(); ++done) {
        run_stream_kernel(kernel, part(slice, done % chunks * length, length));
        thread.complete(now());
    }
    const std::size_t answers = std::min(done, chunks);
    std::atomic<bool> is_wrong{false};
    helpers.each(answers * length, [&](std::size_t begin, std::size_t end) {
        if (!is_right(kernel, part(slice, begin, end - begin))) is_wrong = true;
    });
    if (is_wrong) throw Failure("wrong_data", who + ": the kernel's answer is wrong");
    return answers * length * sizeof(double);
}

std::size_t chunk_bytes(Kernel kernel, const StreamArrays& slice) {
    return static_cast<std::size_t>(stream_bytes(kernel, slice.length / chunks_a_pass(slice.length)));
}

}  // namespace nearfar
