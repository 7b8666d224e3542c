#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "core/clock.h"
#include "core/error.h"
#include "core/exit_code.h"
#include "core/trouble.h"
#include "output/print_text.h"
#include "output/table.h"
#include "supervisor/account.h"
#include "supervisor/machine_watch.h"
#include "supervisor/measuring_process.h"
#include "supervisor/process_end.h"
#include "supervisor/ranks.h"
#include "supervisor/starter.h"
#include "supervisor/words.h"

namespace nearfar {
namespace {

constexpr double between_looks = 0.02;          // seconds
constexpr double to_be_known_dead = 2;          // a process closes its socket a little before its exit status is there
constexpr double between_interrupts = 1;        // a launcher's signal reaches front and supervisor: that is one, not two
constexpr double to_say_why = 1;                // for rank 0, when another one has ended
constexpr double to_lose_launcher = 0.3;        // behind its rank
constexpr useconds_t a_moment = 20'000;         // microseconds
constexpr int most_without_news = 3;            // processes in a row that ended without an answer
constexpr useconds_t launcher_first = 100'000;  // microseconds: a launcher's own way of ending comes before the exit code
constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

volatile std::sig_atomic_t signals_caught = 0;
volatile pid_t supervisor_process = 0;

void count_signal(int) { signals_caught = signals_caught + 1; }

void pass_on(int signal) {
    if (supervisor_process > 0) kill(supervisor_process, signal);
}

// A signal that was ignored before stays so, as under nohup.
void handle_signals(void (*handler)(int)) {
    for (const int signal : passed_on) {
        struct sigaction now_is {};
        if (signal == SIGHUP && sigaction(signal, nullptr, &now_is) == 0 && now_is.sa_handler == SIG_IGN) continue;
        struct sigaction wanted {};
        wanted.sa_handler = handler;
        wanted.sa_flags = SA_RESTART;
        sigaction(signal, &wanted, nullptr);
    }
}

// Why the measuring process is over.
struct End {
    enum class Kind { told, again, died, stopped, wrong_use } kind;
    std::string code;
    std::string reason;
    bool node_failed = true;
};

class Supervisor {
public:
    Supervisor(const Supervised& how, const Measure& measure, pid_t front)
        : how_(how), measure_(measure), account_(how.run, how.json), begin_(now()), front_(front), starter_(front) {
        if (how.json) machine_.emplace(begin_, front, how.with_gpus, how.collective);
    }

    // Until all is told, or nothing more can be; then prints it. Returns the exit code.
    int run() {
        std::optional<Rest> rest;  // the first process finds its cells
        for (int without_news = 0;; account_.begin_again()) {
            if (!start(rest ? &*rest : nullptr)) return without_process(errno);
            const End end = follow();
            if (end.kind == End::Kind::wrong_use) return exit_wrong_use;
            if (end.kind == End::Kind::told) return print();
            if (end.kind == End::Kind::again) process_.ends_within(how_.hang_seconds);
            process_.kill();
            std::string why = end.reason;
            if (end.kind != End::Kind::again) {
                why = account_.under_way().words + " was the last that was measured: " + end.reason;
                give_up(end);
            }
            without_news = account_.has_news() ? 0 : without_news + 1;
            if (!may_go_on(end) || without_news >= most_without_news || account_.unanswered().empty()) {
                account_.skip_rest("interrupted", why);
                return print();
            }
            rest = Rest{account_.unanswered(), account_.gpus()};
            say(how_.run.name, std::to_string(rest->cells.size()) + (rest->cells.size() == 1 ? " cell goes" : " cells go") +
                                   " on in a new process");
        }
    }

    // Of a run without a process to measure in. Returns the exit code.
    int without_process(int error) {
        const std::string why =
            std::string("no process could be started (") + std::strerror(error) + "): raise `ulimit -u` or the cgroup's pids.max";
        account_.give_up("not_allowed", why, false);
        account_.skip_rest("not_allowed", why);
        return print();
    }

private:
    const Supervised& how_;
    const Measure& measure_;
    Account account_;
    double begin_;
    pid_t front_;
    Starter starter_;
    MeasuringProcess process_;
    std::optional<MachineWatch> machine_;      // of a document
    std::optional<MemoryKills> memory_kills_;  // since the present process was started
    bool in_set_up_ = true;                    // of the present process

    bool start(const Rest* rest) {
        memory_kills_.emplace();
        in_set_up_ = true;
        return process_.start([&](const MeasuringProcess::Send& send) {
            Teller teller(send, how_.json, begin_);
            const Message trouble = trouble_of([&] {
                try {
                    measure_(teller, rest, now() - begin_);
                } catch (const ProcessSpent& why) {
                    teller.again(why.what());
                }
            });
            if (trouble.word == trouble_word::wrong_use) teller.wrong_use(trouble.field(1));
            if (trouble.word == trouble_word::prevented) teller.skipped({"", trouble.field(0), trouble.field(1)});
            if (trouble.word == trouble_word::failure) teller.failed({"", trouble.field(0), trouble.field(1)});
            teller.end();
        });
    }

