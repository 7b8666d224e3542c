#include "supervisor/gpu_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "core/clock.h"
#include "core/message.h"
#include "supervisor/child.h"

namespace nearfar {
namespace {

constexpr double patience = 1;  // seconds for an answer

// In the process that asks the driver.
void look(const Nvml& nvml, const LineChannel& channel) {
    const auto say = [&](const Message& message) { channel.send(message.line()); };
    if (!nvml.available()) say({"trouble", {nvml.trouble()}});
    for (const std::string& pci : nvml.addresses()) {
        const auto processes = nvml.processes(pci);
        if (processes) say({"lists", {}});
        for (const GpuProcess& process : processes.value_or(std::vector<GpuProcess>{}))
            say({"process",
                 {pci, std::to_string(process.pid), process.name, process.memory ? std::to_string(*process.memory) : ""}});
        for (const LinkCounter& counter : nvml.link_counters(pci))
            say({"counter", {pci, counter.name, std::to_string(counter.nvlink.value_or(-1)), std::to_string(counter.count)}});
    }
    say({"end", {}});
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
        const GpuLook none{"no process could be started to ask the driver", {}, {}, false};
        return {none, none};
    }
    GpuLook before = receive();
    if (!before.trouble.empty()) return {before, before};
    channel_->send("again");
    return {before, receive()};
}

GpuLook GpuWatch::receive() {
    GpuLook found;
    std::string line;
    for (const double end = now() + patience;;) {
        const Heard heard = channel_->receive(line, std::max(0.0, end - now()));
        if (heard != Heard::line) {
            found.trouble =
                heard == Heard::nothing ? "the driver does not answer" : "asking the driver ended the process that did";
            return found;
        }
        const Message message = parse_message(line);
        if (message.word == "end") return found;
        if (message.word == "trouble") found.trouble = message.field(0);
        if (message.word == "lists") found.lists_processes = true;
        if (message.word == "process") {
            GpuProcess process{static_cast<unsigned>(message.count(1)), message.field(2), {}};
            if (!message.field(3).empty()) process.memory = message.count(3);
            found.processes.emplace_back(message.field(0), process);
        }
        if (message.word == "counter") {
            LinkCounter counter{message.field(1), {}, message.count(3)};
            if (message.field(2) != "-1") counter.nvlink = static_cast<int>(message.count(2));
            found.counters.emplace_back(message.field(0), counter);
        }
    }
}

}  // namespace nearfar
