#include "mpi/contention/data_mover.h"

namespace nearfar {
namespace {

constexpr std::size_t least_chunks = 4;  // with fewer in a window a flow is starved

void poll(FlowThread& thread) {
    thread.start();
    while (!thread.stopped()) continue;
}

std::vector<FlowWork> work_of(DataMover& mover, const std::vector<std::vector<int>>& cpus, bool polling) {
    if (!polling) mover.poison();
    std::vector<FlowWork> work;
    for (std::size_t flow = 0; flow < mover.cell().flows.size(); ++flow) {
        const auto move = [&mover, flow](FlowThread& thread) { mover.move(flow, thread); };
        work.push_back({polling ? std::function<void(FlowThread&)>(poll) : move, mover.chunk(flow), flow, cpus[flow]});
    }
    return work;
}

}  // namespace

MovingPhase::MovingPhase(DataMover& mover, const std::vector<std::vector<int>>& cpus, bool polling)
    : mover_(mover), polling_(polling), engine_(work_of(mover, cpus, polling)) {
    engine_.await_ready();
}

void MovingPhase::begin(const AgreedWindow& window) {
    window_ = window;
    engine_.begin(window.start, window.stop);
}

std::vector<MovedFlow> MovingPhase::finish() {
    engine_.join();
    engine_.require();
    if (polling_) return std::vector<MovedFlow>(engine_.threads().size());
    mover_.verify();
    std::vector<MovedFlow> flows;
    for (const CompletionLog& log : engine_.logs())
        flows.push_back({log.rate(window_.open, window_.close), log.count(window_.open, window_.close) < least_chunks});
    return flows;
}

}  // namespace nearfar
