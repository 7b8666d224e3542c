// A fault put there on purpose: linked into nearfar-copy-slow, it makes the copies of one GPU in one direction last longer by moving a share of
// their bytes twice. NEARFAR_SLOW_LINK=h2d:1:0.94 leaves 94 % of the rate of what GPU 1 (CUDA's number) gets from the host; d2h and peer likewise.

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct SlowLink {
    std::string direction;
    int gpu = -1;
    double extra = 0;  // bytes moved again, as a share of the copy's

    SlowLink() {
        const char* const text = std::getenv("NEARFAR_SLOW_LINK");
        const char* const colon = text == nullptr ? nullptr : std::strchr(text, ':');
        const char* const second = colon == nullptr ? nullptr : std::strchr(colon + 1, ':');
        if (second == nullptr) return;
        direction.assign(text, colon);
        gpu = std::atoi(colon + 1);
        extra = 1 / std::atof(second + 1) - 1;
    }

    std::size_t again(const char* way, int which, std::size_t bytes) const {
        return which == gpu && direction == way ? static_cast<std::size_t>(extra * static_cast<double>(bytes)) & ~std::size_t{255}
                                                : 0;
    }
};

const SlowLink& slow_link() {
    static const SlowLink link;
    return link;
}

bool on_host(const void* place) {
    cudaPointerAttributes found{};
    return cudaPointerGetAttributes(&found, place) == cudaSuccess && found.type != cudaMemoryTypeDevice;
}

}  // namespace

extern "C" {

cudaError_t __real_cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t __real_cudaMemcpyPeerAsync(void*, int, const void*, int, std::size_t, cudaStream_t);

cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const cudaError_t first = __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
    int gpu = -1;
    if (first != cudaSuccess || slow_link().gpu < 0 || cudaGetDevice(&gpu) != cudaSuccess || gpu != slow_link().gpu) return first;
    const bool from_host = on_host(from);
    if (from_host == on_host(to)) return first;
    const std::size_t again = slow_link().again(from_host ? "h2d" : "d2h", gpu, bytes);
    return again == 0 ? first : __real_cudaMemcpyAsync(to, from, again, kind, stream);
}

cudaError_t __wrap_cudaMemcpyPeerAsync(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes,
                                       cudaStream_t stream) {
    const cudaError_t first = __real_cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, stream);
    const std::size_t again = slow_link().again("peer", to_gpu, bytes) + slow_link().again("peer", from_gpu, bytes);
    return first != cudaSuccess || again == 0 ? first : __real_cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, again, stream);
}
}
