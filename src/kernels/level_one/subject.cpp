#include "kernels/level_one/subject.h"

#include <algorithm>

#include "core/error.h"
#include "core/options.h"
#include "kernels/problems/problem.h"

namespace nearfar {
namespace {

constexpr std::size_t most_digits = 4;

// The number behind a letter; nothing where it is none.
std::optional<int> numbered(const std::string& text, char letter) {
    if (text.size() < 2 || text.size() > 1 + most_digits || text[0] != letter) return {};
    if (text.find_first_not_of("0123456789", 1) != std::string::npos || (text[1] == '0' && text.size() > 2)) return {};
    return std::stoi(text.substr(1));
}

}  // namespace

std::string Subject::text() const {
    return (gpu ? "g" + std::to_string(*gpu) + "." : "") + "n" + std::to_string(numa_node) +
           (binding.empty() ? "" : "/" + binding);
}

SubjectWord parse_subject(const std::string& text, bool host_device) {
    SubjectWord word;
    const std::size_t slash = text.find('/');
    const std::string place = text.substr(0, slash);
    if (slash != std::string::npos) {
        word.kernel = text.substr(slash + 1);
        const std::vector<std::string>& known = kernel_names();
        if (std::find(known.begin(), known.end(), word.kernel) == known.end())
            throw WrongUse("'" + text + "': there is no kernel '" + word.kernel + "': " + joined_list(known));
    }
    const std::size_t dot = place.find('.');
    const std::optional<int> gpu = dot == std::string::npos ? std::nullopt : numbered(place.substr(0, dot), 'g');
    const std::optional<int> node = numbered(dot == std::string::npos ? place : place.substr(dot + 1), 'n');
    if (host_device && (!node || dot != std::string::npos))
        throw WrongUse("'" + text + "' is no subject of --device host: n1 is the cores and the memory of NUMA node 1");
    if (!host_device && (!node || !gpu))
        throw WrongUse("'" + text + "' is no subject: g0.n1 is GPU 0 with operands on NUMA node 1, g0.n1/sgemm one kernel there");
    word.subject.gpu = gpu;
    word.subject.numa_node = *node;
    return word;
}

int parse_gpu(const std::string& text) {
    const std::optional<int> gpu = numbered(text, 'g');
    if (!gpu) throw WrongUse("'" + text + "' is no GPU: --sustain loads g0, g1 …, or all");
    return *gpu;
}

std::vector<Subject> all_subjects(const Node& node, bool host_device) {
    std::vector<Subject> subjects;
    const std::size_t gpus = host_device ? 1 : node.gpus.size();
    for (std::size_t gpu = 0; gpu < gpus; ++gpu)
        for (const int numa_node : node.usable_memory())
            subjects.push_back({host_device ? std::nullopt : std::optional<int>(static_cast<int>(gpu)), numa_node, ""});
    return subjects;
}

std::vector<int> driving_cpus(const Node& node, const Subject& subject) {
    return subject.cpus.empty() ? node.driving_cpus(subject.numa_node) : subject.cpus;
}

std::string absent_part(const Subject& subject, const Node& node) {
    if (subject.gpu && static_cast<std::size_t>(*subject.gpu) >= node.gpus.size())
        return "'" + subject.text() + "': this node has " + std::to_string(node.gpus.size()) +
               (node.gpus.size() == 1 ? " GPU" : " GPUs");
    const NumaNode* const numa = node.numa_node(subject.numa_node);
    if (numa == nullptr || numa->is_gpu_memory)
        return "'" + subject.text() + "': this node has no host memory n" + std::to_string(subject.numa_node);
    return "";
}

}  // namespace nearfar