    // Takes what the measuring process tells until it is over.
    End follow() {
        double since = now();
        double interrupted_at = 0;
        double gone_since = INFINITY;
        int interrupts = 0;
        std::string line;
        while (true) {
            if (machine_) machine_->look(account_);
            const Heard heard = process_.receive(line, between_looks);
            if (heard == Heard::line) {
                const Message message = parse_message(line);
                try {
                    account_.take(message);
                } catch (const std::invalid_argument& error) {
                    return {End::Kind::died, "error", where() + who() + " said what is not understood: " + error.what()};
                }
                if (message.word == told::under_way) {
                    since = now();
                    show_progress();
                }
                if (!account_.wrong_use().empty() || account_.has_ended()) return {End::Kind::told, "", ""};
                if (!account_.again().empty()) return {End::Kind::again, "", account_.again()};
                continue;
            }
            if (heard == Heard::closed) return death();
            if (getppid() != front_) return abandoned();
            if (starter_.is_gone()) return without_starter();
            if (how_.collective) {
                // Ranks that agreed on what is wrong end one after the other, and this one says it.
                const std::string gone = gone_ranks(account_.ranks());
                gone_since = gone.empty() ? INFINITY : std::min(gone_since, now());
                if (now() - gone_since > to_say_why) return without_rank(gone);
            }
            if (signals_caught != interrupts && now() - interrupted_at > between_interrupts) {
                if (how_.collective || interrupts > 0) return signalled();
                interrupted_at = now();
                process_.interrupt();
            }
            interrupts = signals_caught;
            if (now() - since > allowed()) return hang();
        }
    }

    void show_progress() {
        const UnderWay& what = account_.under_way();
        in_set_up_ = in_set_up_ && what.cells.empty();
        if (what.count > 0) print_progress(what.position, what.count, what.words);
    }

    double allowed() const {
        // Drivers that nobody keeps loaded take their time to start.
        return account_.under_way().seconds > 0 ? account_.under_way().seconds : 2 * how_.hang_seconds;
    }

    std::string who() const { return how_.collective ? "rank 0" : "the measuring process"; }
    std::string where() const { return account_.under_way().words + ": "; }

    End hang() const {
        const std::string& words = account_.under_way().words;
        std::string reason = words + " did not end within " + formatted("%g s", allowed());
        if (!account_.ranks().empty() && words.find(told::waiting_for) == std::string::npos)
            reason += "; one of these hangs, and it is not known which: " + names_of(account_.ranks());
        return {End::Kind::died, "hang", reason};
    }

    End without_starter() const {
        return {End::Kind::stopped, "interrupted", "whoever started " + how_.run.name + " is gone", false};
    }

    End without_rank(const std::string& gone) const {
        return {End::Kind::stopped, "error", gone + " died during " + account_.under_way().words + "; the others were ended"};
    }

    // Ranks of this host that are there no more, in words.
    std::string dead_ranks() const {
        if (!account_.ranks().empty()) return gone_ranks(account_.ranks());
        return how_.missing_ranks ? how_.missing_ranks(front_) : "";
    }

    // Launchers end the other ranks by a signal when one has died.
    End signalled() const {
        const std::string gone = how_.collective ? dead_ranks() : "";
        if (!gone.empty()) return without_rank(gone);
        return {End::Kind::stopped, "interrupted", "ended by a signal during " + account_.under_way().words, false};
    }

    // The process of a rank ends where its launcher or another rank has. That a launcher is gone is known a little later.
    std::optional<End> ended_with_others() {
        const std::string gone = dead_ranks();
        for (const double end = now() + to_lose_launcher; now() < end; usleep(a_moment))
            if (starter_.is_gone()) return without_starter();
        if (gone.empty()) return {};
        return without_rank(gone);
    }

    End death() {
        const bool known = process_.ends_within(to_be_known_dead);
        const int status = process_.status();
        if (known && WIFEXITED(status) && WEXITSTATUS(status) == exit_wrong_use)
            return {End::Kind::wrong_use, "", ""};  // which was said
        if (how_.collective)
            if (const std::optional<End> end = ended_with_others()) return *end;
        if (!known) return {End::Kind::died, "error", where() + who() + " told nothing more and did not end"};
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
            return {End::Kind::died, "not_allowed", where() + who() + " reached the limit on CPU time: raise `ulimit -t`", false};
        const std::string memory = memory_kills_->grown();
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !memory.empty())
            return {End::Kind::died, "no_memory",
                    where() + "the kernel killed " + who() + " for want of memory (oom_kill in " + memory +
                        "): more memory, or a larger limit of the job, is needed",
                    false};
        return {End::Kind::died, "error", where() + who() + " " + words_of_end(status)};
    }

