#include "supervisor/machine_watch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "core/clock.h"
#include "node/proc_files.h"
#include "output/json.h"

namespace nearfar {
namespace {

double rounded(double number) { return std::round(number * 1e3) / 1e3; }

void write_use(Json& json, const MachineLook& look) {
    json.field("others", rounded(look.others)).field("own", rounded(look.own));
    if (look.steal) json.field("steal", rounded(*look.steal));
    if (look.iowait) json.field("iowait", rounded(*look.iowait));
    json.field_if("free_memory", look.free_memory);
}

void write_use(Json& json, const MachineSeen& seen) {
    json.objects("looks", seen.looks, [&](const MachineLook& look) { write_use(json.field("at", rounded(look.at)), look); });
    if (seen.mean) json.object("mean", [&] { write_use(json, *seen.mean); });
    json.objects("busiest", seen.busiest, [&](const BusyProcess& process) {
        json.field("pid", process.pid).field("command", process.command).field("user", process.user);
        json.field("cpus", rounded(process.cpus));
    });
    json.objects("memory", seen.memory, [&](const NumaMemory& memory) {
        json.field("numa_node", memory.numa_node).field("before", memory.before).field("after", memory.after);
    });
}

// "gpu": its number in the run, null where it has none.
void write_gpu(Json& json, const std::string& pci, const std::vector<std::string>& gpus) {
    const auto place = std::find(gpus.begin(), gpus.end(), pci);
    json.field("gpu", place == gpus.end() ? std::nullopt : std::optional(static_cast<std::uint64_t>(place - gpus.begin())));
    json.field("pci", pci);
}

struct OnGpu {
    GpuProcess process;
    bool before = false;
    bool after = false;
};

using OnGpus = std::map<std::pair<std::string, unsigned>, OnGpu>;  // by PCI address and process

// Processes of others. In a container those that came cannot be told from the run's own.
OnGpus on_gpus(const GpuLook& before, const GpuLook& after, const MachineUse& use) {
    OnGpus found;
    for (const SeenGpu& gpu : before.gpus)
        for (const GpuProcess& process : gpu.processes)
            if (!use.is_own(static_cast<pid_t>(process.pid))) found[{gpu.pci, process.pid}] = {process, true, false};
    for (const SeenGpu& gpu : after.gpus)
        for (const GpuProcess& process : gpu.processes) {
            const auto known = found.find({gpu.pci, process.pid});
            if (known != found.end())
                known->second.after = true;
            else if (!use.is_contained() && !use.is_own(static_cast<pid_t>(process.pid)))
                found[{gpu.pci, process.pid}] = {process, false, true};
        }
    return found;
}

void write_processes(Json& json, const OnGpus& processes, const std::vector<std::string>& gpus) {
    json.objects("gpu_processes", processes, [&](const auto& known) {
        const auto& [pci, pid] = known.first;
        const OnGpu& each = known.second;
        write_gpu(json, pci, gpus);
        json.field("pid", static_cast<std::uint64_t>(pid)).field("name", each.process.name);
        const std::string user = owner_of(pid);
        if (!user.empty()) json.field("user", user);
        json.field_if("memory", each.process.memory);
        json.field("when", each.before ? each.after ? "both" : "before" : "after");
    });
}

// All NVLinks of a GPU are one counter, with the links whose own has grown.
struct Counted {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::vector<int> links;
};

void write_counters(Json& json, const GpuLook& before, const GpuLook& after, const std::vector<std::string>& gpus) {
    std::map<std::tuple<std::string, std::string, std::optional<int>>, std::uint64_t> first;
    for (const SeenGpu& gpu : before.gpus)
        for (const LinkCounter& counter : gpu.counters) first[{gpu.pci, counter.name, counter.nvlink}] = counter.count;
    std::map<std::pair<std::string, std::string>, Counted> all;
    for (const SeenGpu& gpu : after.gpus)
        for (const LinkCounter& counter : gpu.counters) {
            const auto known = first.find({gpu.pci, counter.name, counter.nvlink});
            if (known == first.end()) continue;
            Counted& counted = all[{gpu.pci, counter.name}];
            counted.before += known->second;
            counted.after += counter.count;
            if (counter.nvlink && counter.count != known->second) counted.links.push_back(*counter.nvlink);
        }
    json.objects("counters", all, [&](const auto& known) {
        const Counted& counted = known.second;
        write_gpu(json, known.first.first, gpus);
        json.field("name", known.first.second).field("before", counted.before).field("after", counted.after);
        if (!counted.links.empty()) json.field("nvlinks", counted.links);
    });
}

}  // namespace

MachineWatch::MachineWatch(double begin, pid_t program, bool asks_driver, bool collective)
    : use_(begin, program), collective_(collective) {
    if (asks_driver) gpus_.emplace();
}

void MachineWatch::look(const Account& account) {
    const double time = now();
    if (!use_.is_due(time) || (collective_ && account.ranks().empty())) return;
    add_ranks(account);
    use_.look(time);
}

void MachineWatch::add_ranks(const Account& account) {
    for (const KnownRank& rank : account.ranks())
        if (rank.host == account.ranks().front().host) use_.add_own(rank.process);
}

std::string MachineWatch::end(const Account& account) {
    add_ranks(account);
    MachineSeen seen = use_.end(now());
    std::vector<NotSeen>& missing = seen.missing;
    if (collective_ && account.ranks().empty())
        missing.push_back({"looks", "the ranks of the run never said which processes they are"});
    GpuLook before{"the program uses no GPU", {}, false};
    GpuLook after = before;
    try {
        if (gpus_) std::tie(before, after) = gpus_->end();
    } catch (const std::invalid_argument& error) {
        before.trouble = error.what();
    }
    Json json;
    write_use(json.begin_object(), seen);
    write_processes(json, on_gpus(before, after, use_), account.gpus());
    write_counters(json, before, after, account.gpus());
    const std::string trouble = before.trouble.empty() ? after.trouble : before.trouble;
    if (!trouble.empty())
        missing.insert(missing.end(), {{"gpu_processes", trouble}, {"counters", trouble}});
    else if (!before.lists_processes)
        missing.push_back({"gpu_processes", "the driver does not list them"});
    else if (use_.is_contained())
        missing.push_back({"gpu_processes", "this is a container: those that came during the run cannot be told from its own"});
    json.objects("missing", missing, [&](const NotSeen& each) { json.field("what", each.what).field("why", each.why); });
    return json.end_object().text();
}

}  // namespace nearfar
