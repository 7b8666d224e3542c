// The notation of cells: flows that run at the same time. docs/reference/notation.md defines it, tests/vectors/cells.txt holds
// what this parser and the Python one must agree on.
#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nearfar {

enum class Place { numa_memory, gpu_memory, cores };

struct Endpoint {
    Place place;
    int index;  // the operating system's NUMA node number, or the GPU's position in PCI bus order
    bool operator==(const Endpoint& other) const { return place == other.place && index == other.index; }
    std::string text() const;
};

// The first four are STREAM's; the others are for GPUs alone. The last computes and moves nothing that is counted.
enum class Kernel { none, copy, scale, add, triad, dot, read, write, fill, gemm };

// How many of a NUMA node's cores run a STREAM flow.
enum class CoreShare { all, one, half, all_but_two, all_but_one };

// One stream of bytes. `driver` is set only where it differs from the default.
struct Flow {
    Endpoint source;
    Endpoint destination;
    std::optional<Endpoint> driver;
    Kernel kernel = Kernel::none;
    CoreShare cores = CoreShare::all;
    bool sm = false;
    bool staged = false;
    bool pageable = false;
    bool huge = false;
    int tasks = 1;
    bool threads = false;

    // Copies: between host memory and a GPU, from one GPU to another, within one GPU's memory.
    bool is_host_flow() const;
    bool is_peer_flow() const;
    bool is_local_flow() const;
    // Neither end of the copy is host memory.
    bool stays_on_gpus() const { return is_peer_flow() || is_local_flow(); }
    // Shared by independent processes, not by threads of this one.
    bool is_by_processes() const { return tasks > 1 && !threads; }
    // STREAM: by the cores of a NUMA node; by a GPU, on its own memory, another GPU's or the host's.
    bool is_stream_flow() const { return source.place == Place::cores; }
    bool is_gpu_stream_flow() const { return source.place == Place::gpu_memory && kernel != Kernel::none && !is_compute_flow(); }
    // Matrix products of a GPU: counted in GFLOP/s, and in no sum of rates.
    bool is_compute_flow() const { return kernel == Kernel::gemm; }
    // Bytes that a copy engine, a kernel of ours or the host moves from its source to its destination as they are.
    bool is_copy() const { return is_host_flow() || stays_on_gpus(); }
    bool to_gpu() const { return destination.place == Place::gpu_memory; }
    // The NUMA node of a host or stream flow's memory; the GPU of a host or local flow.
    int numa_node() const;
    int gpu() const;
    // The GPU whose engine moves the bytes: a host or local flow's own, a peer flow's source (a write) unless `@` says otherwise.
    int driving_gpu() const;
    // The canonical form: options in order, no driver where it is the default.
    std::string text() const;
    // The same flow by one task.
    Flow alone() const;
};

// What is measured of a cell: its rate at the usual size; the three latencies of its one flow; many transfers, each timed by itself; its
// rate at each of several sizes.
enum class Aspect { rates, latency, tail, sizes };
// "latency", "tail", "sizes"; of rates nothing.
std::string aspect_word(Aspect aspect);

struct Cell {
    std::vector<Flow> flows;
    Aspect aspect = Aspect::rates;
    int visits = 0;  // to it; 0: as the policy says
    std::string text() const;
    // What it is known by within a run: its text and, behind a blank, what is measured where that is not its rate.
    std::string key() const;
};

// Whether tasks share one of a cell's flows (/xK).
bool is_shared_by_tasks(const Cell& cell);

// The GPUs at the ends of a cell's flows.
std::set<int> gpus_of(const Cell& cell);
// Of all of them, ascending.
std::vector<int> gpus_of(const std::vector<Cell>& cells);

// A cell that does not follow the notation; `column` counts from 1.
struct CellError : std::runtime_error {
    CellError(std::string_view cell, std::size_t column, const std::string& problem);
    std::size_t column;
};

Cell parse_cell(std::string_view text);
// A cell's key() back. Throws CellError, also for a word that is no measure.
Cell parse_key(std::string_view key);

}  // namespace nearfar
