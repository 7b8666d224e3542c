#include "output/supervisor.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "core/clock.h"
#include "core/error.h"
#include "core/line_channel.h"
#include "core/trouble.h"
#include "output/account.h"
#include "output/common_options.h"
#include "output/print_text.h"
#include "output/process_end.h"
#include "output/progress.h"
#include "output/ranks.h"
#include "output/starter.h"

namespace nearfar {
namespace {

constexpr int exit_wrong_use = 2;
constexpr int exit_not_measured = 3;
constexpr double between_looks = 0.02;    // seconds
constexpr double to_be_known_dead = 2;    // a process closes its socket a little before its exit status is there
constexpr double to_end_when_killed = 2;  // one that hangs in the driver stays, and is nobody's any more
constexpr double between_interrupts = 1;  // a launcher's signal reaches front and supervisor: that is one, not two
constexpr double to_say_why = 0.3;
constexpr int most_without_news = 3;            // processes in a row that ended without an answer
constexpr useconds_t launcher_first = 100'000;  // microseconds: a launcher's own way of ending comes before the exit code
constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP};

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
        sigaction(signal, &wanted, nullptr);
    }
}

std::string seconds_words(double seconds) { return std::to_string(static_cast<int>(std::lround(seconds))) + " s"; }

std::string no_process_words(int error) {
    return std::string("no process could be started (") + std::strerror(error) + "): raise `ulimit -u` or the cgroup's pids.max";
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
    Supervisor(const Supervised& how, const Measure& measure)
        : how_(how), measure_(measure), account_(how.run, how.json), begin_(now()), front_(getppid()), starter_(front_) {}

    int run() {
        int without_news = 0;
        while (true) {
            const std::optional<std::vector<Cell>> rest = rest_of_cells();
            if (!start(rest ? &*rest : nullptr)) {
                account_.give_up("not_allowed", no_process_words(errno), false);
                account_.skip_rest("not_allowed", no_process_words(errno));
                return print();
            }
            const End end = follow();
            if (end.kind == End::Kind::wrong_use) return exit_wrong_use;
            if (end.kind == End::Kind::told) return print();
            std::string reason = end.reason;
            if (end.kind != End::Kind::again) {
                kill_child();
                end_progress();
                const std::string last = account_.under_way().words;
                account_.give_up(end.code, reason, end.node_failed);
                std::fprintf(stderr, "%s: %s\n", end.code == "hang" ? "hang" : how_.run.name.c_str(), reason.c_str());
                reason.insert(0, " was the last that was measured: ").insert(0, last);
            } else {
                reap(how_.hang_seconds);
                kill_child();
            }
            without_news = account_.has_news() ? 0 : without_news + 1;
            const bool in_set_up = end.kind == End::Kind::died && in_set_up_;
            if (end.kind == End::Kind::stopped || how_.collective || in_set_up || without_news >= most_without_news ||
                account_.unanswered().empty()) {
                account_.skip_rest("interrupted", reason);
                return print();
            }
            std::fprintf(stderr, "%s: %zu cells go on in a new process\n", how_.run.name.c_str(), account_.unanswered().size());
            account_.begin_again();
        }
    }

    // Of a run that could not be looked after at all.
    int without_process(int error) {
        account_.give_up("not_allowed", no_process_words(error), false);
        return print();
    }

private:
    const Supervised& how_;
    const Measure& measure_;
    Account account_;
    double begin_;
    pid_t front_;
    Starter starter_;
    pid_t child_ = -1;
    int status_ = 0;
    std::optional<LineChannel> channel_;
    std::optional<MemoryKills> memory_kills_;
    bool in_set_up_ = true;  // of the present process
    bool first_ = true;

    // The cells for a new process; nothing for the first, which finds them.
    std::optional<std::vector<Cell>> rest_of_cells() const {
        if (first_) return {};
        std::vector<Cell> rest;
        for (const std::string& cell : account_.unanswered()) rest.push_back(parse_cell(cell));
        return rest;
    }

    bool start(const std::vector<Cell>* rest) {
        const std::pair<int, int> ends = connected_sockets();
        channel_.emplace(ends.first);
        memory_kills_.emplace();
        in_set_up_ = true;
        first_ = false;
        std::fflush(nullptr);
        const pid_t supervisor = getpid();
        child_ = fork();
        if (child_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != supervisor) _exit(exit_not_measured);
            channel_->close();
            measure_and_tell(ends.second, rest);
        }
        const int error = errno;
        ::close(ends.second);
        errno = error;
        return child_ > 0;
    }

    [[noreturn]] void measure_and_tell(int socket, const std::vector<Cell>* rest) {
        for (const int signal : passed_on) std::signal(signal, SIG_DFL);
        LineChannel channel(socket);
        Teller teller([&](const Message& message) { channel.send(message.line()); }, how_.json, how_.with_size);
        const Message trouble = trouble_of([&] {
            try {
                measure_(teller, rest, now() - begin_);
            } catch (const ProcessSpent& why) {
                teller.again(why.what());
            }
        });
        if (trouble.word == "wrong_use") teller.wrong_use(trouble.field(1));
        if (trouble.word == "prevented") teller.skipped({"", trouble.field(0), trouble.field(1)});
        if (trouble.word == "failure") teller.failed({"", trouble.field(0), trouble.field(1)});
        teller.end();
        std::fflush(nullptr);
        std::exit(0);
    }

    // Takes what the measuring process tells until it is over.
    End follow() {
        double since = now();
        double interrupted_at = 0;
        double gone_since = INFINITY;
        int interrupts = 0;
        std::string line;
        while (true) {
            const Heard heard = channel_->receive(line, between_looks);
            if (heard == Heard::line) {
                const Message message = parse_message(line);
                try {
                    account_.take(message);
                } catch (const std::invalid_argument& error) {
                    return {End::Kind::died, "error",
                            where() + std::string("the measuring process said what is not understood: ") + error.what()};
                }
                if (message.word == told::under_way) {
                    since = now();
                    in_set_up_ = account_.under_way().cells.empty() && in_set_up_;
                    const UnderWay& what = account_.under_way();
                    if (what.count > 0) print_progress(what.position, what.count, what.words);
                }
                if (!account_.wrong_use().empty() || account_.has_ended()) return {End::Kind::told, "", ""};
                if (!account_.again().empty()) return {End::Kind::again, "", account_.again()};
                continue;
            }
            if (heard == Heard::closed) return death();
            if (getppid() != front_) return abandoned();
            if (starter_.is_gone())
                return {End::Kind::stopped, "interrupted", "whoever started " + how_.run.name + " is gone", false};
            if (how_.collective) {
                // Ranks that agreed on what is wrong end one after the other, and this one says it.
                const std::string gone = gone_ranks(account_.ranks());
                if (gone.empty())
                    gone_since = INFINITY;
                else
                    gone_since = std::min(gone_since, now());
                if (now() - gone_since > to_say_why)
                    return {End::Kind::stopped, "error",
                            gone + " died during " + account_.under_way().words + "; the others were ended"};
            }
            if (signals_caught != interrupts && now() - interrupted_at > between_interrupts) {
                if (how_.collective || interrupts > 0)
                    return {End::Kind::stopped, "interrupted", "ended by a signal during " + account_.under_way().words, false};
                interrupted_at = now();
                kill(child_, SIGINT);
            }
            interrupts = signals_caught;
            if (now() - since > allowed()) return hang();
        }
    }

    double allowed() const {
        // Drivers that nobody keeps loaded take their time to start.
        return account_.under_way().seconds > 0 ? account_.under_way().seconds : 2 * how_.hang_seconds;
    }

    std::string where() const { return account_.under_way().words + ": "; }

    End hang() const {
        return {End::Kind::died, "hang", account_.under_way().words + " did not end within " + seconds_words(allowed())};
    }

    End death() {
        reap(to_be_known_dead);
        if (child_ > 0) return {End::Kind::died, "error", where() + "the measuring process told nothing more and did not end"};
        if (WIFEXITED(status_) && WEXITSTATUS(status_) == exit_wrong_use)
            return {End::Kind::wrong_use, "", ""};  // which was said
        const std::string memory = memory_kills_->grown();
        if (WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL && !memory.empty())
            return {End::Kind::died, "no_memory",
                    where() + "the kernel killed the measuring process for want of memory (oom_kill in " + memory +
                        "): more memory, or a larger limit of the job, is needed",
                    false};
        return {End::Kind::died, "error", where() + "the measuring process " + words_of_end(status_)};
    }

    End abandoned() const {
        return {End::Kind::stopped, "error",
                how_.collective ? "rank 0 was ended from outside during " + account_.under_way().words +
                                      ", as launchers do when another rank has died; they say which"
                                : where() + how_.run.name + " was killed from outside (SIGKILL)"};
    }

    // Waits for the measuring process to end, at most so long.
    void reap(double seconds) {
        for (const double end = now() + seconds; child_ > 0; usleep(2000)) {
            const pid_t ended = waitpid(child_, &status_, WNOHANG);
            if (ended == child_ || (ended < 0 && errno != EINTR)) child_ = -1;
            if (now() > end) return;
        }
    }

    void kill_child() {
        if (child_ > 0) kill(child_, SIGKILL);
        reap(to_end_when_killed);
        child_ = -1;
        channel_.reset();
    }

    int print() {
        end_progress();
        if (!account_.wrong_use().empty()) {
            std::fprintf(stderr, "%s: %s\n", how_.run.name.c_str(), account_.wrong_use().c_str());
            return exit_wrong_use;
        }
        if (!account_.knows_node()) tell_node();
        int code = account_.exit_code();
        const std::string text = account_.text(now() - begin_);
        try {
            print_text(how_.json ? how_.file : "", text);
        } catch (const WrongUse& error) {
            std::fprintf(stderr, "%s: %s\n", how_.run.name.c_str(), error.what());
            code = exit_wrong_use;
            if (!how_.file.empty()) rescue(text);
        }
        if (child_ > 0) reap(how_.hang_seconds);
        kill_child();
        if (how_.collective && code != 0) usleep(launcher_first);
        return code;
    }

    // A document that found no place in its file is not lost.
    void rescue(const std::string& text) const {
        try {
            print_text("", text);
            std::fprintf(stderr, "%s: the document stands on standard output\n", how_.run.name.c_str());
        } catch (const WrongUse& error) {
            std::fprintf(stderr, "%s: %s\n", how_.run.name.c_str(), error.what());
        }
    }

    void tell_node() {
        const Teller teller([this](const Message& message) { account_.take(message); }, how_.json);
        Node node;
        try {
            node = read_node(how_.gpus);
        } catch (const std::exception&) {
            char hostname[256] = "";
            gethostname(hostname, sizeof hostname - 1);
            node.hostname = hostname;
        }
        std::vector<DocumentGpu> gpus;
        for (const PciGpu& gpu : node.gpus) gpus.push_back({gpu, {}, true});
        teller.node(how_.run, node, gpus);
    }
};

