// Subjects as people write them, the tasks that follow, and the message of a visit.
#include "kernels/level_one/subject.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/fields.h"
#include "kernels/level_one/kernels_bench.h"
#include "kernels/level_one/visit.h"

namespace nearfar {
namespace {

KernelsOptions options_of(std::vector<std::string> words) {
    words.insert(words.begin(), "nearfar-kernels");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    return parse_kernels_options(static_cast<int>(pointers.size()), pointers.data());
}

std::string refusal(const std::vector<std::string>& words) {
    try {
        options_of(words);
    } catch (const WrongUse& why) {
        return why.what();
    }
    return "";
}

Node two_gpus_two_nodes() {
    Node node;
    node.gpus.resize(2);
    for (int i = 0; i < 2; ++i) {
        NumaNode numa;
        numa.index = i;
        numa.memory = 1 << 30;
        numa.cpus = {i};
        node.numa_nodes.push_back(numa);
    }
    return node;
}

TEST(Subjects, AreReadAndPrinted) {
    const SubjectWord word = parse_subject("g1.n0/sgemm", false);
    EXPECT_EQ(word.subject.text(), "g1.n0");
    EXPECT_EQ(word.kernel, "sgemm");
    EXPECT_EQ(parse_subject("n3", true).subject.text(), "n3");
    EXPECT_EQ((Subject{0, 1, "right"}.text()), "g0.n1/right");
}

TEST(Subjects, SayWhatIsWrong) {
    for (const char* wrong : {"g0", "n0", "g0.n", "g.n0", "g01.n0", "n0.g0", "g0.n0.n1", ""})
        EXPECT_NE(refusal({wrong}).find("is no subject"), std::string::npos) << wrong;
    EXPECT_NE(refusal({"g0.n0/gemm"}).find("there is no kernel 'gemm': sgemm"), std::string::npos);
    EXPECT_NE(refusal({"--device", "host", "g0.n0"}).find("--device host"), std::string::npos);
    EXPECT_NE(refusal({"--kernels", "sgemm,fft"}).find("--kernels: 'fft' is none of"), std::string::npos);
    EXPECT_NE(refusal({"--size", "large"}).find("--size: 'large' is none of"), std::string::npos);
    EXPECT_NE(refusal({"--binding", "gpu"}).find("--binding: 'gpu' is none of"), std::string::npos);
}

TEST(Subjects, AreAllGpusWithAllNumaNodesWhereNoneIsGiven) {
    std::vector<NotMeasured> absent;
    const auto wanted = wanted_kernels(options_of({"--kernels", "triad"}), two_gpus_two_nodes(), absent);
    ASSERT_EQ(wanted.size(), 4u);
    EXPECT_EQ(wanted[3].subject.text(), "g1.n1");
    const auto tasks = tasks_of(wanted, {ProblemSize::paper, ProblemSize::today});
    ASSERT_EQ(tasks.size(), 8u);
    EXPECT_EQ(tasks[5].text(), "g0.n1/triad/today");
}

TEST(Subjects, OfOneKernelAndOfAllAreOneSubject) {
    std::vector<NotMeasured> absent;
    const auto wanted = wanted_kernels(options_of({"g0.n0/sort", "g0.n0/md", "g0.n0/sort"}), two_gpus_two_nodes(), absent);
    ASSERT_EQ(wanted.size(), 1u);
    EXPECT_EQ(wanted[0].kernels, (std::vector<std::string>{"sort", "md"}));
}

TEST(Subjects, ThatAreAbsentAreWrongUseOrFail) {
    std::vector<NotMeasured> absent;
    EXPECT_THROW(wanted_kernels(options_of({"g2.n0"}), two_gpus_two_nodes(), absent), WrongUse);
    EXPECT_TRUE(wanted_kernels(options_of({"g2.n0", "--absent-fails"}), two_gpus_two_nodes(), absent).empty());
    ASSERT_EQ(absent.size(), 1u);
    EXPECT_EQ(absent[0].cell, "g2.n0");
    EXPECT_EQ(absent[0].code, "absent");
}

TEST(Visits, AreReadAsTheyWereTold) {
    KernelVisit visit;
    visit.begin = 1.5;
    visit.end = 2.25;
    visit.calls = {{1e-3, 2e-3, 3e-3, 7e-3}, {1, 2, 3, 7}};
    visit.overlapped = {0.125};
    visit.computed = {0.5, 0.25};
    visit.verified.bytes = 42;
    visit.cpus = {0, 2};
    visit.memory_nodes = {1};
    visit.state.emplace();
    visit.state->running.sm_clock = 1980;
    visit.state->throttle = {"sw_power_cap", "hw_slowdown"};
    visit.state->uncorrected_errors = 3;
    const KernelVisit read = value_in<KernelVisit>(parse_message(message_of("visit", visit).line()));
    EXPECT_EQ(message_of("visit", read).line(), message_of("visit", visit).line());
    EXPECT_EQ(read.calls[1].total, 7);
    EXPECT_EQ(read.state->running.sm_clock, 1980);
    EXPECT_FALSE(read.state->running.power);
    EXPECT_EQ(read.state->throttle.size(), 2u);
    EXPECT_EQ(*read.state->uncorrected_errors, 3u);
}

TEST(Figures, TellTimesInMicrosecondsAndTheRate) {
    const auto problem = make_problem("triad", ProblemSize::small);
    KernelFigures figures(problem->shape());
    for (int i = 0; i < 3; ++i) {
        KernelVisit visit;
        visit.begin = i;
        visit.end = i + 0.5;
        visit.calls = {{1e-6, 2e-6, 3e-6, 7e-6}, {1e-6, 2e-6, 3e-6, 7e-6}};
        visit.overlapped = {4e-6};
        visit.computed = {1e-6, 1e-6};
        visit.state.emplace();
        visit.state->corrected_errors = static_cast<std::uint64_t>(10 + i);
        figures.add(visit);
    }
    EXPECT_TRUE(figures.are_reached_again());
    const std::vector<CellResult> results = figures.results({0, 1}, false);
    ASSERT_EQ(results.size(), 6u);
    EXPECT_EQ(results[0].quantity, "kernel.triad.in");
    EXPECT_DOUBLE_EQ(results[0].flows[0].rate.median, 1);
    EXPECT_DOUBLE_EQ(results[3].flows[0].rate.median, 7);
    EXPECT_STREQ(results[5].unit, "GB/s");
    EXPECT_DOUBLE_EQ(results[5].flows[0].rate.plateau->value, problem->shape().counted / 1e-6 / 1e9);
    EXPECT_EQ(results[5].members.back().first, "ecc_errors");
    EXPECT_EQ(results[5].members.back().second, R"({"corrected": 2, "uncorrected": 0})");
    EXPECT_EQ(figures.results({{}, 1}, true)[0].quantity, "kernel.host.triad.in");
}

}  // namespace
}  // namespace nearfar
