#include "tasks/task_pool.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "engine/engine.h"
#include "node/cpus.h"

namespace {

int spawn_result = 0;  // what posix_spawn() says before it does anything; 0: it does its work

}  // namespace

// Stands in the place of the C library's.
extern "C" int posix_spawn(pid_t* child, const char* program, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const* words, char* const* environment) noexcept {
    static const auto spawn = reinterpret_cast<decltype(&posix_spawn)>(dlsym(RTLD_NEXT, "posix_spawn"));
    return spawn_result != 0 ? spawn_result : spawn(child, program, actions, attributes, words, environment);
}

namespace nearfar {
namespace {

constexpr double patience = 10;  // longer than a busy machine takes to start them
constexpr std::size_t mega = 1000000;

// Commands of fake tasks: `faults` of those that the first, second … command starts, no fault of later ones. `sets`: the GPUs for
// which a command was asked for, each time that some were started.
struct FakeTasks {
    std::vector<std::string> faults;
    std::vector<GpuSet> sets;
    std::vector<int> cpus;

    TaskPool::Command command() {
        return [this](const GpuSet& gpus) {
            sets.push_back(gpus);
            const std::string fault = sets.size() > faults.size() ? "" : faults[sets.size() - 1];
            return TaskCommand{"", NEARFAR_FAKE_TASK, {"fake_task", fault}, {}, cpus};
        };
    }
};

SharedFlow shared(const std::string& flow) { return {parse_cell(flow).flows[0], 4 * mega, mega}; }

std::vector<SharedFlow> cell(const std::string& text) {
    std::vector<SharedFlow> found;
    for (const Flow& flow : parse_cell(text).flows) found.push_back(shared(flow.text()));
    return found;
}

void begin(TaskPool& pool, const std::vector<std::string>& cells) {
    for (const std::string& text : cells) pool.plan(cell(text));
    pool.start();
    pool.open();
    pool.await_open();
}

WindowOutcome run(const std::vector<std::vector<TaskProcess*>>& tasks) {
    std::vector<FlowWork> work;
    for (std::size_t flow = 0; flow < tasks.size(); ++flow)
        for (TaskProcess* task : tasks[flow]) work.push_back({[task](FlowThread& thread) { task->run(thread); }, mega, flow});
    Engine engine(work);
    return run_window(engine, Policy{}, 0.25, nullptr);
}

// "code: reason" of what is thrown, with F or P before it.
template <typename F>
std::string thrown(F&& body) {
    try {
        body();
    } catch (const Prevented& why) {
        return "P " + why.code + ": " + why.what();
    } catch (const Failure& why) {
        return "F " + why.code + ": " + why.what();
    }
    return "nothing was thrown";
}

TEST(TaskPool, TheSameProcessesServeEveryCell) {
    FakeTasks fakes;
    TaskPool pool(fakes.command(), patience);
    begin(pool, {"n0:g0/x2+n0:g1/x2", "n1:g0/x3", "g0:g1/x2"});
    EXPECT_EQ(fakes.sets, (std::vector<GpuSet>{{0}, {0, 1}, {1}})) << "one command for each set of GPUs that a task sees";
    const auto two = pool.assign(cell("n0:g0/x2+n0:g1/x2"));
    ASSERT_EQ(two.size(), 2U);
    const std::vector<TaskProcess*> first = two[0];
    const WindowOutcome outcome = run(two);
    ASSERT_EQ(outcome.rates.size(), 2U);
    for (const Summary& rate : outcome.rates) {
        EXPECT_GT(rate.median, 0.5) << "two tasks of at most 1 GB/s each";
        EXPECT_LT(rate.median, 2.0);
    }
    const auto three = pool.assign(cell("n1:g0/x3"));
    ASSERT_EQ(three[0].size(), 3U);
    EXPECT_EQ(three[0][0]->pid(), first[0]->pid());
    EXPECT_EQ(three[0][1]->pid(), first[1]->pid());
    run(three);
    EXPECT_EQ(fakes.sets.size(), 3U) << "nothing was started again";
}

TEST(TaskPool, OneThatDiesFailsItsCellAloneAndIsReplaced) {
    FakeTasks fakes{{"", "kill-moving"}, {}, {}};
    TaskPool pool(fakes.command(), patience);
    begin(pool, {"n0:g0/x2+n0:g1/x2"});
    EXPECT_EQ(thrown([&] { run(pool.assign(cell("n0:g0/x2+n0:g1/x2"))); }),
              "F error: a task on g1 ended while it was measured (killed: Killed)");
    run(pool.assign(cell("n0:g0/x2")));
    EXPECT_EQ(fakes.sets.size(), 2U) << "those on g0 are alive";
    run(pool.assign(cell("n0:g0/x2+n0:g1/x2")));
    EXPECT_EQ(fakes.sets.size(), 3U);
}

TEST(TaskPool, OneThatIsKilledWhileIdleIsReplaced) {
    FakeTasks fakes;
    TaskPool pool(fakes.command(), patience);
    begin(pool, {"n0:g0/x2"});
    const auto tasks = pool.assign(cell("n0:g0/x2"));
    kill(tasks[0][1]->pid(), SIGKILL);
    EXPECT_EQ(thrown([&] { pool.assign(cell("n0:g0/x2")); }), "F error: a task on g0 ended before it was ready (killed: Killed)");
    run(pool.assign(cell("n0:g0/x2")));
}

TEST(TaskPool, OneThatDiesOrHangsIsToldWhateverItIsDoingAndReplaced) {
    const std::string none = "F error: 0 of 2 tasks could start: ";
    const std::string silent = "a task on g0 did not answer within 1 s";
    const std::vector<std::pair<std::string, std::string>> faults{
        {"kill-opening", none + "a task on g0 ended before it was ready (killed: Killed)"},
        {"kill-setting-up", "F error: a task on g0 ended before it was ready (killed: Killed)"},
        {"exit-moving", "F error: a task on g0 ended while it was measured (exit code 7)"},
        {"kill-verifying", "F error: a task on g0 ended while it was verified (killed: Killed)"},
        {"hang-opening", "F hang: 0 of 2 tasks could start: " + silent},
        {"hang-setting-up", "F hang: " + silent},
        {"hang-moving", "F hang: " + silent},
        {"hang-verifying", "F hang: " + silent}};
    for (const auto& [fault, said] : faults) {
        FakeTasks fakes{{fault}, {}, {}};
        TaskPool pool(fakes.command(), 1);
        begin(pool, {"n0:g0/x2", "n0:g1/x2"});
        EXPECT_EQ(thrown([&] { run(pool.assign(cell("n0:g0/x2"))); }), said) << fault;
        const bool starts = fault.find("opening") == std::string::npos;
        const auto again = [&] { run(pool.assign(cell(starts ? "n0:g0/x2" : "n0:g1/x2"))); };
        const std::string second = thrown(again);
        if (second == said) {
            again();  // both tasks have the fault, and the other one had not come to it
        } else {
            EXPECT_EQ(second, "nothing was thrown") << fault;
        }
    }
}

TEST(TaskPool, WhatATaskSaysIsTheCellsReason) {
    FakeTasks fakes{{"no-memory"}, {}, {}};
    TaskPool pool(fakes.command(), patience);
    begin(pool, {"n0:g0/x2"});
    const auto why = [&] { return thrown([&] { run(pool.assign(cell("n0:g0/x2"))); }); };
    EXPECT_EQ(why(), "P no_memory: a task on g0: NUMA node 0 has 1 MiB free");
    EXPECT_EQ(why(), "P no_memory: a task on g0: NUMA node 0 has 1 MiB free") << "it is idle again, and asked again";
    EXPECT_EQ(fakes.sets.size(), 1U);
}

TEST(TaskPool, WrongDataAndALostGpuAreTheCellsFailure) {
    FakeTasks wrong{{"wrong"}, {}, {}};
    TaskPool pool(wrong.command(), patience);
    begin(pool, {"n0:g0/x2"});
    EXPECT_EQ(thrown([&] { run(pool.assign(cell("n0:g0/x2"))); }), "F wrong_data: a task on g0: 8 of 8 words are wrong");
    FakeTasks lost{{"lost"}, {}, {}};
    TaskPool other(lost.command(), patience);
    begin(other, {"n0:g0/x2"});
    EXPECT_EQ(thrown([&] { run(other.assign(cell("n0:g0/x2"))); }),
              "F lost: a task on g0: waiting for a chunk: unspecified launch failure");
}

TEST(TaskPool, MoreTasksThanAGpuTakesIsSaidWithTheNumberThatItTakes) {
    // The pool asks for two, then for one more, which the GPU refuses.
    FakeTasks fakes{{"", "refuse"}, {}, {}};
    TaskPool pool(fakes.command(), patience);
    begin(pool, {"n0:g0/x2"});
    const auto three = [&] { return thrown([&] { pool.assign(cell("n0:g0/x3")); }); };
    const std::string refused =
        "P exclusive: 2 of 3 tasks could start: a task on g0: g0 (0000:1b:00.0) creating a context:\nall devices are busy";
    EXPECT_EQ(three(), refused);
    EXPECT_EQ(three(), refused);
    EXPECT_EQ(fakes.sets.size(), 2U) << "a limit is not tried twice";
    run(pool.assign(cell("n0:g0/x2")));
}

TEST(TaskPool, OneThatCannotStartIsToldWhenACellNeedsIt) {
    FakeTasks fakes{{"exit-opening"}, {}, {}};
    TaskPool pool(fakes.command(), patience);
    begin(pool, {"n0:g0/x2", "n0:g1/x2"});
    EXPECT_EQ(thrown([&] { pool.assign(cell("n0:g0/x2")); }),
              "F error: 0 of 2 tasks could start: a task on g0 ended before it was ready (exit code 7)");
    run(pool.assign(cell("n0:g1/x2")));
    TaskPool absent([](const GpuSet&) { return TaskCommand{"", "/nonexistent/program", {"program"}, {}, {}}; }, patience);
    begin(absent, {"n0:g0/x2"});
    EXPECT_EQ(thrown([&] { absent.assign(cell("n0:g0/x2")); }),
              "F error: 0 of 2 tasks could start: a task on g0 cannot be started: No such file or directory");
}

TEST(TaskPool, ALimitOnProcessesOrThreadsIsNamed) {
    FakeTasks fakes;
    TaskPool refused(fakes.command(), patience);
    spawn_result = EAGAIN;
    begin(refused, {"n0:g0/x2"});
    spawn_result = 0;
    EXPECT_EQ(thrown([&] { refused.assign(cell("n0:g0/x2")); }),
              "P not_allowed: 0 of 2 tasks could start: a task on g0 cannot be started: Resource temporarily unavailable (raise "
              "`ulimit -u` or the cgroup's pids.max)");
    for (const auto& [fault, said] : {std::pair{"no-thread", "ulimit -u"}, std::pair{"no-memory-left", "P no_memory: "}}) {
        FakeTasks limited{{fault}, {}, {}};
        TaskPool pool(limited.command(), patience);
        begin(pool, {"n0:g0/x2"});
        const std::string why = thrown([&] { pool.assign(cell("n0:g0/x2")); });
        EXPECT_EQ(why[0], 'P') << why;
        EXPECT_NE(why.find(said), std::string::npos) << why;
    }
}

TEST(TaskPool, WhatIsNoAnswerIsTheCellsFailure) {
    TaskPool stranger(
        [](const GpuSet&) {
            return TaskCommand{"", "/bin/sh", {"sh", "-c", "echo hello >&0; sleep 9"}, {}, {}};
        },
        patience);
    begin(stranger, {"n0:g0"});
    EXPECT_EQ(thrown([&] { stranger.assign(cell("n0:g0")); }),
              "F error: 0 of 1 tasks could start: a task on g0 said 'hello', which was no answer");
    FakeTasks misused{{"misused"}, {}, {}};
    TaskPool pool(misused.command(), patience);
    begin(pool, {"n0:g0"});
    EXPECT_EQ(thrown([&] { pool.assign(cell("n0:g0")); }), "F error: a task on g0: no such NUMA node");
}

TEST(TaskPool, ATaskMayRunWhereTheProgramMayWhateverTheThreadThatStartsItIsBoundTo) {
    const std::vector<int> all = cpus_in_effect();
    if (all.size() < 2) GTEST_SKIP() << "needs two CPUs";
    FakeTasks fakes{{"wants-two-cpus"}, {}, all};
    TaskPool pool(fakes.command(), patience);
    pool.plan(cell("n0:g0/x2"));
    bind_thread({all[0]});
    spawn_result = EAGAIN;
    TaskPool refused(fakes.command(), patience);
    refused.plan(cell("n0:g0/x2"));
    refused.start();
    EXPECT_EQ(cpus_in_effect(), std::vector<int>{all[0]}) << "where no task could start, too";
    spawn_result = 0;
    fakes.sets.clear();
    pool.start();
    EXPECT_EQ(cpus_in_effect(), std::vector<int>{all[0]});
    bind_thread(all);
    pool.open();
    pool.await_open();
    EXPECT_EQ(thrown([&] { pool.assign(cell("n0:g0/x2")); }), "nothing was thrown");
}

TEST(TaskProcess, AllEndTogetherEvenThoseThatHang) {
    std::vector<std::unique_ptr<TaskProcess>> tasks;
    std::vector<TaskProcess*> all;
    std::vector<pid_t> pids;
    for (const char* const fault : {"", "hang-setting-up", "", "hang-setting-up", "hang-moving", "hang-opening"}) {
        tasks.push_back(
            std::make_unique<TaskProcess>(TaskCommand{"a task", NEARFAR_FAKE_TASK, {"fake_task", fault}, {}, {}}, patience));
        all.push_back(tasks.back().get());
        pids.push_back(all.back()->pid());
        all.back()->tell({task_word::open, {}});
        all.back()->tell(assignment_message({parse_cell("n0:g0").flows[0], 4, 2}));
        all.back()->tell({task_word::go, {}});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const double begun = now();
    TaskProcess::end(all);
    EXPECT_LT(now() - begun, 1) << "a task ends when its program's side closes, without being killed after a while";
    for (const pid_t pid : pids) EXPECT_EQ(kill(pid, 0), -1) << "process " << pid << " is still there";
}

}  // namespace
}  // namespace nearfar
