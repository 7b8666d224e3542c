// What the program nearfar-kernels measures on: "g0.n1", GPU 0 computes and operands lie on NUMA node 1; "n1", that node's cores compute.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/node.h"

namespace nearfar {

struct Subject {
    std::optional<int> gpu;  // nothing: the cores of the NUMA node
    int numa_node = 0;
    std::string binding{};    // behind it, of ranks: "right"
    std::vector<int> cpus{};  // of the driving thread; none: all that are near the NUMA node

    std::string text() const;
    bool operator==(const Subject& other) const {
        return gpu == other.gpu && numa_node == other.numa_node && binding == other.binding;
    }
};

// A subject, and the kernel behind it; empty: all kernels.
struct SubjectWord {
    Subject subject;
    std::string kernel;
};

// "g0.n1" or "g0.n1/sgemm", on the host "n1" or "n1/triad". Throws WrongUse.
SubjectWord parse_subject(const std::string& text, bool host_device);

// "g0" as 0. Throws WrongUse.
int parse_gpu(const std::string& text);

// Every GPU, or the cores, with every NUMA node that has memory for this process.
std::vector<Subject> all_subjects(const Node& node, bool host_device);

// The cores of the thread that drives it.
std::vector<int> driving_cpus(const Node& node, const Subject& subject);

// Which GPU or NUMA node of it this machine does not have, in words; empty: it has both.
std::string absent_part(const Subject& subject, const Node& node);

}  // namespace nearfar
