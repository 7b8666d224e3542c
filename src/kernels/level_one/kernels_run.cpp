// nearfar-kernels without ranks: one process measures all subjects.
#include <algorithm>
#include <cstdio>

#include "core/clock.h"
#include "core/interrupt.h"
#include "kernels/level_one/kernels_bench.h"
#include "kernels/problems/gemm.h"

namespace nearfar {
namespace {

// Those that a process that ended before has not answered.
std::vector<KernelTask> left_of(const std::vector<KernelTask>& tasks, const std::vector<std::string>& unanswered) {
    std::vector<KernelTask> left;
    for (const KernelTask& task : tasks)
        if (std::find(unanswered.begin(), unanswered.end(), task.text()) != unanswered.end()) left.push_back(task);
    return left;
}

}  // namespace

void run_kernels(const KernelsOptions& options, ProgramRun run, Teller& teller, const Rest* rest, double gone) {
    catch_interrupts();
    const double begin = now();
    KernelsOptions asked = options;
    if (options.budget > 0) asked.budget = std::max(options.budget - gone, 1e-3);
    const Node node = read_node(rest != nullptr ? rest->gpus : options.gpus);
    std::vector<NotMeasured> absent;
    std::vector<KernelTask> tasks = tasks_of(wanted_kernels(options, node, absent), options.sizes);
    std::vector<std::string> texts;
    for (const KernelTask& task : tasks) texts.push_back(task.text());
    if (rest != nullptr) tasks = left_of(tasks, rest->cells);
    run.tensor_modes = tensor_modes();
    teller.node(run, node);
    teller.subjects(texts, kernels_heading());
    if (rest == nullptr)
        for (const NotMeasured& why : absent) teller.failed(why);
    if (tasks.empty() && !absent.empty()) return;
    if (tasks.empty())
        return teller.skipped({"", "missing_library", "this node has no NVIDIA GPU on its PCI bus; --device host needs none"});
    const std::unique_ptr<KernelPlaces> places =
        options.host_device ? host_places(node) : gpu_places(node, options.even_if_busy, options.rate_only);
    run.driver = places->driver();
    teller.node(run, node, places->gpus());
    const double found = now();
    KernelsBench bench(asked, *places, tasks, teller);
    if (rest != nullptr) bench.measure_each_alone();
    teller.setup_seconds({{"driver", found - begin}, {"contexts", now() - found}});
    if (bench.measure()) teller.interrupted();
    run.libraries = places->libraries();
    teller.node(run, node, places->gpus());
    teller.under_way(0, 0, options.hang_seconds, "tear-down");
}

int list_kernels(const KernelsOptions& options) {
    const Node node = read_node(options.gpus);
    std::vector<NotMeasured> absent;
    for (const SubjectKernels& each : wanted_kernels(options, node, absent))
        for (const std::string& kernel : each.kernels) std::printf("%s/%s\n", each.subject.text().c_str(), kernel.c_str());
    if (node.gpus.empty() && !options.host_device)
        std::fprintf(stderr, "nearfar-kernels: this node has no NVIDIA GPU on its PCI bus: nothing to list\n");
    return 0;
}

}  // namespace nearfar
