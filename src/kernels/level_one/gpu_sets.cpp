#include "kernels/level_one/gpu_sets.h"

#include <algorithm>

#include "core/error.h"
#include "gpu/gpu_call.h"

namespace nearfar {
namespace {

constexpr std::size_t alignment = 256;                       // also the bytes of the count, which stands first
constexpr std::size_t left_free = std::size_t{256} << 20;    // for what libraries take
constexpr std::size_t least_places = std::size_t{64} << 20;  // bytes, where there are so many
constexpr std::size_t most_places = std::size_t{4} << 30;    // bytes
constexpr std::size_t calls_in_places = 16;                  // of the largest problem

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::size_t of_set(const ProblemShape& shape) {
    return aligned(shape.in_bytes) + (shape.in_place ? 0 : aligned(shape.out_bytes));
}

std::size_t of_place(const ProblemShape& shape) { return shape.repeats ? aligned(shape.out_bytes) : 0; }

std::size_t of_sets(const ProblemShape& shape) { return alignment + static_cast<std::size_t>(shape.results()) * of_set(shape); }

std::size_t needed(const ProblemShape& shape) { return of_sets(shape) + of_place(shape); }

}  // namespace

GpuSets::GpuSets(const GpuDevice& gpu, const std::vector<ProblemShape>& shapes) : gpu_(gpu) {
    check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
    for (GpuStream& stream : streams_) stream = make_stream();
    for (GpuEvent& event : events_) event = make_event();
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    std::size_t places = 0;
    for (const ProblemShape& shape : shapes) {
        if (needed(shape) + left_free > free) continue;
        bytes_ = std::max(bytes_, needed(shape));
        if (shape.repeats) places = std::max(places, std::clamp(calls_in_places * of_place(shape), least_places, most_places));
    }
    if (bytes_ == 0) return;
    bytes_ += std::min(places, (free - left_free - bytes_) / 2);
    memory_ = make_memory<char>(bytes_);
}

void GpuSets::require(const ProblemShape& shape) const {
    if (needed(shape) > bytes_)
        throw Prevented("no_memory", shape.text() + " needs " + std::to_string(needed(shape) >> 20) + " MiB of " + gpu_.name() +
                                         "'s memory: less is free");
}

char* GpuSets::in(const ProblemShape& shape, int set) const {
    return memory_.get() + alignment + static_cast<std::size_t>(set) * of_set(shape);
}

char* GpuSets::out(const ProblemShape& shape, int set) const {
    return in(shape, set) + (shape.in_place ? shape.in_bytes - shape.out_bytes : aligned(shape.in_bytes));
}

int GpuSets::places(const ProblemShape& shape) const {
    const std::size_t each = of_place(shape);
    return each == 0 ? 0 : static_cast<int>((bytes_ - of_sets(shape)) / each);
}

char* GpuSets::place(const ProblemShape& shape, int which) const {
    return in(shape, shape.results()) + static_cast<std::size_t>(which) * of_place(shape);
}

}  // namespace nearfar
