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
#include "core/suspension.h"
#include "core/trouble.h"
#include "output/print_text.h"
#include "output/table.h"
#include "supervisor/account.h"
#include "supervisor/machine_watch.h"
#include "supervisor/measuring_process.h"
#include "supervisor/process_end.h"
#include "supervisor/ranks.h"
#include "supervisor/sick_gpus.h"
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
        : how_(how), measure_(measure), account_(how.run, how.json), front_(front), starter_(front) {
        if (how.json) machine_.emplace(begin_, front, how.with_gpus, how.collective);
    }

    // Until all is told, or nothing more can be; then prints it. Returns the exit code.
    int run() {
        look_for_suspension(true);
        std::optional<Rest> rest;  // the first process finds its cells
        for (int without_news = 0;;) {
            if (!start(rest ? &*rest : nullptr)) return without_process(errno);
            const End end = follow();
            if (end.kind == End::Kind::wrong_use) return exit_wrong_use;
            const bool died = end.kind == End::Kind::died || end.kind == End::Kind::stopped;
            if (sick_.alone() >= 0 && !(died && in_set_up_)) sick_.is_set_up();
            if (!died && (account_.unanswered().empty() || !account_.wrong_use().empty())) return print();
            if (!died && !sick_.is_trial()) process_.ends_within(how_.hang_seconds);
            process_.kill();
            bool goes_on = died ? is_sorted_out(end) : signals_caught == 0 && !how_.collective;
            std::string why = end.reason.empty() ? "interrupted before it was measured" : end.reason;
            if (!goes_on && died) {
                why = account_.under_way().words + " was the last that was measured: " + end.reason;
                give_up(end);
                goes_on = may_go_on(end);
            } else if (end.kind != End::Kind::again) {
                without_news = 0;
            }
            without_news = account_.has_news() ? 0 : without_news + 1;
            if (!goes_on || without_news >= most_without_news || account_.unanswered().empty()) {
                account_.skip_rest("interrupted", why);
                return print();
            }
            rest = Rest{sick_.part(account_.unanswered()), account_.gpus()};
            account_.begin_again(rest->cells);
            if (end.kind != End::Kind::told)
                say(how_.run.name, std::to_string(account_.unanswered().size()) +
                                       (account_.unanswered().size() == 1 ? " cell goes" : " cells go") + " on in a new process");
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
    const double begin_ = now();
    pid_t front_;
    Starter starter_;
    MeasuringProcess process_;
    SickGpus sick_;
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
                    measure_(teller, rest, running_time() - begin_);
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
        look_for_suspension(true);
        double since = running_time();
        double interrupted_at = 0;
        double gone_since = INFINITY;
        int interrupts = 0;
        std::string line;
        while (true) {
            if (machine_) machine_->look(account_);
            const Heard heard = process_.receive(line, between_looks);
            look_for_suspension();
            if (heard == Heard::line) {
                const Message message = parse_message(line);
                if (sick_.is_trial()) {  // only how far it comes is asked
                    if ((message.word == told::under_way && message.fields.size() > 4) || message.word == told::end)
                        return {End::Kind::told, "", ""};
                    continue;
                }
                try {
                    account_.take(message);
                } catch (const std::invalid_argument& error) {
                    return {End::Kind::died, "error", where() + who() + " said what is not understood: " + error.what()};
                }
                if (message.word == told::under_way) {
                    since = running_time();
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
            if (running_time() - since > allowed()) return hang();
        }
    }

    void show_progress() {
        const UnderWay& what = account_.under_way();
        in_set_up_ = what.cells.empty() && (in_set_up_ || what.words == told::set_up);
        if (what.count > 0) print_progress(what.position, what.count, what.words);
    }

    double allowed() const {
        // Drivers that nobody keeps loaded take their time to start.
        if (account_.under_way().seconds > 0) return account_.under_way().seconds;
        return sick_.alone() >= 0 ? how_.hang_seconds : 2 * how_.hang_seconds;
    }

    std::string who() const { return how_.collective ? "rank 0" : "the measuring process"; }
    std::string where() const { return account_.under_way().words + ": "; }

    End hang() const {
        const std::string words =
            account_.knows_node() ? account_.under_way().words : "finding out what this node is (hwloc, /sys, NVML)";
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

    // Whether what ended is told of so far that a new process may go on: a GPU has the blame, or what hung is tried once more.
    bool is_sorted_out(const End& end) {
        if (end.kind != End::Kind::died || !end.node_failed || how_.collective || signals_caught != 0) return false;
        return in_set_up_ ? is_set_up_again(end) : end.code == "hang" && is_tried_again(end);
    }

    bool is_set_up_again(const End& end) {
        if (sick_.alone() >= 0) {
            sick_.is_not_set_up();
            if (sick_.all_refuse()) return false;
            fail_all_of({sick_.alone()}, end.code, ": " + end.reason + ", also when this GPU alone was set up");
            return true;
        }
        const std::vector<std::string>& left = account_.unanswered();
        const auto has_gpu = [](const std::string& cell) { return !gpus_in(cell).empty(); };
        if (sick_.one_at_a_time() || std::none_of(left.begin(), left.end(), has_gpu)) return false;
        sick_.open_one_at_a_time();
        note_once({"", end.code, end.reason + "; GPUs are opened one at a time"});
        return true;
    }

    bool is_tried_again(const End& end) {
        const std::vector<std::string> cells = account_.under_way().cells;
        const std::vector<std::string>& left = account_.unanswered();
        if (cells.size() != 1 || std::find(left.begin(), left.end(), cells[0]) == left.end()) return false;
        const bool has_hung = sick_.has_hung(cells[0]);
        const std::set<int> blamed = sick_.hung(cells[0]);
        if (!blamed.empty())
            fail_all_of(blamed, end.code, " hung twice, the second time: " + end.reason);
        else if (!has_hung)
            note_once({cells[0], end.code, end.reason + "; it is tried once more"});
        return !blamed.empty() || !has_hung;
    }

    // GPUs are given up: what needs all of them fails.
    void fail_all_of(const std::set<int>& gpus, const std::string& code, const std::string& why) {
        const std::string reason = SickGpus::names(gpus, account_.gpus()) + why;
        end_progress();
        say(code == "hang" ? "hang" : how_.run.name, reason);
        account_.fail(with_all_of(gpus, account_.unanswered()), code, reason);
    }

    // What may be chance the first time.
    void note_once(NotMeasured what) {
        end_progress();
        say(how_.run.name, what.reason);
        if (what.code == "hang") what.code = "hung_once";
        account_.note(what);
    }

    bool is_second_hang() const {
        const std::vector<std::string>& cells = account_.under_way().cells;
        return sick_.one_at_a_time() || (cells.size() == 1 && sick_.has_hung(cells[0]));
    }

    void give_up(End end) {
        end_progress();
        if (end.code == "hang" && !is_second_hang()) end.code = "hung_once";
        account_.give_up(end.code, end.reason, end.node_failed);
        say(end.code == "hang" ? "hang" : how_.run.name, end.reason);
    }

    // Whether a new process is to measure what is left. Set-up that died would die again.
    bool may_go_on(const End& end) const {
        return end.kind != End::Kind::stopped && !how_.collective && signals_caught == 0 && !in_set_up_;
    }

    int print() {
        end_progress();
        if (!account_.wrong_use().empty()) {
            say(how_.run.name, account_.wrong_use());
            return exit_wrong_use;
        }
        if (!account_.knows_node()) tell_hostname();
        if (const double suspended = suspended_seconds(); suspended > 0) {
            const std::string words =
                "the run was suspended for " + formatted("%.0f s", suspended) + "; deadlines and budgets leave that out";
            say(how_.run.name, words);
            account_.note({"", "suspended", words});
        }
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

    // Whoever asked for more of the node died of it, or could not be started.
    void tell_hostname() {
        const Teller teller([this](const Message& message) { account_.take(message); }, how_.json);
        Node node;
        node.hostname = hostname();
        teller.node(how_.run, node, {});
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

Supervised supervised(const ProgramRun& run, const CommonOptions& options) {
    Supervised how;
    how.run = run;
    how.json = options.json;
    how.file = options.json_file;
    how.hang_seconds = options.hang_seconds;
    how.with_gpus = !run.cuda.empty();
    return how;
}

int supervise(const Supervised& how, const Measure& measure) {
    require_writable(how.json ? how.file : "");
    if (how.json) remove_former(how.file);
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
