#include "flow/task_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <utility>

#include "flow/cpus.h"
#include "flow/error.h"
#include "flow/gpu_device.h"
#include "flow/peer_access.h"
#include "flow/route_plan.h"
#include "flow/windowed.h"

extern char** environ;

// The child writes lines ("ready CPUS", "prevented CODE REASON", "failure CODE REASON"), then, once it has read 'g', the time of
// each completion as a double, a NaN once it has read 's' and its queue is empty, and last a line with the verification's answer.

namespace nearfar {
namespace {

constexpr std::size_t least_task_buffer = std::size_t{16} << 20;
constexpr char go = 'g';
constexpr char halt = 's';

void write_all(int file, const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written = write(file, at, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw Failure("error", "a task's pipe broke");
        at += written;
        bytes -= static_cast<std::size_t>(written);
    }
}

bool read_all(int file, void* data, std::size_t bytes) {
    char* at = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = read(file, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool has_input(int file) {
    pollfd poller{file, POLLIN, 0};
    return poll(&poller, 1, 0) > 0;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
}

std::vector<std::string> addresses(const std::vector<GpuDevice>& gpus) {
    std::vector<std::string> found;
    for (const GpuDevice& gpu : gpus) found.push_back(gpu.on_bus.pci);
    return found;
}

// This process's own environment, with the flow's GPUs as the only visible ones where their UUIDs are known.
std::vector<std::string> environment_of(const Flow& flow, const std::vector<GpuDevice>& gpus) {
    const std::string visible = "CUDA_VISIBLE_DEVICES=";
    std::vector<std::string> uuids;
    bool known = true;
    for (const Endpoint& end : {flow.source, flow.destination}) {
        if (end.place != Place::gpu_memory) continue;
        uuids.push_back(gpus[static_cast<std::size_t>(end.index)].management.uuid);
        known = known && !uuids.back().empty();
    }
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (!known || std::string(*variable).rfind(visible, 0) != 0) variables.emplace_back(*variable);
    if (known) variables.push_back(visible + joined(uuids));
    return variables;
}

void say(const std::string& line) { write_all(STDOUT_FILENO, (line + "\n").data(), line.size() + 1); }

// Moves chunks between 'g' and 's' on standard input, through the same code as a thread of a windowed run.
void move_until_told(const Route& route, std::size_t chunk) {
    char word = 0;
    if (!read_all(STDIN_FILENO, &word, 1) || word != go) return;
    std::size_t moved = 0;
    pump_chunks(
        route, chunk, [] { return has_input(STDIN_FILENO); },
        [&](double time) {
            moved += chunk;
            write_all(STDOUT_FILENO, &time, sizeof time);
        });
    const double end = NAN;
    write_all(STDOUT_FILENO, &end, sizeof end);
    route.verify(std::min(route.bytes() / chunk * chunk, moved));
}

}  // namespace

std::size_t task_buffer_bytes(int tasks) { return std::max(least_task_buffer, buffer_bytes / static_cast<std::size_t>(tasks)); }

TaskProcess::TaskProcess(const Flow& flow, std::size_t chunk, const std::vector<GpuDevice>& gpus) : chunk_(chunk) {
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) throw Failure("error", "no pipe for a task");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    std::vector<std::string> words{"nearfar-copy", flow.text(), "--gpus=" + joined(addresses(gpus)),
                                   "--as-task=" + std::to_string(chunk)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<std::string> variables = environment_of(flow, gpus);
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    const int result = posix_spawn(&child_, "/proc/self/exe", &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    to_child_ = input[1];
    from_child_ = output[0];
    if (result == 0) return;
    close(to_child_);
    close(from_child_);
    throw Failure("error", std::string("a task cannot be started: ") + std::strerror(result));
}

TaskProcess::TaskProcess(TaskProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)), to_child_(std::exchange(other.to_child_, -1)),
      from_child_(std::exchange(other.from_child_, -1)), chunk_(other.chunk_), cpus_(std::move(other.cpus_)) {}

TaskProcess::~TaskProcess() {
    if (to_child_ >= 0) close(to_child_);
    if (from_child_ >= 0) close(from_child_);
    if (child_ <= 0) return;
    int status = 0;
    for (int i = 0; i < 200 && waitpid(child_, &status, WNOHANG) == 0; ++i) usleep(10000);
    if (waitpid(child_, &status, WNOHANG) == 0) {
        kill(child_, SIGKILL);
        waitpid(child_, &status, 0);
    }
}

std::string TaskProcess::read_line() const {
    std::string line;
    for (char c = 0; read_all(from_child_, &c, 1) && c != '\n';) line += c;
    return line;
}

void TaskProcess::rethrow(const std::string& line) const {
    std::istringstream words(line);
    std::string kind;
    std::string code;
    std::string reason;
    words >> kind >> code;
    std::getline(words >> std::ws, reason);
    if (kind == "prevented") throw Prevented(code, "a task: " + reason);
    if (kind == "failure") throw Failure(code, "a task: " + reason);
    throw Failure("error", "a task ended before it was ready");
}

void TaskProcess::await_ready() {
    const std::string line = read_line();
    if (line.rfind("ready ", 0) != 0) rethrow(line);
    cpus_ = line.substr(6);
}

void TaskProcess::run(TogetherTask& task) {
    task.start();
    write_all(to_child_, &go, 1);
    bool halted = false;
    while (true) {
        pollfd poller{from_child_, POLLIN, 0};
        const bool ready = poll(&poller, 1, 20) > 0;
        if (!halted && task.stopped()) {
            write_all(to_child_, &halt, 1);
            halted = true;
        }
        if (!ready) continue;
        double time = 0;
        if (!read_all(from_child_, &time, sizeof time)) throw Failure("error", "a task ended while it was measured");
        if (std::isnan(time)) break;
        if (halted)
            task.drained();
        else
            task.complete(time);
    }
    const std::string answer = read_line();
    if (answer != "verified") rethrow(answer);
}

int run_as_task(const Node& node, const Nvml& nvml, const Flow& flow, std::size_t chunk) {
    try {
        std::vector<GpuDevice> gpus = find_gpus(node, nvml, start_cuda(1), true);
        const Cell cell{{flow.alone()}};
        const Flow& one = cell.flows[0];
        require_gpus(one, gpus);
        std::vector<int> wanted;
        for (const Endpoint& end : {one.source, one.destination})
            if (end.place == Place::gpu_memory) wanted.push_back(end.index);
        open_gpus(gpus, wanted);
        PeerAccess peers(gpus);
        Buffers buffers(node, gpus, task_buffer_bytes(flow.tasks));
        buffers.plan(cell);
        buffers.allocate_host();
        buffers.allocate_device_and_register();
        peers.arrange(cell);
        const std::vector<Route> routes = plan_routes(one, buffers_of(cell)[0], buffers, node, gpus, 1);
        const Route& route = routes[0];
        const std::vector<int> bound = bind_thread(route.cpus());
        probe_rate(route, 0.1);
        route.poison();
        say("ready " + cpu_list(bound));
        move_until_told(route, chunk);
        say("verified");
        return 0;
    } catch (const Prevented& why) {
        say("prevented " + why.code + " " + why.what());
        return 3;
    } catch (const Failure& why) {
        say("failure " + why.code + " " + why.what());
        return 1;
    }
}

}  // namespace nearfar