// Waits for the supervisor and ends as it does.
int wait_for(pid_t supervisor, const std::string& name) {
    int status = 0;
    while (waitpid(supervisor, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    std::fprintf(stderr, "%s: the process that looks after the run %s: there is no document\n", name.c_str(),
                 words_of_end(status).c_str());
    return exit_not_measured;
}

}  // namespace

int supervise(const Supervised& how, const Measure& measure) {
    require_writable(how.json ? how.file : "");
    std::fflush(nullptr);
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    for (const int signal : passed_on) sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    supervisor_process = fork();
    if (supervisor_process == 0) {
        setsid();
        handle_signals(count_signal);
        std::signal(SIGPIPE, SIG_IGN);
        sigprocmask(SIG_SETMASK, &before, nullptr);
        int code = exit_not_measured;
        try {
            code = Supervisor(how, measure).run();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", how.run.name.c_str(), error.what());
        }
        std::fflush(nullptr);
        _exit(code);
    }
    const int error = errno;
    handle_signals(pass_on);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (supervisor_process < 0) return Supervisor(how, measure).without_process(error);
    return wait_for(supervisor_process, how.run.name);
}

int run_program(const std::string& name, bool says, const std::function<int()>& body) {
    try {
        return body();
    } catch (const std::exception& error) {
        if (says) std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
        return exit_wrong_use;
    }
}

}  // namespace nearfar
