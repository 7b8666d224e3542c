#include "output/document.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "cell/tail_figures.h"
#include "node/cpus.h"
#include "node/gpu_vendor.h"

namespace nearfar {
namespace {

std::optional<std::string> unless_empty(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }

// NVIDIA's Multi-Process Service, by the pipe that its control daemon listens on: it changes how processes share a GPU.
bool mps_is_running() {
    const char* directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    const std::string pipe = std::string(directory != nullptr ? directory : "/tmp/nvidia-mps") + "/control";
    return access(pipe.c_str(), F_OK) == 0;
}

void write_gpu(Json& json, const DocumentGpu& gpu) {
    json.field("pci", gpu.on_bus.pci).field("visible", gpu.visible).field("on_bus", gpu.on_bus.on_bus);
    if (!gpu_vendor.is_nvidia) json.field("vendor", "amd");
    json.field("uuid", unless_empty(gpu.management.uuid)).field("name", unless_empty(gpu.management.name));
    json.field("numa_node", gpu.on_bus.numa_node).field("package", gpu.on_bus.package).field("uplinks", gpu.on_bus.uplinks);
    const PcieLink link = max_link_of(gpu.on_bus, gpu.management);
    json.object("link", [&] { json.field("kind", "pcie").field("max_gen", link.gen).field("max_width", link.width); });
    json.field("nvlink_generation", gpu.management.nvlink_generation).field("nvlinks", gpu.management.nvlinks);
    json.field("memory", gpu.management.memory).field("mig", gpu.management.mig).field("ecc", gpu.management.ecc);
}

void write_peers(Json& json, const std::vector<DocumentGpu>& gpus) {
    json.key("peers").begin_array();
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        for (std::size_t b = a + 1; b < gpus.size(); ++b) {
            const int lanes = nvlinks_between(gpus[a].management, gpus[a].on_bus.pci, gpus[b].management, gpus[b].on_bus.pci);
            if (lanes == 0) continue;
            json.object([&] { json.field("gpus", std::vector{a, b}).field("link", "NV" + std::to_string(lanes)); });
        }
    }
    json.end_array();
}

void write_distances(Json& json, const Node& node) {
    std::vector<int> nodes;
    std::vector<std::vector<std::optional<int>>> values;
    for (const NumaNode& from : node.numa_nodes) {
        nodes.push_back(from.index);
        values.emplace_back();
        for (const NumaNode& to : node.numa_nodes) values.back().push_back(node.distance(from.index, to.index));
    }
    json.object("distances", [&] { json.field("nodes", nodes).field("values", values); });
}

void write_software(Json& json, const ProgramRun& run) {
    utsname system{};
    if (uname(&system) == 0) json.field("kernel", system.release);
    if (!run.driver.empty()) json.field("driver", run.driver);
    if (!run.cuda.empty()) json.field(gpu_vendor.runtime_key, run.cuda);
    if (!run.cuda.empty() && gpu_vendor.is_nvidia) json.field("mps", mps_is_running() ? "running" : "off");
    if (!run.mpi.empty()) json.field("mpi", run.mpi);
    for (const auto& [name, version] : run.libraries) json.field(name, version);
    std::string modes;
    for (const auto& [name, value] : run.tensor_modes) {
        if (!modes.empty()) modes += ' ';
        modes.append(name).append("=").append(value);
    }
    if (!modes.empty()) json.field("tensor_modes", modes);
}

void write_flow(Json& json, const FlowResult& flow, const char* unit) {
    const bool is_part = !flow.name.empty();
    write_rate(json.field("flow", is_part ? flow.name : flow.flow.text()).key("rate"), flow.rate, unit);
    if (flow.solo) write_rate(json.key("solo"), *flow.solo, unit);
    if (flow.tasks) write_rate(json.key("tasks"), *flow.tasks, unit);
    if (!is_part) json.field("ceiling", flow.ceiling).field_if("best", flow.best);
    if (!is_part || !flow.cpus.empty()) json.field("cpus", cpu_list(flow.cpus));
    if (!is_part || !flow.memory_nodes.empty()) json.field("memory_nodes", flow.memory_nodes);
    if (!flow.tried.empty())
        json.objects("tried", flow.tried,
                     [&](const TriedCpus& tried) { json.field("cpus", cpu_list(tried.cpus)).field("median", tried.median); });
    if (flow.link.gen || flow.link.width)
        json.object("link", [&] { json.field("gen", flow.link.gen).field("width", flow.link.width); });
}

// Nothing where nothing was compared. What is wrong is no result, but among the failed.
void write_verified(Json& json, const std::optional<Verified>& verified) {
    if (!verified) return;
    json.object("verified", [&] {
        json.field("bytes", verified->bytes);
        if (verified->copies > 0) json.field("copies", verified->copies).field("seen", verified->seen);
    });
}

void write_tail(Json& json, const TailFigures& tail, const char* unit) {
    json.object("tail", [&] {
        json.field("unit", unit).field("count", tail.count);
        json.field("p50", tail.p50).field("p99", tail.p99).field("p99_9", tail.p99_9).field("worst", tail.worst);
        json.field("worst_over_p50", tail.worst / tail.p50).field("worst_at", tail.worst_at);
        json.field("worst_visit", tail.worst_visit);
    });
}

}  // namespace

