#include "copy/gpu_task.h"

#include <unistd.h>

#include <algorithm>

#include "copy/with_gpus.h"
#include "core/options.h"
#include "core/trouble.h"
#include "gpu/gpu_call.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "node/cpus.h"
#include "node/gpu_vendor.h"

extern char** environ;

namespace nearfar {
namespace {

bool begins_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

}  // namespace

GpuTask::GpuTask(const Node& node, const GpuSet& wanted)
    : node_(node), wanted_(wanted), gpus_(find_gpus_by_cuda(node)), peers_(gpus_) {}

void GpuTask::open() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "starting CUDA");
    open_gpus(gpus_, wanted_);
    for (const int gpu : wanted_) gpus_.at(static_cast<std::size_t>(gpu)).require();
}

void GpuTask::set_up(const Assignment& assignment) {
    routes_.clear();
    if (!buffers_ || buffers_->bytes() < assignment.bytes) buffers_.emplace(node_, gpus_, assignment.bytes);
    const Cell cell{{assignment.flow}};
    buffers_->plan(cell);
    buffers_->allocate_host();
    buffers_->allocate_device_and_register();
    peers_.arrange(cell);
    routes_ = plan_routes(assignment.flow, buffers_of(cell)[0], *buffers_, node_, gpus_, 1);
    bind_thread(routes_[0].cpus());
    probe_rate(routes_[0], 0);  // two copies: the window settles before it counts
    begin_chunks(routes_[0], assignment.chunk);
}

void GpuTask::move(const std::function<bool()>& stopped, const std::function<void(double)>& complete) {
    pump_chunks(routes_[0], stopped, complete);
}

Verified GpuTask::verify() { return routes_[0].verify(); }

std::vector<std::string> present_environment() {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
    return variables;
}

TaskCommand gpu_task_command(const GpuSet& wanted, const Node& node, const std::vector<GpuDevice>& gpus,
                             const std::vector<std::string>& environment) {
    std::vector<std::string> addresses;
    for (const GpuDevice& gpu : gpus) addresses.push_back(gpu.on_bus.pci);
    std::vector<std::string> uuids;
    std::vector<std::string> numbers;
    for (const int index : wanted) {
        numbers.push_back(std::to_string(index));
        const std::string& uuid = gpus.at(static_cast<std::size_t>(index)).management.uuid;
        if (!uuid.empty()) uuids.push_back(uuid);
    }
    const bool known = uuids.size() == wanted.size();
    const std::string visible_devices = std::string(gpu_vendor.visible_devices) + "=";
    const std::string connections = std::string(gpu_vendor.hardware_queues) + "=";
    bool connected = false;
    TaskCommand command;
    command.program = "/proc/self/exe";
    command.cpus = node.allowed_cpus;
    command.words = {"nearfar-copy", "--gpus=" + joined_list(addresses), "--as-task=" + joined_list(numbers)};
    for (const std::string& variable : environment) {
        if (known && begins_with(variable, visible_devices)) continue;
        connected = connected || begins_with(variable, connections);
        command.environment.push_back(variable);
    }
    if (known) command.environment.push_back(visible_devices + joined_list(uuids));
    // A task keeps one stream busy, and the driver makes connections one after the other.
    if (!connected) command.environment.push_back(connections + "1");
    return command;
}

void run_as_gpu_task(const std::vector<std::string>& pci_addresses, const GpuSet& wanted) {
    LineChannel program(STDIN_FILENO);
    const Message trouble = trouble_of([&] {
        end_with_program();
        const Node node = read_node(pci_addresses);
        GpuTask task(node, wanted);
        _exit(serve(program, task));  // the kernel takes everything down at once, faster than CUDA would piece by piece
    });
    program.send(trouble.line());
    _exit(1);
}

}  // namespace nearfar
