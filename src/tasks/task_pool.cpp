#include "tasks/task_pool.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/suspension.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr useconds_t between_looks = 1000;  // microseconds

// Throws the trouble again, with words before its reason.
[[noreturn]] void rethrow(const std::exception_ptr& trouble, const std::string& prefix) {
    try {
        std::rethrow_exception(trouble);
    } catch (const Prevented& why) {
        throw Prevented(why.code, prefix + why.what());
    } catch (const Failure& why) {
        throw Failure(why.code, prefix + why.what());
    }
}

std::string names(const GpuSet& gpus) {
    std::string text;
    for (const int gpu : gpus) text += (text.empty() ? "g" : " and g") + std::to_string(gpu);
    return text;
}

}  // namespace

GpuSet gpu_set(const Flow& flow) {
    std::set<int> gpus;
    for (const Endpoint& end : {flow.source, flow.destination})
        if (end.place == Place::gpu_memory) gpus.insert(end.index);
    return {gpus.begin(), gpus.end()};
}

TaskPool::~TaskPool() {
    dismiss();
    std::vector<TaskProcess*> all;
    for (const auto& task : former_) all.push_back(task.get());
    TaskProcess::end(all);
}

void TaskPool::plan(const std::vector<SharedFlow>& cell) {
    std::map<GpuSet, std::size_t> used;
    for (const SharedFlow& shared : cell) {
        const GpuSet gpus = gpu_set(shared.flow);
        std::vector<std::size_t>& bytes = crews_[gpus].bytes;
        for (int task = 0; task < shared.flow.tasks; ++task) {
            const std::size_t place = used[gpus]++;
            if (place == bytes.size()) bytes.push_back(0);
            bytes[place] = std::max(bytes[place], shared.bytes);
        }
    }
}

void TaskPool::start() {
    for (auto& [gpus, crew] : crews_) start(gpus, crew, crew.bytes.size());
}

void TaskPool::start(const GpuSet& gpus, Crew& crew, std::size_t count) {
    TaskCommand command = command_(gpus);
    command.name = "a task on " + names(gpus);
    // This thread may be bound by now, which the task would take for all that it is allowed.
    const std::vector<int> bound = cpus_in_effect();
    try {
        if (!command.cpus.empty()) bind_thread(command.cpus);
        for (std::size_t i = 0; i < count; ++i) crew.starting.push_back(std::make_unique<TaskProcess>(command, patience_));
    } catch (...) {
        crew.refusal = std::current_exception();
    }
    if (!command.cpus.empty()) bind_thread(bound);
}

void TaskPool::open() {
    for (const auto& [gpus, crew] : crews_)
        for (const auto& task : crew.starting) task->tell({task_word::open, {}});
}

void TaskPool::await_open() {
    std::vector<TaskProcess*> starting;
    for (const auto& [gpus, crew] : crews_)
        for (const auto& task : crew.starting) starting.push_back(task.get());
    const std::vector<std::exception_ptr> troubles = await(starting, task_word::opened);
    auto trouble = troubles.begin();
    for (auto& [gpus, crew] : crews_) {
        for (auto& task : crew.starting) {
            if (*trouble) {
                crew.refusal = *trouble;
                task->dismiss();  // it may hold a part of what it wanted
            }
            (*trouble++ ? former_ : crew.open).push_back(std::move(task));
        }
        crew.starting.clear();
    }
}

std::vector<std::exception_ptr> TaskPool::await(const std::vector<TaskProcess*>& tasks, const std::string& answer) const {
    std::vector<std::exception_ptr> troubles(tasks.size());
    std::set<std::size_t> silent;
    for (std::size_t i = 0; i < tasks.size(); ++i) silent.insert(i);
    for (double heard = running_time(); !silent.empty(); usleep(between_looks)) {
        if (interrupted()) {
            for (const std::size_t i : silent)
                troubles[i] = std::make_exception_ptr(Prevented("interrupted", "interrupted before it was measured"));
            break;
        }
        const bool too_long = running_time() - heard > patience_;
        for (auto at = silent.begin(); at != silent.end();) {
            bool answered = true;
            try {
                answered = tasks[*at]->has_answered(answer);
                if (!answered && too_long) tasks[*at]->give_up();
            } catch (...) {
                troubles[*at] = std::current_exception();
            }
            if (answered) heard = running_time();
            at = answered || troubles[*at] ? silent.erase(at) : std::next(at);
        }
    }
    return troubles;
}

void TaskPool::forget_dead(Crew& crew) {
    const auto first_dead =
        std::stable_partition(crew.open.begin(), crew.open.end(), [](const auto& task) { return task->is_alive(); });
    std::move(first_dead, crew.open.end(), std::back_inserter(former_));
    crew.open.erase(first_dead, crew.open.end());
}

void TaskPool::require(const GpuSet& gpus, std::size_t count) {
    Crew& crew = crews_[gpus];
    forget_dead(crew);
    if (crew.open.size() < count && !crew.refusal) {
        start(gpus, crew, count - crew.open.size());
        open();
        await_open();
    }
    if (crew.open.size() < count)
        rethrow(crew.refusal, std::to_string(crew.open.size()) + " of " + std::to_string(count) + " tasks could start: ");
}

std::vector<std::vector<TaskProcess*>> TaskPool::assign(const std::vector<SharedFlow>& cell) {
    std::map<GpuSet, std::size_t> needed;
    for (const SharedFlow& shared : cell) needed[gpu_set(shared.flow)] += static_cast<std::size_t>(shared.flow.tasks);
    for (const auto& [gpus, count] : needed) require(gpus, count);
    std::map<GpuSet, std::size_t> used;
    std::vector<std::vector<TaskProcess*>> tasks;
    std::vector<TaskProcess*> all;
    for (const SharedFlow& shared : cell) {
        const GpuSet gpus = gpu_set(shared.flow);
        const Crew& crew = crews_.at(gpus);
        tasks.emplace_back();
        for (int task = 0; task < shared.flow.tasks; ++task) {
            const std::size_t place = used[gpus]++;
            const std::size_t bytes = std::max(shared.bytes, place < crew.bytes.size() ? crew.bytes[place] : 0);
            all.push_back(crew.open[place].get());
            all.back()->tell(assignment_message({shared.flow.alone(), bytes, shared.chunk}));
            tasks.back().push_back(all.back());
        }
    }
    for (const std::exception_ptr& trouble : await(all, task_word::ready))
        if (trouble) std::rethrow_exception(trouble);
    return tasks;
}

void TaskPool::dismiss() {
    for (auto& [gpus, crew] : crews_) {
        for (auto* tasks : {&crew.starting, &crew.open}) {
            for (auto& task : *tasks) {
                task->dismiss();
                former_.push_back(std::move(task));
            }
            tasks->clear();
        }
    }
}

BackgroundFlow background_process(const SharedFlow& shared, const TaskPool::Command& command, double patience) {
    const std::vector<SharedFlow> one{{shared.flow.alone(), shared.bytes, shared.chunk}};
    const auto body = [=](FlowThread& thread) {
        TaskPool pool(command, patience);
        pool.plan(one);
        pool.start();
        pool.open();
        pool.await_open();
        pool.assign(one)[0][0]->run(thread);
    };
    return {shared.flow.text(), {body, shared.chunk}};
}

}  // namespace nearfar
