// Flows of GPUs at the same time: each route keeps chunks queued on its stream until a shared stop.
#pragma once

#include <functional>
#include <vector>

#include "engine/checked_run.h"
#include "engine/engine.h"
#include "gpu/chunks.h"
#include "gpu/route.h"
#include "gpu/route_plan.h"

namespace nearfar {

// One thread of a windowed run: the route that it drives, the bytes of each chunk, and which of the cell's flows it serves. The
// route's destination is poisoned before and verified after.
Mover checked_mover(Route& route, std::size_t chunk, std::size_t flow);

// Poisons the route's destination and makes it a ring of chunks: pump_chunks() goes on with them.
void begin_chunks(Route& route, std::size_t chunk);

// Moves a series' chunks as a thread of an engine.
void move_chunks(QueuedSeries& series, FlowThread& thread);

// Keeps chunks of a series queued until `stopped`; `complete` gets the time on CLOCK_MONOTONIC of each, those that were under way
// at the stop included. The calling thread is the one that drives. `ready` is called once everything is aligned, before the start.
void pump_chunks(QueuedSeries& series, const std::function<bool()>& stopped, const std::function<void(double)>& complete,
                 const std::function<void()>& ready = nullptr);

// A route's rough rate in GB/s, probed or known from before.
using ProbedRate = std::function<double(const Route&)>;

// Routes over a flow's buffers (plan_routes), which are made larger first where they are too small for the rate and memory allows.
std::vector<Route> fitting_routes(const Flow& flow, const FlowBuffers& keys, Buffers& buffers, const Node& node,
                                  const std::vector<GpuDevice>& gpus, int threads, const ProbedRate& probed_rate);

// The rate of a route in GB/s from a few copies in a row: to choose its chunk, not to report.
double probe_rate(const Route& route, double seconds);

}  // namespace nearfar
