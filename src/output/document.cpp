#include "output/document.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "cell/tail_figures.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

template <typename T>
void optional_field(Json& json, const char* name, const std::optional<T>& content) {
    json.key(name);
    if (content)
        json.value(*content);
    else
        json.null();
}

void text_field(Json& json, const char* name, const std::string& content) {
    json.key(name);
    if (content.empty())
        json.null();
    else
        json.value(content);
}

void write_words(Json& json, const char* name, const std::vector<std::string>& words) {
    json.key(name).begin_array();
    for (const std::string& word : words) json.value(word);
    json.end_array();
}

void write_link(Json& json, const PcieLink& link) {
    json.begin_object().field("kind", "pcie");
    optional_field(json, "max_gen", link.gen);
    optional_field(json, "max_width", link.width);
    json.end_object();
}

void write_state(Json& json, const LinkState& link) {
    json.begin_object();
    optional_field(json, "gen", link.gen);
    optional_field(json, "width", link.width);
    json.end_object();
}

void write_gpu(Json& json, int index, const DocumentGpu& gpu) {
    json.begin_object().field("index", index).field("pci", gpu.on_bus.pci).field("visible", gpu.visible);
    json.field("on_bus", gpu.on_bus.on_bus);
    text_field(json, "uuid", gpu.management.uuid);
    text_field(json, "name", gpu.management.name);
    optional_field(json, "numa_node", gpu.on_bus.numa_node);
    optional_field(json, "package", gpu.on_bus.package);
    write_words(json, "uplinks", gpu.on_bus.uplinks);
    json.key("link");
    write_link(json, max_link_of(gpu.on_bus, gpu.management));
    optional_field(json, "nvlink_generation", gpu.management.nvlink_generation);
    optional_field(json, "nvlinks", gpu.management.nvlinks);
    optional_field(json, "memory", gpu.management.memory);
    optional_field(json, "mig", gpu.management.mig);
    optional_field(json, "ecc", gpu.management.ecc);
    json.end_object();
}

void write_peers(Json& json, const std::vector<DocumentGpu>& gpus) {
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        for (std::size_t b = a + 1; b < gpus.size(); ++b) {
            const int lanes = nvlinks_between(gpus[a].management, gpus[a].on_bus.pci, gpus[b].management, gpus[b].on_bus.pci);
            if (lanes == 0) continue;
            json.begin_object()
                .key("gpus")
                .begin_array()
                .value(static_cast<std::uint64_t>(a))
                .value(static_cast<std::uint64_t>(b));
            json.end_array().field("link", "NV" + std::to_string(lanes)).end_object();
        }
    }
}

// NVIDIA's Multi-Process Service, by the pipe that its control daemon listens on: it changes how processes share a GPU.
bool mps_is_running() {
    const char* directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    const std::string pipe = std::string(directory != nullptr ? directory : "/tmp/nvidia-mps") + "/control";
    return access(pipe.c_str(), F_OK) == 0;
}

void write_node(Json& json, const ProgramRun& run, const Node& node, const std::vector<DocumentGpu>& gpus) {
    json.begin_object().field("hostname", node.hostname);
    text_field(json, "product", node.product);
    json.key("packages").begin_array();
    for (const Package& package : node.packages)
        json.begin_object().field("index", package.index).field("cpus", cpu_list(package.cpus)).end_object();
    json.end_array().key("numa_nodes").begin_array();
    for (const NumaNode& numa : node.numa_nodes) {
        json.begin_object().field("index", numa.index);
        optional_field(json, "package", numa.package);
        json.field("cpus", cpu_list(numa.cpus)).field("memory", numa.memory);
        json.field("kind", numa.is_gpu_memory ? "gpu" : "host").end_object();
    }
    json.end_array().key("gpus").begin_array();
    for (std::size_t i = 0; i < gpus.size(); ++i) write_gpu(json, static_cast<int>(i), gpus[i]);
    json.end_array().key("peers").begin_array();
    write_peers(json, gpus);
    json.end_array().key("distances").begin_object().key("nodes").begin_array();
    for (const NumaNode& numa : node.numa_nodes) json.value(numa.index);
    json.end_array().key("values").begin_array();
    for (const NumaNode& from : node.numa_nodes) {
        json.begin_array();
        for (const NumaNode& to : node.numa_nodes) {
            const auto known = node.distances.find({from.index, to.index});
            if (known == node.distances.end())
                json.null();
            else
                json.value(known->second);
        }
        json.end_array();
    }
    json.end_array().end_object().key("allowed").begin_object().field("cpus", cpu_list(node.allowed_cpus));
    json.key("numa_nodes").begin_array();
    for (const NumaNode& numa : node.numa_nodes)
        if (numa.allowed) json.value(numa.index);
    json.end_array().end_object().key("software").begin_object();
    utsname system{};
    if (uname(&system) == 0) json.field("kernel", std::string(system.release));
    if (!run.driver.empty()) json.field("driver", run.driver);
    if (!run.cuda.empty()) json.field("cuda", run.cuda).field("mps", mps_is_running() ? "running" : "off");
    if (!run.mpi.empty()) json.field("mpi", run.mpi);
    for (const auto& [name, version] : run.libraries) json.field(name, version);
    std::string modes;
    for (const auto& [name, value] : run.tensor_modes) {
        if (!modes.empty()) modes += ' ';
        modes.append(name).append("=").append(value);
    }
    if (!modes.empty()) json.field("tensor_modes", modes);
    json.end_object().end_object();
}

