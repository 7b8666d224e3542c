#include "kernels/level_one/kernels_bench.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"

namespace nearfar {
namespace {

constexpr int least_visits = 2;
constexpr int most_visits = 6;

}  // namespace

std::vector<KernelTask> tasks_of(const std::vector<SubjectKernels>& wanted, const std::vector<ProblemSize>& sizes) {
    std::vector<KernelTask> tasks;
    for (const std::string& kernel : kernel_names())
        for (const ProblemSize size : sizes)
            for (const SubjectKernels& each : wanted)
                if (std::find(each.kernels.begin(), each.kernels.end(), kernel) != each.kernels.end())
                    tasks.push_back({each.subject, kernel, size});
    return tasks;
}

KernelsBench::KernelsBench(const KernelsOptions& options, KernelPlaces& places, const std::vector<KernelTask>& tasks,
                           KernelNews news)
    : options_(options), places_(places), news_(std::move(news)), begin_(now()) {
    std::vector<Subject> subjects;
    std::vector<ProblemShape> shapes;
    for (const KernelTask& task : tasks) {
        std::unique_ptr<Problem> problem = make_problem(task.kernel, task.size);
        shapes.push_back(problem->shape());
        if (std::find(subjects.begin(), subjects.end(), task.subject) == subjects.end()) subjects.push_back(task.subject);
        const KernelFigures none(problem->shape());
        runs_.push_back({task, std::move(problem), nullptr, none, false});
    }
    places_.reserve(subjects, shapes);
}

bool KernelsBench::is_due(const Run& run, int round) const {
    if (run.ended) return false;
    if (options_.visits > 0) return round < options_.visits;
    return round < least_visits || (round < most_visits && !run.figures.are_reached_again());
}

bool KernelsBench::measure() {
    for (int round = 0;; ++round) {
        std::vector<Run*> due;
        for (Run& run : runs_)
            if (is_due(run, round)) due.push_back(&run);
        if (due.empty()) break;
        for (std::size_t i = 0; i < due.size(); ++i) {
            if (interrupted()) {
                stop("interrupted", "interrupted before it was measured");
                return true;
            }
            if (options_.budget > 0 && now() - begin_ > options_.budget) {
                stop("budget", "the budget was used up before it was measured");
                return false;
            }
            visit(*due[i], i, due.size());
        }
        for (Run& run : runs_) {
            if (run.ended || is_due(run, round + 1)) continue;
            run.ended = true;
            news_.measured(run.task, run.figures, true);
        }
    }
    return false;
}

void KernelsBench::visit(Run& run, std::size_t position, std::size_t count) {
    news_.under_way(position, count, run.task);
    try {
        if (!run.placed) run.placed = places_.place(run.task.subject, *run.problem);
        run.placed->begin();
        run.figures.add(make_visit(*run.placed));
        news_.measured(run.task, run.figures, false);
    } catch (const Prevented& why) {
        run.ended = true;
        news_.skipped({run.task.text(), why.code, why.what()});
    } catch (const Failure& why) {
        run.ended = true;
        const Failure told = places_.blame(run.task.subject, why);
        news_.failed({run.task.text(), told.code, told.what()});
    }
}

void KernelsBench::stop(const std::string& code, const std::string& reason) {
    for (Run& run : runs_) {
        if (run.ended) continue;
        run.ended = true;
        if (run.figures.visits() > 0)
            news_.measured(run.task, run.figures, true);
        else
            news_.skipped({run.task.text(), code, reason});
    }
}

}  // namespace nearfar
