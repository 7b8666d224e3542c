// Flows of GPUs at the same time: each route keeps chunks queued on its stream until a shared stop.
#pragma once

#include <functional>
#include <vector>

#include "cell/measure.h"
#include "engine/checked_run.h"
#include "engine/together.h"
#include "gpu/route.h"

namespace nearfar {

// One thread of a windowed run: the route that it drives, the bytes of each chunk, and which of the cell's flows it serves. The
// route's destination is poisoned before and verified after.
Mover checked_mover(Route& route, std::size_t chunk, std::size_t flow);

// Poisons the route's destination and makes it a ring of chunks: pump_chunks() goes on with them.
void begin_chunks(Route& route, std::size_t chunk);

// Keeps chunks of a route queued until `stopped`; `complete` gets the time on CLOCK_MONOTONIC of each, those that were under way
// at the stop included. The calling thread is the one that drives. `ready` is called once everything is aligned, before the start.
void pump_chunks(Route& route, const std::function<bool()>& stopped, const std::function<void(double)>& complete,
                 const std::function<void()>& ready = nullptr);

// How long a chunk lasts alone. Of each copy about 14 us are its start-up: 1 % of a short one, which other GPUs' flows fill; where
// one GPU is alone with the bus nobody does, and chunks are long.
enum class ChunkLength { short_one, long_one };
ChunkLength chunk_length(const Cell& cell);

// The chunk that lasts about 1.3 ms (short) or 4.8 ms (long) at a rate in GB/s: at least 1 MiB, at most the buffer; several to a
// buffer where they are no larger than 64 MiB each.
std::size_t chunk_for(double rate, std::size_t buffer, ChunkLength length);

// The rate of a route in GB/s from a few copies in a row: to choose its chunk, not to report.
double probe_rate(const Route& route, double seconds);

}  // namespace nearfar