void write_flow(Json& json, const FlowResult& flow, const char* unit) {
    json.begin_object().field("flow", flow.flow.text()).key("rate");
    write_rate(json, flow.rate, unit);
    if (flow.solo) {
        json.key("solo");
        write_rate(json, *flow.solo, unit);
    }
    if (flow.tasks) {
        json.key("tasks");
        write_rate(json, *flow.tasks, unit);
    }
    optional_field(json, "ceiling", flow.ceiling);
    if (flow.best) json.field("best", *flow.best);
    json.field("cpus", cpu_list(flow.cpus)).key("memory_nodes").begin_array();
    for (const int node : flow.memory_nodes) json.value(node);
    json.end_array();
    if (!flow.tried.empty()) {
        json.key("tried").begin_array();
        for (const TriedCpus& tried : flow.tried)
            json.begin_object().field("cpus", cpu_list(tried.cpus)).field("median", tried.median).end_object();
        json.end_array();
    }
    if (flow.link.gen || flow.link.width) {
        json.key("link");
        write_state(json, flow.link);
    }
    json.end_object();
}

void write_aggressors(Json& json, const std::vector<AggressorRate>& aggressors) {
    json.key("aggressors").begin_array();
    for (const AggressorRate& aggressor : aggressors) {
        json.begin_object().field("flow", aggressor.flow).key("rate");
        write_rate(json, aggressor.rate, "GB/s");
        json.end_object();
    }
    json.end_array();
}

// Nothing where nothing was compared. What is wrong is no result, but among the failed.
void write_verified(Json& json, const std::optional<Verified>& verified) {
    if (!verified) return;
    json.key("verified").begin_object().field("bytes", verified->bytes);
    if (verified->copies > 0) json.field("copies", verified->copies).field("seen", verified->seen);
    json.end_object();
}

// `at` is in seconds since the run began.
void write_visits(Json& json, const std::vector<Visit>& visits, double began) {
    json.key("visits").begin_array();
    for (const Visit& visit : visits) {
        json.begin_object().field("at", visit.begin - began).field("seconds", visit.end - visit.begin);
        json.field("n", static_cast<std::uint64_t>(visit.samples)).end_object();
    }
    json.end_array();
}

void write_tail(Json& json, const TailFigures& tail, const char* unit) {
    json.key("tail").begin_object().field("unit", unit).field("count", static_cast<std::uint64_t>(tail.count));
    json.field("p50", tail.p50).field("p99", tail.p99).field("p99_9", tail.p99_9).field("worst", tail.worst);
    json.field("worst_over_p50", tail.worst / tail.p50).field("worst_at", tail.worst_at);
    json.field("worst_visit", static_cast<std::uint64_t>(tail.worst_visit)).end_object();
}

void write_result(Json& json, const CellResult& result, double began) {
    json.begin_object().field("quantity", result.quantity).field("cell", result.cell.text());
    if (result.cell.aspect != Aspect::rates) json.field("aspect", aspect_word(result.cell.aspect));
    json.field("bytes", static_cast<std::uint64_t>(result.bytes)).field("method", result.method);
    if (!result.smaller.empty()) json.field("smaller", result.smaller);
    json.field("converged", result.converged);
    write_visits(json, result.visits, began);
    if (result.rejected > 0) json.field("rejected", static_cast<std::uint64_t>(result.rejected));
    write_verified(json, result.verified);
    json.field("seconds", result.seconds).field("verify_seconds", result.verify_seconds).key("flows").begin_array();
    for (const FlowResult& flow : result.flows) write_flow(json, flow, flow.unit != nullptr ? flow.unit : result.unit);
    json.end_array().key("total");
    write_rate(json, result.total, result.unit);
    if (result.slowest) write_tail(json, tail_figures(result, began), result.unit);
    if (!result.beside.empty()) write_words(json, "beside", result.beside);
    if (!result.aggressors.empty()) write_aggressors(json, result.aggressors);
    if (result.cut_short) {
        json.key("cut_short").begin_object().field("code", result.cut_short->code);
        json.field("reason", result.cut_short->reason).end_object();
    }
    if (result.remeasured) json.field("remeasured", true);
    json.end_object();
}

