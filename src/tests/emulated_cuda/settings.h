// What EMULATED_CUDA says: the GPUs that are emulated, and what goes wrong with them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emulated_cuda {

// What happens at the `count`th call of `call` in a process.
struct Fault {
    enum class Kind {
        error,       // the call does nothing and answers `error`
        hang,        // the call never returns
        abort,       // the process aborts in the call
        kill,        // the process is killed in the call
        lose,        // the call's GPU is lost: `error` is the answer to this call and to each later one
        lose_later,  // the same once the stream has come to what the call queues
        slow,        // what the call queues takes `error` times as long
        stall        // the call returns, but its stream never gets past it
    };
    std::string call;           // "cudaMemcpyAsync", a kernel ("latch"), or "*" for every call
    std::optional<int> device;  // counts calls of this GPU alone
    unsigned long count = 1;    // from 1 on; 0: every call
    Kind kind = Kind::error;
    int error = 0;
};

struct Settings {
    int gpus = 1;
    std::size_t memory = std::size_t{1} << 30;  // bytes of each GPU
    double to_gpu = 1e9;                        // bytes a second
    double to_host = 1e9;
    double peer = 2e9;
    std::map<std::pair<int, int>, double> slow;  // bytes a second from one GPU to another, in the place of `peer`
    double load_seconds = 1e-6;                  // of a dependent load by a kernel
    double start_seconds = 2e-6;                 // of each copy and kernel
    double clock_drift = 0;                      // how much faster than CLOCK_MONOTONIC the GPUs' clocks go
    bool peer_access = true;
    bool process_is_lost = false;         // with one GPU the whole process is lost
    int count_error = 0;                  // of cudaGetDeviceCount
    std::optional<int> refusing;          // this GPU gets no context ...
    int refusal = 46;                     // ... for this reason (cudaErrorDevicesUnavailable)
    int nvlinks = 0;                      // of each GPU to a switch, as NVML tells
    int other_processes = 0;              // on each GPU, as NVML tells
    std::size_t most_gpus = 64;           // a process gets no context on more than so many
    int mps_clients = -1;                 // of the Multi-Process Service's server on each GPU, as NVML tells; -1: it does not run
    std::optional<int> hot;               // this GPU is too hot and holds its clocks down, as NVML tells
    bool confidential = false;            // confidential computing, as NVML tells
    std::vector<int> missing;             // on the PCI bus, and not in CUDA
    unsigned long leave_out = 0;          // this copy of the process is not done; 0: none
    unsigned long leave_out_latched = 0;  // counted from the first latch on: a probe may copy any number of times before it
    unsigned long leave_out_each = 0;     // every copy of such a number is not done
    std::optional<std::size_t> wrong;     // copies over more bytes than this write a wrong one here
    std::optional<std::size_t> wrong_product;  // matrix products have a wrong element here ...
    double wrong_by = 1000;                    // ... by so much ...
    unsigned long wrong_only = 0;              // ... in this product of the process alone; 0: in all
    std::vector<Fault> faults;
    std::string once;   // faults happen only to the process that creates this file
    std::string in;     // "program" or "task": faults happen only there
    std::string calls;  // a file for each process, CALLS.PID, lists its calls
};

// Of the environment; read once. Ends the process with one line where it says what is unknown.
const Settings& settings();

// "0000:10:00.0"
std::string pci_address(int gpu);
std::string uuid(int gpu);

}  // namespace emulated_cuda
