#include "supervisor/gpu_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/fields.h"
#include "supervisor/child.h"

namespace nearfar {

template <typename Visit>
void each_field(GpuProcess& process, Visit& visit) {
    visit(process.pid);
    visit(process.name);
    visit(process.memory);
}

template <typename Visit>
void each_field(LinkCounter& counter, Visit& visit) {
    visit(counter.name);
    visit(counter.nvlink);
    visit(counter.count);
}

template <typename Visit>
void each_field(SeenGpu& gpu, Visit& visit) {
    visit(gpu.pci);
    visit(gpu.processes);
    visit(gpu.counters);
}

template <typename Visit>
void each_field(GpuLook& look, Visit& visit) {
    visit(look.trouble);
    visit(look.gpus);
    visit(look.lists_processes);
}

namespace {

constexpr double patience = 1;  // seconds for an answer

// In the process that asks the driver.
void look(const Nvml& nvml, const LineChannel& channel) {
    GpuLook seen;
    if (!nvml.available()) seen.trouble = nvml.trouble();
    for (const std::string& pci : nvml.addresses()) {
        const auto processes = nvml.processes(pci);
        seen.lists_processes = seen.lists_processes || processes;
        seen.gpus.push_back({pci, processes.value_or(std::vector<GpuProcess>{}), nvml.link_counters(pci)});
    }
    channel.send(message_of("look", seen).line());
}

void answer(LineChannel& channel) {
    const Nvml nvml;
    look(nvml, channel);
    std::string line;
    while (channel.receive(line, -1) == Heard::line) look(nvml, channel);
}

}  // namespace

GpuWatch::GpuWatch() {
    process_ = start_child(channel_, [](LineChannel& channel) {
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);  // it ends with its parent
        try {
            answer(channel);
        } catch (const std::exception&) {
            _exit(1);
        }
    });
}

GpuWatch::~GpuWatch() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, WNOHANG);  // one that hangs in the driver stays
}

std::pair<GpuLook, GpuLook> GpuWatch::end() {
    if (process_ <= 0) {
        const GpuLook none{"no process could be started to ask the driver", {}, false};
        return {none, none};
    }
    GpuLook before = receive();
    if (!before.trouble.empty()) return {before, before};
    channel_->send("again");
    return {before, receive()};
}

GpuLook GpuWatch::receive() {
    std::string line;
    const Heard heard = channel_->receive(line, patience);
    if (heard == Heard::line) return value_in<GpuLook>(parse_message(line));
    return {heard == Heard::nothing ? "the driver does not answer" : "asking the driver ended the process that did", {}, false};
}

}  // namespace nearfar
