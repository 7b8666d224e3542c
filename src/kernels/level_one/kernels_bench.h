// Kernels on all their subjects, in rounds of visits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/level_one/kernels_options.h"
#include "kernels/level_one/placed_kernel.h"
#include "kernels/level_one/visit.h"
#include "supervisor/supervisor.h"

namespace nearfar {

// A kernel at one size on a subject: what is told of as one, "g0.n1/sgemm/today".
struct KernelTask {
    Subject subject;
    std::string kernel;
    ProblemSize size = ProblemSize::small;

    std::string text() const { return subject.text() + "/" + kernel + "/" + size_name(size); }
};

// All kernels and sizes that are wanted of these subjects, in the order of a round: what drifts hits subjects that are compared alike.
std::vector<KernelTask> tasks_of(const std::vector<SubjectKernels>& wanted, const std::vector<ProblemSize>& sizes);

// Whether a kernel that was visited in `round` rounds is visited again: as often as was asked for, or, where `asked` is 0, twice, and
// until its shortest times were reached again, `most` times at most.
bool is_visit_due(int round, int asked, int most, const KernelFigures& figures);

// What is known of a task, as the document or the table has it.
void tell_figures(const Teller& teller, const KernelTask& task, const KernelFigures& figures, bool host, bool finished);

class KernelsBench {
public:
    // All outlive it. `teller`: of how it goes on.
    KernelsBench(const KernelsOptions& options, KernelPlaces& places, const std::vector<KernelTask>& tasks, const Teller& teller);

    // One visit at a time, also where subjects share nothing.
    void measure_each_alone() { each_alone_ = true; }

    // Until all figures were reached again, the budget is used up, or an interrupt. Returns whether visits that were due were not made
    // for the interrupt.
    bool measure();

private:
    struct Run {
        KernelTask task;
        std::unique_ptr<Problem> problem;
        std::unique_ptr<PlacedKernel> placed;
        KernelFigures figures;
        bool ended = false;  // nothing more is measured of it
    };

    const KernelsOptions& options_;
    KernelPlaces& places_;
    const Teller& teller_;
    std::vector<Run> runs_;
    double begin_;
    bool each_alone_ = false;

    bool is_due(const Run& run, int round) const;
    // Takes away those that are visited at the same time.
    std::vector<Run*> take_company(std::vector<Run*>& due) const;
    void visit(const std::vector<Run*>& runs, std::size_t position, std::size_t count);
    void enter(Run& run, const std::function<KernelVisit()>& visit);
    // No more visits are made; those without one are skipped.
    void stop(const std::string& code, const std::string& reason);
};

// In the process that measures. `rest`: what a process that ended before has left, null: everything.
void run_kernels(const KernelsOptions& options, ProgramRun run, Teller& teller, const Rest* rest, double gone);

// The same of --sustain: products at full load on all GPUs at the same time. A build without CUDA throws Prevented (missing_library).
void run_sustained(const KernelsOptions& options, ProgramRun run, Teller& teller, const Rest* rest);

// One line for each subject with a kernel.
int list_kernels(const KernelsOptions& options);

}  // namespace nearfar
