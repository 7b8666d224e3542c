// Rounds of visits with kernels that compute nothing: what is visited together, what ends early, and what is told.
#include "kernels/level_one/kernels_bench.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"

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
    std::set<std::string> finished;
    std::vector<NotMeasured> skipped;
    std::vector<NotMeasured> failed;
    const Teller teller{
        [this](const Message& message) {
            const std::string& word = message.word;
            if (word == told::under_way) together.push_back(message.field(3));
            if (word == told::so_far) ++visits[message.field(0)];
            if (word == told::result) finished.insert(message.field(0));
            if (word == told::skipped || word == told::failed)
                (word == told::failed ? failed : skipped).push_back({message.field(0), message.field(1), message.field(2)});
        },
        false};
};

std::vector<KernelTask> tasks(const std::vector<Subject>& subjects, const std::vector<std::string>& kernels) {
    std::vector<SubjectKernels> wanted;
    for (const Subject& subject : subjects) wanted.push_back({subject, kernels});
    return tasks_of(wanted, {ProblemSize::small});
}

TEST(KernelRounds, EndWhenTheFiguresWereReachedAgain) {
    StandInPlaces places;
    Told told;
    EXPECT_FALSE(KernelsBench({}, places, tasks({{0, 0}}, {"triad", "md"}), told.teller).measure());
    EXPECT_EQ(told.visits, (std::map<std::string, int>{{"g0.n0/md/small", 2}, {"g0.n0/triad/small", 2}}));
    EXPECT_EQ(told.finished.size(), 2u);
}

TEST(KernelRounds, VisitSubjectsTogetherThatShareNothing) {
    StandInPlaces places;
    Told told;
    KernelsOptions options;
    options.visits = 1;
    KernelsBench(options, places, tasks({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, {"triad"}), told.teller).measure();
    EXPECT_EQ(told.together,
              (std::vector<std::string>{"g0.n0/triad/small,g1.n1/triad/small", "g0.n1/triad/small,g1.n0/triad/small"}));
    Told alone;
    KernelsBench bench(options, places, tasks({{0, 0}, {1, 1}}, {"triad"}), alone.teller);
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
    KernelsBench({}, places, tasks({{0, 0}, {1, 1}}, {"sgemm", "triad", "md"}), told.teller).measure();
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
    KernelsBench(options, places, tasks({{0, 0}}, {"triad"}), told.teller).measure();
    ASSERT_EQ(told.skipped.size(), 1u);
    EXPECT_EQ(told.skipped[0].code, "budget");
}

}  // namespace
}  // namespace nearfar