    End abandoned() const {
        return {End::Kind::stopped, "error",
                how_.collective ? "rank 0 was ended from outside during " + account_.under_way().words +
                                      ", as launchers do when another rank has died; they say which"
                                : where() + how_.run.name + " was killed from outside"};
    }

    void give_up(const End& end) {
        end_progress();
        account_.give_up(end.code, end.reason, end.node_failed);
        say(end.code == "hang" ? "hang" : how_.run.name, end.reason);
    }

    // Whether a new process is to measure what is left. Set-up that died would die again.
    bool may_go_on(const End& end) const {
        return end.kind != End::Kind::stopped && !how_.collective && signals_caught == 0 &&
               (end.kind == End::Kind::again || !in_set_up_);
    }

    int print() {
        end_progress();
        if (!account_.wrong_use().empty()) {
            say(how_.run.name, account_.wrong_use());
            return exit_wrong_use;
        }
        if (!account_.knows_node()) tell_node();
        if (machine_) account_.take({told::member, {"machine", machine_->end(account_)}});
        const std::string text = account_.text(now() - begin_);
        const bool printed = try_to_print(how_.json ? how_.file : "", text);
        if (!printed && !how_.file.empty() && try_to_print("", text))
            say(how_.run.name, "the document stands on standard output");
        process_.ends_within(how_.hang_seconds);
        process_.kill();
        const int code = printed ? account_.exit_code() : exit_wrong_use;
        if (how_.collective && code != 0) usleep(launcher_first);
        return code;
    }

    bool try_to_print(const std::string& file, const std::string& text) const {
        try {
            print_text(file, text);
            return true;
        } catch (const WrongUse& error) {
            say(how_.run.name, error.what());
            return false;
        }
    }

    void tell_node() {
        const Teller teller([this](const Message& message) { account_.take(message); }, how_.json);
        Node node;
        try {
            node = read_node(how_.gpus);
        } catch (const std::exception&) {
            node.hostname = hostname();
        }
        std::vector<DocumentGpu> gpus;
        for (const PciGpu& gpu : node.gpus) gpus.push_back({gpu, {}, true});
        teller.node(how_.run, node, gpus);
    }
};

// A standard stream that was closed is opened, so that no socket or file takes its number: to read nothing, and to refuse
// (standard output) or swallow (standard error) what is written.
void open_missing_streams() {
    for (const auto& [stream, mode] : {std::pair(STDIN_FILENO, O_RDONLY), {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}})
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", mode) < 0) return;
}

// Waits for the supervisor and ends as it does.
int wait_for(pid_t supervisor, const std::string& name) {
    int status = -1;
    while (waitpid(supervisor, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != -1 && WIFEXITED(status)) return WEXITSTATUS(status);
    say(name, "the process that looks after the run " + words_of_end(status) + ": there is no document");
    return exit_not_measured;
}

}  // namespace

Supervised supervised(const ProgramRun& run, const CommonOptions& options, double hang_seconds) {
    Supervised how;
    how.run = run;
    how.json = options.json;
    how.file = options.json_file;
    how.gpus = options.gpus;
    how.hang_seconds = hang_seconds;
    how.with_gpus = !run.cuda.empty();
    return how;
}

int supervise(const Supervised& how, const Measure& measure) {
    require_writable(how.json ? how.file : "");
    std::signal(SIGCHLD, SIG_DFL);  // ignored, it would hide how processes end
    std::fflush(nullptr);
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    for (const int signal : passed_on) sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    const pid_t front = getpid();
    supervisor_process = fork();
    if (supervisor_process == 0) {
        setsid();
        handle_signals(count_signal);
        std::signal(SIGPIPE, SIG_IGN);
        std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of writing
        sigprocmask(SIG_SETMASK, &before, nullptr);
        int code = exit_not_measured;
        try {
            code = Supervisor(how, measure, front).run();
        } catch (const std::exception& error) {
            say(how.run.name, error.what());
        }
        std::fflush(nullptr);
        _exit(code);
    }
    const int error = errno;
    handle_signals(pass_on);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (supervisor_process < 0) return Supervisor(how, measure, front).without_process(error);
    return wait_for(supervisor_process, how.run.name);
}

int run_program(const std::string& name, bool says, const std::function<int()>& body) {
    open_missing_streams();
    try {
        return body();
    } catch (const std::exception& error) {
        if (says) say(name, error.what());
        return exit_wrong_use;
    }
}

}  // namespace nearfar
