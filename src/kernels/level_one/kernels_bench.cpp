#include "kernels/level_one/kernels_bench.h"

#include <algorithm>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/joined_threads.h"
#include "core/options.h"
#include "core/suspension.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

constexpr int least_visits = 2;
constexpr int most_visits = 6;

}  // namespace

bool is_visit_due(int round, int asked, int most, const KernelFigures& figures) {
    if (asked > 0) return round < asked;
    return round < least_visits || (round < most && !figures.are_reached_again());
}

std::vector<KernelTask> tasks_of(const std::vector<SubjectKernels>& wanted, const std::vector<ProblemSize>& sizes) {
    std::vector<KernelTask> tasks;
    for (const std::string& kernel : kernel_names())
        for (const ProblemSize size : sizes)
            for (const SubjectKernels& each : wanted)
                if (std::find(each.kernels.begin(), each.kernels.end(), kernel) != each.kernels.end())
                    tasks.push_back({each.subject, kernel, size});
    return tasks;
}

void tell_figures(const Teller& teller, const KernelTask& task, const KernelFigures& figures, bool host, bool finished) {
    std::vector<std::string> items;
    if (teller.json())
        for (const CellResult& result : figures.results(task.subject, host)) items.push_back(result_json(result));
    else
        items.push_back(figures.row(task.subject));
    if (finished)
        teller.finished(task.text(), items);
    else
        teller.so_far(task.text(), items);
}

KernelsBench::KernelsBench(const KernelsOptions& options, KernelPlaces& places, const std::vector<KernelTask>& tasks,
                           const Teller& teller)
    : options_(options), places_(places), teller_(teller), begin_(running_time()) {
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
    return !run.ended && is_visit_due(round, options_.visits, most_visits, run.figures);
}

bool KernelsBench::measure() {
    for (int round = 0;; ++round) {
        std::vector<Run*> due;
        for (Run& run : runs_)
            if (is_due(run, round)) due.push_back(&run);
        if (due.empty()) return false;
        const std::size_t count = due.size();
        while (!due.empty()) {
            if (interrupted()) {
                stop("interrupted", "interrupted before it was measured");
                return true;
            }
            if (options_.budget > 0 && running_time() - begin_ > options_.budget) {
                stop("budget", "the budget was used up before it was measured");
                return false;
            }
            const std::size_t position = count - due.size();
            visit(take_company(due), position, count);
        }
        for (Run& run : runs_) {
            if (run.ended || is_due(run, round + 1)) continue;
            run.ended = true;
            tell_figures(teller_, run.task, run.figures, options_.host_device, true);
        }
    }
}

// The first, and of the same kernel at the same size those on subjects of which no two share anything.
std::vector<KernelsBench::Run*> KernelsBench::take_company(std::vector<Run*>& due) const {
    std::vector<Run*> together;
    std::vector<Run*> left;
    for (Run* const run : due) {
        const auto shares = [&](const Run* other) {
            return each_alone_ || other->task.kernel != run->task.kernel || other->task.size != run->task.size ||
                   places_.share(other->task.subject, run->task.subject);
        };
        (std::any_of(together.begin(), together.end(), shares) ? left : together).push_back(run);
    }
    due = left;
    return together;
}

void KernelsBench::visit(const std::vector<Run*>& runs, std::size_t position, std::size_t count) {
    std::vector<std::string> texts;
    for (const Run* run : runs) texts.push_back(run->task.text());
    teller_.under_way(position, count, options_.hang_seconds, joined_list(texts), texts);
    std::vector<std::exception_ptr> troubles(runs.size());
    std::vector<KernelVisit> visits(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i)
        troubles[i] = thrown_by([&] {
            if (!runs[i]->placed) runs[i]->placed = places_.place(runs[i]->task.subject, *runs[i]->problem);
        });
    const auto made = [&](std::size_t i) {
        if (troubles[i]) return;
        troubles[i] = thrown_by([&] {
            runs[i]->placed->begin();
            visits[i] = unless_suspended([&] { return make_visit(*runs[i]->placed); });
        });
    };
    {
        JoinedThreads threads;
        for (std::size_t i = 1; i < runs.size(); ++i) threads.start([&made, i] { made(i); });
        made(0);
    }
    for (std::size_t i = 0; i < runs.size(); ++i)
        enter(*runs[i], [&] {
            if (troubles[i]) std::rethrow_exception(troubles[i]);
            return visits[i];
        });
}

void KernelsBench::enter(Run& run, const std::function<KernelVisit()>& visit) {
    try {
        run.figures.add(visit());
        tell_figures(teller_, run.task, run.figures, options_.host_device, false);
    } catch (const Prevented& why) {
        run.ended = true;
        teller_.skipped({run.task.text(), why.code, why.what()});
    } catch (const Failure& why) {
        run.ended = true;
        const Failure blamed = places_.blame(run.task.subject, why);
        teller_.failed({run.task.text(), blamed.code, blamed.what()});
    }
}

void KernelsBench::stop(const std::string& code, const std::string& reason) {
    for (Run& run : runs_) {
        if (run.ended) continue;
        run.ended = true;
        if (run.figures.visits() > 0)
            tell_figures(teller_, run.task, run.figures, options_.host_device, true);
        else
            teller_.skipped({run.task.text(), code, reason});
    }
}

}  // namespace nearfar
