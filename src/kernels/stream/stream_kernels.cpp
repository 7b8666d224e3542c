#include "kernels/stream/stream_kernels.h"

#include <algorithm>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace nearfar {
namespace {

#if defined(__SSE2__)

template <typename F>
void write_all(double* out, std::size_t length, const F& pair_at) {
    for (std::size_t i = 0; i < length; i += 8) {
        _mm_stream_pd(out + i, pair_at(i));
        _mm_stream_pd(out + i + 2, pair_at(i + 2));
        _mm_stream_pd(out + i + 4, pair_at(i + 4));
        _mm_stream_pd(out + i + 6, pair_at(i + 6));
    }
    _mm_sfence();
}

void copy(double* out, const double* in, std::size_t length) {
    write_all(out, length, [in](std::size_t i) { return _mm_load_pd(in + i); });
}

void scale(double* out, const double* in, std::size_t length) {
    const __m128d scalar = _mm_set1_pd(stream_scalar);
    write_all(out, length, [=](std::size_t i) { return _mm_mul_pd(scalar, _mm_load_pd(in + i)); });
}

void add(double* out, const double* x, const double* y, std::size_t length) {
    write_all(out, length, [=](std::size_t i) { return _mm_add_pd(_mm_load_pd(x + i), _mm_load_pd(y + i)); });
}

void triad(double* out, const double* x, const double* y, std::size_t length) {
    const __m128d scalar = _mm_set1_pd(stream_scalar);
    write_all(out, length, [=](std::size_t i) { return _mm_add_pd(_mm_load_pd(x + i), _mm_mul_pd(scalar, _mm_load_pd(y + i))); });
}

void fill(double* out, double value, std::size_t length) {
    const __m128d pair = _mm_set1_pd(value);
    write_all(out, length, [=](std::size_t) { return pair; });
}

#else  // processors whose compilers offer no portable store that bypasses the caches

void copy(double* __restrict out, const double* __restrict in, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) out[i] = in[i];
}

void scale(double* __restrict out, const double* __restrict in, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) out[i] = stream_scalar * in[i];
}

void add(double* __restrict out, const double* __restrict x, const double* __restrict y, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) out[i] = x[i] + y[i];
}

void triad(double* __restrict out, const double* __restrict x, const double* __restrict y, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) out[i] = x[i] + stream_scalar * y[i];
}

void fill(double* out, double value, std::size_t length) { std::fill_n(out, length, value); }

#endif

}  // namespace

void fill_arrays(const StreamArrays& slice, double a, double b, double c) {
    fill(slice.a, a, slice.length);
    fill(slice.b, b, slice.length);
    fill(slice.c, c, slice.length);
}

void run_stream_kernel(Kernel kernel, const StreamArrays& slice) {
    switch (kernel) {
        case Kernel::copy: return copy(slice.c, slice.a, slice.length);
        case Kernel::scale: return scale(slice.b, slice.c, slice.length);
        case Kernel::add: return add(slice.c, slice.a, slice.b, slice.length);
        case Kernel::triad: return triad(slice.a, slice.b, slice.c, slice.length);
        default: return;  // of GPUs alone
    }
}

int arrays_read(Kernel kernel) {
    if (kernel == Kernel::none || kernel == Kernel::write || kernel == Kernel::fill) return 0;
    return kernel == Kernel::copy || kernel == Kernel::scale || kernel == Kernel::read ? 1 : 2;
}

int arrays_written(Kernel kernel) { return kernel == Kernel::none || kernel == Kernel::dot || kernel == Kernel::read ? 0 : 1; }

double stream_bytes(Kernel kernel, std::size_t length) {
    const int arrays = arrays_read(kernel) + arrays_written(kernel);
    return static_cast<double>(arrays) * static_cast<double>(length) * sizeof(double);
}

}  // namespace nearfar
