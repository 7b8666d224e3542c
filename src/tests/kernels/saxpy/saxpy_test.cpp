#include "kernels/saxpy/saxpy.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/saxpy/saxpy_figures.h"
#include "kernels/saxpy/saxpy_options.h"
#include "kernels/saxpy/saxpy_table.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t bytes = std::size_t{1} << 20;

class Saxpy : public testing::Test {
protected:
    const Node node = read_node();
    const int home = node.usable_memory().front();
};

TEST_F(Saxpy, TheAnswerIsTheClosedFormAfterAnyNumberOfIterations) {
    const SaxpyVectors vectors(node, home, bytes, 3);
    HostSaxpy device(node, home, bytes, 2);
    EXPECT_EQ(vectors.wrong_after(0), 0U);
    for (int i = 0; i < 5; ++i) device.iterate(vectors);
    EXPECT_EQ(vectors.wrong_after(5), 0U);
    EXPECT_EQ(vectors.wrong_after(4), vectors.length()) << "one iteration more or less shows in every element";
    vectors.y()[7] += 1;
    EXPECT_EQ(vectors.wrong_after(5), 1U);
}

TEST_F(Saxpy, RanksHaveDifferentData) {
    const SaxpyVectors mine(node, home, bytes, 0);
    const SaxpyVectors others(node, home, bytes, 1);
    EXPECT_NE(mine.x()[0], others.x()[0]);
}

TEST_F(Saxpy, SinglePrecisionIsExactToTheLastIteration) {
    const float greatest = 7 + saxpy_a * 8 * static_cast<float>(1 << 19);
    EXPECT_LT(greatest, static_cast<float>(1 << 24));
}

TEST_F(Saxpy, ThreadsShareOddLengths) {
    std::vector<float> x(1001, 1);
    std::vector<float> y(1001, 3);
    saxpy_on_host(y.data(), x.data(), x.size(), 4);
    EXPECT_EQ(y, std::vector<float>(1001, 5));
}

TEST_F(Saxpy, TimesOfTheStepsArePositive) {
    const SaxpyVectors vectors(node, home, bytes, 0);
    const SaxpyStep step = HostSaxpy(node, home, bytes, 1).iterate(vectors);
    EXPECT_GT(step.to_device, 0);
    EXPECT_GT(step.kernel, 0);
    EXPECT_GT(step.to_host, 0);
}

TEST(UnbindThread, GivesBackWhatTheLauncherTook) {
    const std::vector<int> before = cpus_in_effect();
    bind_thread({before.front()});
    unbind_thread();
    EXPECT_GE(cpus_in_effect().size(), before.size());
    bind_thread(before);
}

// Two ranks, two iterations of 1 GB vectors: transfers 4 + 2 s and 2 + 1 s, kernels 1 s, so that one waits for the other.
BindingRounds two_ranks(Binding binding, double slowdown, std::size_t rounds) {
    BindingRounds measured;
    measured.binding = binding;
    measured.cpus = {{0, 1}, {2}};
    measured.memory_nodes = {{0}, {1}};
    const RankRound slow{4 * slowdown, 1 * slowdown, 2 * slowdown, 7 * slowdown, 1 * slowdown, 8 * slowdown};
    const RankRound fast{2 * slowdown, 1 * slowdown, 1 * slowdown, 4 * slowdown, 4 * slowdown, 8 * slowdown};
    measured.rounds.assign(rounds, {slow, fast});
    return measured;
}

const SubjectResult& find(const std::vector<SubjectResult>& results, const std::string& quantity, const std::string& subject) {
    for (const SubjectResult& result : results)
        if (result.quantity == quantity && result.subject == subject) return result;
    throw std::runtime_error("no " + quantity + " of " + subject);
}