void write_rate(Json& json, const Summary& rate, const char* unit) {
    json.begin_object().field("unit", unit);
    if (rate.plateau)
        json.field("plateau", rate.plateau->value)
            .field("interval", std::vector{rate.plateau->low, rate.plateau->high})
            .field("steadiness", rate.plateau->steadiness);
    json.field("median", rate.median).field("mad", rate.mad).field("ci", std::vector{rate.low, rate.high});
    json.field("min", rate.min).field("max", rate.max).field("n", rate.n()).field("samples", rate.samples).end_object();
}

std::string utc_now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

void begin_document(Json& json, const ProgramRun& run, double seconds) {
    json.begin_object().field("schema", "nearfar-measurement/2").field("kind", "measured");
    json.object("program", [&] {
        json.field("name", run.name).field("version", NEARFAR_VERSION).field("command", run.command);
        if (run.quick) json.field("quick", true);
    });
    json.field("started", run.started).field("seconds", seconds);
    if (!run.aggressors.empty()) json.field("aggressor", run.aggressors);
}

std::string node_json(const ProgramRun& run, const Node& node, const std::vector<DocumentGpu>& gpus) {
    Json json;
    json.begin_object().field("hostname", node.hostname).field("product", unless_empty(node.product));
    json.objects("packages", node.packages,
                 [&](const Package& package) { json.field("index", package.index).field("cpus", cpu_list(package.cpus)); });
    std::vector<int> allowed;
    json.objects("numa_nodes", node.numa_nodes, [&](const NumaNode& numa) {
        json.field("index", numa.index).field("package", numa.package).field("cpus", cpu_list(numa.cpus));
        json.field("memory", numa.memory).field("kind", numa.is_gpu_memory ? "gpu" : "host");
        if (numa.allowed) allowed.push_back(numa.index);
    });
    int index = 0;
    json.objects("gpus", gpus, [&](const DocumentGpu& gpu) { write_gpu(json.field("index", index++), gpu); });
    write_peers(json, gpus);
    write_distances(json, node);
    json.object("allowed", [&] { json.field("cpus", cpu_list(node.allowed_cpus)).field("numa_nodes", allowed); });
    return json.object("software", [&] { write_software(json, run); }).end_object().text();
}

std::string result_json(const CellResult& result, double began) {
    Json json;
    const bool is_cell = result.subject.empty();
    json.begin_object().field("quantity", result.quantity).field("cell", is_cell ? result.cell.text() : result.subject);
    if (result.cell.aspect != Aspect::rates) json.field("aspect", aspect_word(result.cell.aspect));
    if (is_cell || result.bytes > 0) json.field("bytes", result.bytes);
    if (is_cell) json.field("method", result.method);
    if (!result.smaller.empty()) json.field("smaller", result.smaller);
    for (const auto& [name, content] : result.members) json.key(name).json(content);
    json.field("converged", result.converged);
    if (is_cell)
        json.objects("visits", result.visits, [&](const Visit& visit) {
            json.field("at", visit.begin - began).field("seconds", visit.end - visit.begin).field("n", visit.samples);
        });
    if (result.rejected > 0) json.field("rejected", result.rejected);
    write_verified(json, result.verified);
    json.field("seconds", result.seconds);
    if (is_cell) json.field("verify_seconds", result.verify_seconds);
    json.objects("flows", result.flows,
                 [&](const FlowResult& flow) { write_flow(json, flow, flow.unit != nullptr ? flow.unit : result.unit); });
    if (is_cell) write_rate(json.key("total"), result.total, result.unit);
    if (result.slowest) write_tail(json, tail_figures(result, began), result.unit);
    if (!result.beside.empty()) json.field("beside", result.beside);
    if (!result.aggressors.empty())
        json.objects("aggressors", result.aggressors, [&](const AggressorRate& aggressor) {
            write_rate(json.field("flow", aggressor.flow).key("rate"), aggressor.rate, "GB/s");
        });
    if (result.cut_short)
        json.object("cut_short", [&] { json.field("code", result.cut_short->code).field("reason", result.cut_short->reason); });
    if (result.remeasured) json.field("remeasured", true);
    return json.end_object().text();
}

std::string under_load_json(const GpuUnderLoad& gpu) {
    Json json;
    json.begin_object().field("index", gpu.gpu);
    json.object("link", [&] { json.field("gen", gpu.link.gen).field("width", gpu.link.width); });
    json.field("throttle", gpu.throttle).field("replays", gpu.replays);
    return json.field("uncorrected_errors", gpu.uncorrected_errors).end_object().text();
}

std::string curve_json(const SizeCurve& curve) {
    Json json;
    return json.object([&] { json.field("cell", curve.cell).field("half_bandwidth_bytes", curve.half_bandwidth_bytes); }).text();
}

std::string mpi_json(const MpiFacts& mpi) {
    Json json;
    json.begin_object().field("library", mpi.library).objects("ranks", mpi.ranks, [&](const RankFacts& rank) {
        json.field("rank", rank.rank).field("host", rank.host).field("pid", rank.pid).field("cpus", rank.cpus);
        json.field("gpu", rank.gpu).field("numa_node", rank.numa_node);
    });
    return json.end_object().text();
}

}  // namespace nearfar
