// Rounds of visits with kernels that compute nothing: what is visited together, what ends early, and what is told.
#include "kernels/level_one/kernels_bench.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "core/options.h"

namespace nearfar {
namespace {

class StandInKernel : public PlacedKernel {
public:
    explicit StandInKernel(std::function<void()> begun) : begun_(std::move(begun)) {}
    void begin() override { begun_(); }
    CallTimes call() override { return {1, 2, 3, 7}; }
    double overlapped(int) override { return 4; }
    double compute(int, const std::function<void()>& meanwhile) override {
        meanwhile();
        return 2;
    }
    Verified verify() override { return {8, 0, 0}; }
    std::vector<int> cpus() const override { return {0}; }
    std::vector<int> memory_nodes() const override { return {0}; }

private:
    std::function<void()> begun_;
};

// GPUs on different NUMA nodes share nothing.
class StandInPlaces : public KernelPlaces {
public:
    std::function<void(const Subject&, const std::string& kernel)> begun = [](const Subject&, const std::string&) {};

    void reserve(const std::vector<Subject>&, const std::vector<ProblemShape>&) override {}
    std::unique_ptr<PlacedKernel> place(const Subject& subject, const Problem& problem) override {
        if (problem.shape().kernel == "sgemm") throw Prevented("missing_library", "none");
        return std::make_unique<StandInKernel>([this, subject, kernel = problem.shape().kernel] { begun(subject, kernel); });
    }
    bool share(const Subject& a, const Subject& b) const override { return a.gpu == b.gpu || a.numa_node == b.numa_node; }
    std::vector<DocumentGpu> gpus() const override { return {}; }
    RankDevice of_rank(int, int) const override { return {}; }
};

struct Told {
    std::vector<std::string> together;  // the tasks of each visit, joined
    std::map<std::string, int> visits;
    std::vector<std::string> finished;
    std::vector<NotMeasured> skipped;
    std::vector<NotMeasured> failed;

    KernelNews news() {
        return {[this](std::size_t, std::size_t, const std::vector<KernelTask>& tasks) {
                    std::vector<std::string> texts;
                    for (const KernelTask& task : tasks) texts.push_back(task.text());
                    together.push_back(joined_list(texts));
                },
                [this](const KernelTask& task, const KernelFigures& figures, bool last) {
                    visits[task.text()] = static_cast<int>(figures.visits());
                    if (last) finished.push_back(task.text());
                },
                [this](const NotMeasured& why) { skipped.push_back(why); },
                [this](const NotMeasured& why) { failed.push_back(why); }};
    }
};

std::vector<KernelTask> tasks(const std::vector<Subject>& subjects, const std::vector<std::string>& kernels) {
    std::vector<SubjectKernels> wanted;
    for (const Subject& subject : subjects) wanted.push_back({subject, kernels});
    return tasks_of(wanted, {ProblemSize::small});
}

TEST(KernelRounds, EndWhenTheFiguresWereReachedAgain) {
    StandInPlaces places;
    Told told;
    EXPECT_FALSE(KernelsBench({}, places, tasks({{0, 0}}, {"triad", "md"}), told.news()).measure());
    EXPECT_EQ(told.visits, (std::map<std::string, int>{{"g0.n0/md/small", 2}, {"g0.n0/triad/small", 2}}));
    EXPECT_EQ(told.finished.size(), 2u);
}

TEST(KernelRounds, VisitSubjectsTogetherThatShareNothing) {
    StandInPlaces places;
    Told told;
    KernelsOptions options;
    options.visits = 1;
    KernelsBench(options, places, tasks({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, {"triad"}), told.news()).measure();
    EXPECT_EQ(told.together,
              (std::vector<std::string>{"g0.n0/triad/small,g1.n1/triad/small", "g0.n1/triad/small,g1.n0/triad/small"}));
    Told alone;
    KernelsBench bench(options, places, tasks({{0, 0}, {1, 1}}, {"triad"}), alone.news());
    bench.measure_each_alone();
    bench.measure();
    EXPECT_EQ(alone.together.size(), 2u);
}

TEST(KernelRounds, GoOnBesideWhatIsSkippedOrFails) {
    StandInPlaces places;
    places.begun = [](const Subject& subject, const std::string& kernel) {
        if (kernel == "md" && subject.gpu == 1) throw Failure("wrong_data", "wrong");
    };
    Told told;
    KernelsBench({}, places, tasks({{0, 0}, {1, 1}}, {"sgemm", "triad", "md"}), told.news()).measure();
    ASSERT_EQ(told.skipped.size(), 2u);
    EXPECT_EQ(told.skipped[0].code, "missing_library");
    ASSERT_EQ(told.failed.size(), 1u);
    EXPECT_EQ(told.failed[0].cell, "g1.n1/md/small");
    EXPECT_EQ(told.visits.size(), 3u);
}

TEST(KernelRounds, StopWhenTheBudgetIsSpent) {
    StandInPlaces places;
    Told told;
    KernelsOptions options;
    options.budget = 1e-9;
    KernelsBench(options, places, tasks({{0, 0}}, {"triad"}), told.news()).measure();
    ASSERT_EQ(told.skipped.size(), 1u);
    EXPECT_EQ(told.skipped[0].code, "budget");
}

}  // namespace
}  // namespace nearfar