void write_part(Json& json, const PartResult& part, const char* unit) {
    json.begin_object().field("flow", part.name).key("rate");
    write_rate(json, part.rate, unit);
    if (!part.cpus.empty()) json.field("cpus", cpu_list(part.cpus));
    if (!part.memory_nodes.empty()) {
        json.key("memory_nodes").begin_array();
        for (const int node : part.memory_nodes) json.value(node);
        json.end_array();
    }
    json.end_object();
}

void write_subject(Json& json, const SubjectResult& result) {
    json.begin_object().field("quantity", result.quantity).field("cell", result.subject);
    if (result.bytes > 0) json.field("bytes", static_cast<std::uint64_t>(result.bytes));
    for (const auto& [name, content] : result.members) json.key(name).json(content);
    json.field("converged", result.converged);
    write_verified(json, result.verified);
    json.field("seconds", result.seconds).key("flows").begin_array();
    for (const PartResult& part : result.parts) write_part(json, part, result.unit);
    json.end_array();
    if (result.total) {
        json.key("total");
        write_rate(json, *result.total, result.unit);
    }
    json.end_object();
}

void write_under_load(Json& json, const GpuUnderLoad& gpu) {
    json.begin_object().field("index", gpu.gpu).key("link");
    write_state(json, gpu.link);
    write_words(json, "throttle", gpu.throttle);
    optional_field(json, "replays", gpu.replays);
    optional_field(json, "uncorrected_errors", gpu.uncorrected_errors);
    json.end_object();
}

void write_mpi(Json& json, const MpiFacts& mpi) {
    json.begin_object().field("library", mpi.library).key("ranks").begin_array();
    for (const RankFacts& rank : mpi.ranks) {
        json.begin_object().field("rank", rank.rank).field("host", rank.host).field("pid", rank.pid);
        json.field("cpus", rank.cpus);
        optional_field(json, "gpu", rank.gpu);
        optional_field(json, "numa_node", rank.numa_node);
        json.end_object();
    }
    json.end_array().end_object();
}

}  // namespace

void write_rate(Json& json, const Summary& rate, const char* unit) {
    json.begin_object().field("unit", unit);
    if (rate.plateau) {
        json.field("plateau", rate.plateau->value).key("interval").begin_array();
        json.value(rate.plateau->low).value(rate.plateau->high).end_array();
        json.field("steadiness", rate.plateau->steadiness);
    }
    json.field("median", rate.median).field("mad", rate.mad);
    json.key("ci").begin_array().value(rate.low).value(rate.high).end_array();
    json.field("min", rate.min).field("max", rate.max).field("n", static_cast<std::uint64_t>(rate.n()));
    json.key("samples").begin_array();
    for (const double sample : rate.samples) json.value(sample);
    json.end_array().end_object();
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
    json.begin_object().field("schema", "nearfar-measurement/2").field("kind", "measured").key("program").begin_object();
    json.field("name", run.name).field("version", NEARFAR_VERSION);
    write_words(json, "command", run.command);
    if (run.quick) json.field("quick", true);
    json.end_object().field("started", run.started).field("seconds", seconds);
    if (!run.aggressors.empty()) write_words(json, "aggressor", run.aggressors);
}

std::string node_json(const ProgramRun& run, const Node& node, const std::vector<DocumentGpu>& gpus) {
    Json json;
    write_node(json, run, node, gpus);
    return json.text();
}

std::string result_json(const CellResult& result, double began) {
    Json json;
    write_result(json, result, began);
    return json.text();
}

std::string result_json(const SubjectResult& result) {
    Json json;
    write_subject(json, result);
    return json.text();
}

std::string under_load_json(const GpuUnderLoad& gpu) {
    Json json;
    write_under_load(json, gpu);
    return json.text();
}

std::string curve_json(const SizeCurve& curve) {
    Json json;
    json.begin_object().field("cell", curve.cell).field("half_bandwidth_bytes", curve.half_bandwidth_bytes).end_object();
    return json.text();
}

std::string mpi_json(const MpiFacts& mpi) {
    Json json;
    write_mpi(json, mpi);
    return json.text();
}

}  // namespace nearfar
