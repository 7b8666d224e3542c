#include "kernels/problems/saxpy.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/saxpy/saxpy_figures.h"
#include "kernels/saxpy/saxpy_options.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t bytes = std::size_t{1} << 20;
const Team team({});

std::vector<float> operands_of(const Saxpy& problem) {
    std::vector<float> operands(2 * problem.shape().n);
    problem.fill(operands.data(), team);
    return operands;
}

TEST(SaxpyProblem, TheAnswerIsTheClosedFormAfterAnyNumberOfIterations) {
    Saxpy problem(bytes, 3);
    std::vector<float> operands = operands_of(problem);
    float* const y = operands.data() + problem.shape().n;
    for (std::uint64_t i = 0; i < 5; ++i) {
        problem.set_iterations(i);
        EXPECT_EQ(problem.verify(operands.data(), y, team).bytes, bytes);
        problem.compute_on_host(operands.data(), y, team);
    }
    EXPECT_THROW(problem.verify(operands.data(), y, team), Failure) << "one iteration more or less shows";
    problem.set_iterations(5);
    y[7] += 1;
    EXPECT_THROW(problem.verify(operands.data(), y, team), Failure);
}

TEST(SaxpyProblem, RanksHaveDifferentData) { EXPECT_NE(operands_of(Saxpy(bytes, 0)), operands_of(Saxpy(bytes, 1))); }

TEST(SaxpyProblem, SinglePrecisionIsExactToTheLastIteration) {
    EXPECT_LT(7 + saxpy_a * 8 * static_cast<float>(most_exact_iterations), static_cast<float>(1 << 24));
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

const CellResult& find(const std::vector<CellResult>& results, const std::string& quantity, const std::string& subject) {
    for (const CellResult& result : results)
        if (result.quantity == quantity && result.subject == subject) return result;
    throw std::runtime_error("no " + quantity + " of " + subject);
}

TEST(SaxpyFigures, ByHand) {
    const SaxpyShape shape{1000000000, 2, false};
    const std::vector<CellResult> found =
        saxpy_figures({two_ranks(Binding::launcher, 1.25, 6), two_ranks(Binding::gpu, 1, 6)}, shape, 0.005);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.load_balance", "saxpy/gpu").flows[0].rate.median, 5.5 / 7);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.communication_efficiency", "saxpy/gpu").flows[0].rate.median, 7.0 / 8);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.parallel_efficiency", "saxpy/gpu").flows[0].rate.median, 5.5 / 8);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.run_time", "saxpy/gpu").flows[0].rate.median, 4000) << "ms an iteration";
    const CellResult& to_device = find(found, "saxpy.h2d", "saxpy/gpu");
    EXPECT_DOUBLE_EQ(to_device.flows[0].rate.median, 1) << "two vectors of 1 GB in two iterations take 4 s";
    EXPECT_DOUBLE_EQ(to_device.flows[1].rate.median, 2);
    EXPECT_EQ(to_device.bytes, 2000000000U);
    EXPECT_EQ(to_device.flows[0].cpus, (std::vector<int>{0, 1}));
    EXPECT_DOUBLE_EQ(find(found, "saxpy.d2h", "saxpy/gpu").flows[1].rate.median, 2);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.kernel", "saxpy/gpu").flows[0].rate.median, 6);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.waiting", "saxpy/gpu").flows[1].rate.median, 2000);
    EXPECT_DOUBLE_EQ(find(found, "saxpy.transfer_imbalance", "saxpy/gpu").flows[0].rate.median, 6 / 4.5);
    const CellResult& speedup = find(found, "saxpy.speedup", "saxpy/gpu");
    ASSERT_EQ(speedup.flows.size(), 1U);
    EXPECT_EQ(speedup.flows[0].name, "default");
    EXPECT_DOUBLE_EQ(speedup.flows[0].rate.median, 1.25);
    EXPECT_TRUE(speedup.converged);
    EXPECT_NE(saxpy_table(found).find("over default"), std::string::npos);
}

TEST(SaxpyFigures, HostMemoryIsNamedAsSuchAndNothingIsComparedWithItself) {
    const std::vector<CellResult> found = saxpy_figures({two_ranks(Binding::gpu, 1, 1)}, {4096, 2, true}, 0.005);
    for (const CellResult& result : found) {
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
                                                         {"--budget", "nan"},   {"--speed"}};
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