TEST(SaxpyFigures, ByHand) {
    const SaxpyShape shape{1000000000, 2, false};
    const std::vector<SubjectResult> found =
        saxpy_figures({two_ranks(Binding::launcher, 1.25, 6), two_ranks(Binding::gpu, 1, 6)}, shape, 0.005);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.load_balance", "saxpy/gpu").parts[0].rate.median, 5.5 / 7);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.communication_efficiency", "saxpy/gpu").parts[0].rate.median, 7.0 / 8);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.parallel_efficiency", "saxpy/gpu").parts[0].rate.median, 5.5 / 8);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.run_time", "saxpy/gpu").parts[0].rate.median, 4000) << "ms an iteration";
    const SubjectResult& to_device = find(found, "saxpy.h2d", "saxpy/gpu");
    EXPECT_DOUBLE_EQ(to_device.parts[0].rate.median, 1) << "two vectors of 1 GB in two iterations take 4 s";
    EXPECT_DOUBLE_EQ(to_device.parts[1].rate.median, 2);
    EXPECT_EQ(to_device.bytes, 2000000000U);
    EXPECT_EQ(to_device.parts[0].cpus, (std::vector<int>{0, 1}));
    EXPECT_DOUBLE_EQ(find(found, "saxpy.d2h", "saxpy/gpu").parts[1].rate.median, 2);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.kernel", "saxpy/gpu").parts[0].rate.median, 6);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.waiting", "saxpy/gpu").parts[1].rate.median, 2000);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.transfer_imbalance", "saxpy/gpu").parts[0].rate.median, 6 / 4.5);
    const SubjectResult& speedup = find(found, "saxpy.speedup", "saxpy/gpu");
    ASSERT_EQ(speedup.parts.size(), 1U);
    EXPECT_EQ(speedup.parts[0].name, "default");
    EXPECT_DOUBLE_EQ(speedup.parts[0].rate.median, 1.25);
    EXPECT_TRUE(speedup.converged);
    EXPECT_NE(saxpy_table(found).find("over default"), std::string::npos);
}

TEST(SaxpyFigures, HostMemoryIsNamedAsSuchAndNothingIsComparedWithItself) {
    const std::vector<SubjectResult> found = saxpy_figures({two_ranks(Binding::gpu, 1, 1)}, {4096, 2, true}, 0.005);
    for (const SubjectResult& result : found) {
        EXPECT_EQ(result.quantity.rfind("saxpy.host.", 0), 0U) << result.quantity;
        EXPECT_NE(result.quantity, "saxpy.host.speedup");
        EXPECT_FALSE(result.converged) << "one round settles nothing";
    }
}

TEST(SaxpyFigures, ABindingWithoutARoundHasNone) {
    EXPECT_TRUE(saxpy_figures({two_ranks(Binding::gpu, 1, 0)}, {4096, 2, false}, 0.005).empty());
}

TEST(SaxpyFigures, SettledIsSixRoundsThatAgree) {
    EXPECT_FALSE(is_settled(two_ranks(Binding::gpu, 1, 5), 0.005));
    BindingRounds measured = two_ranks(Binding::gpu, 1, 6);
    EXPECT_TRUE(is_settled(measured, 0.005));
    measured.rounds[2][0].elapsed = 9;
    EXPECT_FALSE(is_settled(measured, 0.005));
}

SaxpyOptions parse(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return parse_saxpy_options(static_cast<int>(argv.size()), argv.data());
}

TEST(SaxpyOptions, Defaults) {
    const SaxpyOptions options = parse({"nearfar-kernels", "saxpy"});
    EXPECT_FALSE(options.host_device);
    EXPECT_EQ(options.bindings, (std::vector<Binding>{Binding::launcher, Binding::gpu}));
}

TEST(SaxpyOptions, BothForms) {
    const SaxpyOptions options = parse({"nearfar-kernels", "saxpy", "--device=host", "--bytes", "1MiB", "--json=x.json",
                                        "--rounds=3", "--gpus", "1b:00.0,1c:00.0"});
    EXPECT_TRUE(options.host_device);
    EXPECT_EQ(options.bytes, std::size_t{1} << 20);
    EXPECT_EQ(options.json_file, "x.json");
    EXPECT_EQ(options.rounds, 3);
    EXPECT_EQ(options.gpus, (std::vector<std::string>{"1b:00.0", "1c:00.0"}));
}

TEST(SaxpyOptions, MistakesAreToldWithTheirOption) {
    const std::vector<std::vector<std::string>> mistakes{{"--device", "tpu"},   {"--bytes", "5"},    {"--bytes", "1KiB..1MiB"},
                                                         {"--iterations", "0"}, {"--rounds", "1e9"}, {"--binding"},
                                                         {"--budget", "nan"},   {"--threads", "-1"}, {"--speed"}};
    for (const std::vector<std::string>& mistake : mistakes) {
        std::vector<std::string> words{"nearfar-kernels", "saxpy"};
        words.insert(words.end(), mistake.begin(), mistake.end());
        try {
            parse(words);
            ADD_FAILURE() << mistake[0] << " was accepted";
        } catch (const WrongUse& error) {
            EXPECT_NE(std::string(error.what()).find(mistake[0]), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace nearfar
