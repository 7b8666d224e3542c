#include "gpu/peer_access.h"

#include "core/error.h"
#include "gpu/gpu_call.h"

namespace nearfar {
namespace {

// The pair that drives: from the driving GPU to the other.
std::pair<int, int> driving_pair(const Flow& flow) {
    const int driver = flow.driving_gpu();
    return {driver, driver == flow.source.index ? flow.destination.index : flow.source.index};
}

}  // namespace

PeerAccess::~PeerAccess() {
    for (const Pair& pair : given_)
        if (cudaSetDevice(gpu(pair.first).ordinal) == cudaSuccess) cudaDeviceDisablePeerAccess(gpu(pair.second).ordinal);
}

void PeerAccess::arrange(const Cell& cell) {
    std::set<Pair> needed;
    std::set<Pair> staged;
    for (const Flow& flow : cell.flows) {
        if (flow.is_gpu_stream_flow() && flow.to_gpu() && !(flow.source == flow.destination))
            needed.insert({flow.source.index, flow.destination.index});
        if (!flow.is_peer_flow()) continue;
        if (!flow.staged) {
            needed.insert(driving_pair(flow));
            continue;
        }
        staged.insert({flow.source.index, flow.destination.index});
        staged.insert({flow.destination.index, flow.source.index});
    }
    for (const Pair& pair : needed)
        if (staged.count(pair) != 0)
            throw Prevented("unsupported", "peer access between g" + std::to_string(pair.first) + " and g" +
                                               std::to_string(pair.second) + " cannot be on and off in one cell");
    for (const Pair& pair : staged) take(pair);
    for (const Pair& pair : needed) give(pair);
}

void PeerAccess::give(Pair pair) {
    if (given_.count(pair) != 0) return;
    const GpuDevice& from = gpu(pair.first);
    const GpuDevice& to = gpu(pair.second);
    from.require();
    to.require();
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, from.ordinal, to.ordinal), "cudaDeviceCanAccessPeer");
    if (possible == 0)
        throw Prevented("unsupported", from.name() + " cannot access " + to.name() + "'s memory: no peer access between " +
                                           from.on_bus.pci + " and " + to.on_bus.pci);
    check(cudaSetDevice(from.ordinal), "cudaSetDevice");
    const cudaError_t result = cudaDeviceEnablePeerAccess(to.ordinal, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // remembered otherwise, and blamed on the next launch
    } else if (result == cudaErrorTooManyPeers) {
        cudaGetLastError();
        throw Prevented("unsupported", from.name() + " has as many peers as it can map, " + to.name() + " is one more");
    } else {
        check(result, "cudaDeviceEnablePeerAccess");
    }
    given_.insert(pair);
}

void PeerAccess::take(Pair pair) {
    if (given_.erase(pair) == 0) return;
    check(cudaSetDevice(gpu(pair.first).ordinal), "cudaSetDevice");
    check(cudaDeviceDisablePeerAccess(gpu(pair.second).ordinal), "cudaDeviceDisablePeerAccess");
}

}  // namespace nearfar
