#include "tasks/task_process.h"

#include <fcntl.h>
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
#include <stdexcept>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/suspension.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

constexpr double between_looks = 0.02;    // at the stop of a run, in seconds
constexpr double to_be_known_dead = 0.5;  // a process closes its socket a little before its exit status is there
constexpr double to_end_politely = 5;     // the driver takes contexts down one after the other
constexpr double to_end_when_killed = 2;  // one that hangs in the driver stays, and is nobody's any more
constexpr useconds_t a_moment = 2000;     // microseconds

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> found;
    for (std::string& word : words) found.push_back(word.data());
    found.push_back(nullptr);
    return found;
}

// Starts a program with `socket` as its standard input. Returns an error number.
int start(TaskCommand command, int socket, pid_t& child) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);  // the document's place
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // Whoever ends the program's process group ends the program, and it its tasks: never a task below a running measurement.
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const std::vector<char*> words = pointers(command.words);
    const std::vector<char*> environment = pointers(command.environment);
    const int result = posix_spawn(&child, command.program.c_str(), &actions, &attributes, words.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

// Waits until all have ended, at most `seconds`.
bool all_end(const std::vector<TaskProcess*>& tasks, double seconds) {
    const auto gone = [](TaskProcess* task) { return task->has_ended(); };
    for (const double end = now() + seconds; !std::all_of(tasks.begin(), tasks.end(), gone); usleep(a_moment))
        if (now() > end) return false;
    return true;
}

}  // namespace

TaskProcess::TaskProcess(const TaskCommand& command, double patience) : TaskProcess(command, patience, connected_sockets()) {}

TaskProcess::TaskProcess(const TaskCommand& command, double patience, std::pair<int, int> sockets)
    : name_(command.name), patience_(patience), channel_(sockets.first) {
    const LineChannel its_end(sockets.second);
    const int result = start(command, sockets.second, child_);
    if (result == 0) return;
    const std::string why = name_ + " cannot be started: " + std::strerror(result);
    if (result == EAGAIN) throw Prevented("not_allowed", why + " (raise `ulimit -u` or the cgroup's pids.max)");
    if (result == ENOMEM) throw Prevented("no_memory", why);
    throw Failure("error", why);
}

TaskProcess::~TaskProcess() { end({this}); }

bool TaskProcess::has_answered(const std::string& wanted) {
    Message said;
    if (!hear(said, 0, wanted == task_word::verified ? "while it was verified" : "before it was ready")) return false;
    if (said.word != wanted) misheard(said);
    try {
        if (said.word == task_word::verified) verified_ = verified_of(said);
    } catch (const std::invalid_argument&) {
        misheard(said);
    }
    return true;
}

void TaskProcess::run(FlowThread& thread) {
    thread.start();
    tell({task_word::go, {}});
    double given_up = INFINITY;
    for (Message said; said.word != task_word::end;) {
        if (hear(said, between_looks, "while it was measured") && said.word != task_word::end) thread.complete(time_of(said));
        if (std::isinf(given_up) && thread.stopped()) {
            tell({task_word::stop, {}});
            given_up = running_time() + patience_;
        }
        if (running_time() > given_up) give_up();
    }
    while (!has_answered(task_word::verified)) {
        if (running_time() > given_up) give_up();
        usleep(a_moment);
    }
}

void TaskProcess::give_up() {
    kill();
    dismiss();
    std::ostringstream words;
    words << name_ << " did not answer within " << patience_ << " s";
    throw Failure("hang", words.str());
}

void TaskProcess::mourn(const std::string& when) {
    dismiss();
    const std::string why = name_ + " ended " + when + how_it_ended();
    const std::string memory = memory_kills_.grown();
    if (WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL && !memory.empty())
        throw Prevented("no_memory", why + ", by the kernel for want of memory (oom_kill in " + memory + ")");
    throw Failure("error", why);
}

bool TaskProcess::hear(Message& said, double seconds, const std::string& when) {
    std::string line;
    const Heard heard = channel_.receive(line, seconds);
    if (heard == Heard::closed) mourn(when);
    if (heard == Heard::nothing) return false;
    said = parse_message(line);
    try {
        throw_trouble(said, name_ + ": ");
    } catch (const Prevented&) {
        throw;
    } catch (const Failure&) {
        dismiss();
        throw;
    } catch (const WrongUse& why) {
        dismiss();
        throw Failure("error", why.what());
    } catch (const std::invalid_argument&) {
        misheard(said);
    }
    return true;
}

double TaskProcess::time_of(const Message& said) {
    if (said.word != task_word::chunk) misheard(said);
    try {
        return said.number(0);
    } catch (const std::invalid_argument&) {
        misheard(said);
    }
}

void TaskProcess::misheard(const Message& said) {
    kill();
    dismiss();
    throw Failure("error", name_ + " said '" + said.line() + "', which was no answer");
}

std::string TaskProcess::how_it_ended() {
    for (const double end = now() + to_be_known_dead; !has_ended() && now() < end;) usleep(a_moment);
    if (!has_ended()) return "";
    if (WIFSIGNALED(status_)) return std::string(" (killed: ") + strsignal(WTERMSIG(status_)) + ")";
    return " (exit code " + std::to_string(WEXITSTATUS(status_)) + ")";
}

void TaskProcess::dismiss() {
    alive_ = false;
    channel_.close();
}

bool TaskProcess::has_ended() {
    if (child_ > 0 && waitpid(child_, &status_, WNOHANG) != 0) child_ = -1;
    return child_ <= 0;
}

void TaskProcess::kill() const {
    if (child_ > 0) ::kill(child_, SIGKILL);
}

void TaskProcess::end(const std::vector<TaskProcess*>& tasks) {
    for (TaskProcess* task : tasks) task->dismiss();
    if (all_end(tasks, to_end_politely)) return;
    for (const TaskProcess* task : tasks) task->kill();
    if (all_end(tasks, to_end_when_killed)) return;
    for (TaskProcess* task : tasks) {
        if (task->child_ > 0)
            std::fprintf(stderr, "%s (process %d) cannot be killed, as it hangs in the driver: it is left\n", task->name_.c_str(),
                         static_cast<int>(task->child_));
        task->child_ = -1;
    }
}

}  // namespace nearfar
