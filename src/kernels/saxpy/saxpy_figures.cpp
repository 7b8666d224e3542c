#include "kernels/saxpy/saxpy_figures.h"

#include <algorithm>
#include <functional>

#include "kernels/saxpy/pop.h"

namespace nearfar {
namespace {

constexpr const char* all_ranks = "ranks";
constexpr double milli = 1e3;
constexpr double giga = 1e9;

Efficiencies of_round(const std::vector<RankRound>& ranks) {
    std::vector<RankTimes> times;
    for (const RankRound& rank : ranks) times.push_back({rank.useful, rank.elapsed});
    return efficiencies(times);
}

Summary over_rounds(const BindingRounds& measured, const std::function<double(const std::vector<RankRound>&)>& value) {
    std::vector<double> samples;
    for (const std::vector<RankRound>& round : measured.rounds) samples.push_back(value(round));
    return summarise(samples);
}

// The figures of one binding, one after the other into a list.
class Figures {
public:
    Figures(const BindingRounds& measured, const SaxpyShape& shape, bool converged, std::vector<SubjectResult>& into)
        : measured_(measured), shape_(shape), converged_(converged), into_(into) {}

    void of_all(const char* what, const char* unit, const std::function<double(const std::vector<RankRound>&)>& value) {
        SubjectResult result = begin(what, unit, 0);
        result.parts.push_back({all_ranks, over_rounds(measured_, value), {}, {}});
        into_.push_back(result);
    }

    void of_ranks(const char* what, const char* unit, std::size_t bytes,
                  const std::function<double(const std::vector<RankRound>&, std::size_t)>& value) {
        SubjectResult result = begin(what, unit, bytes);
        for (std::size_t rank = 0; rank < measured_.cpus.size(); ++rank) {
            const auto of_rank = [&](const std::vector<RankRound>& round) { return value(round, rank); };
            result.parts.push_back({"rank" + std::to_string(rank), over_rounds(measured_, of_rank), measured_.cpus[rank],
                                    measured_.memory_nodes[rank]});
        }
        into_.push_back(result);
    }

    void of_steps(const char* what, const char* unit, double RankRound::*step, double factor) {
        of_ranks(what, unit, 0, [=](const std::vector<RankRound>& round, std::size_t rank) {
            return round[rank].*step / shape_.iterations * factor;
        });
    }

    void rates(const char* what, std::size_t bytes, double RankRound::*step) {
        of_ranks(what, "GB/s", bytes, [=](const std::vector<RankRound>& round, std::size_t rank) {
            return static_cast<double>(bytes) * shape_.iterations / (round[rank].*step) / giga;
        });
    }

    SubjectResult begin(const char* what, const char* unit, std::size_t bytes) const {
        SubjectResult result;
        result.quantity = (shape_.host_device ? "saxpy.host." : "saxpy.") + std::string(what);
        result.unit = unit;
        result.subject = saxpy_subject(measured_.binding);
        result.bytes = bytes;
        result.converged = converged_;
        // Each rank looks at its whole y, in which an iteration that was left out would show for ever.
        result.verified = Verified{measured_.rounds[0].size() * shape_.bytes, 0, 0};
        return result;
    }

private:
    const BindingRounds& measured_;
    const SaxpyShape& shape_;
    bool converged_;
    std::vector<SubjectResult>& into_;
};

void add_binding(const BindingRounds& measured, const SaxpyShape& shape, double target, std::vector<SubjectResult>& into) {
    Figures figures(measured, shape, is_settled(measured, target), into);
    using Round = std::vector<RankRound>;
    figures.of_all("load_balance", "1", [](const Round& round) { return of_round(round).load_balance; });
    figures.of_all("communication_efficiency", "1", [](const Round& round) { return of_round(round).communication; });
    figures.of_all("parallel_efficiency", "1", [](const Round& round) { return of_round(round).parallel; });
    figures.of_all("run_time", "ms", [&](const Round& round) {
        double longest = 0;
        for (const RankRound& rank : round) longest = std::max(longest, rank.elapsed);
        return longest / shape.iterations * milli;
    });
    // x and y go out, y comes back; the kernel reads both and writes one.
    figures.rates("h2d", 2 * shape.bytes, &RankRound::to_device);
    figures.rates("d2h", shape.bytes, &RankRound::to_host);
    figures.rates("kernel", 3 * shape.bytes, &RankRound::kernel);
    figures.of_steps("to_device", "ms", &RankRound::to_device, milli);
    figures.of_steps("compute", "ms", &RankRound::kernel, milli);
    figures.of_steps("to_host", "ms", &RankRound::to_host, milli);
    figures.of_steps("useful", "ms", &RankRound::useful, milli);
    figures.of_steps("waiting", "ms", &RankRound::waiting, milli);
    figures.of_ranks("transfer_imbalance", "1", 0, [](const Round& round, std::size_t rank) {
        std::vector<double> transfers;
        for (const RankRound& each : round) transfers.push_back(each.to_device + each.to_host);
        return over_mean(transfers)[rank];
    });
}

const BindingRounds* find(const std::vector<BindingRounds>& measured, Binding binding) {
    for (const BindingRounds& each : measured)
        if (each.binding == binding && !each.rounds.empty()) return &each;
    return nullptr;
}

}  // namespace

std::string saxpy_subject(Binding binding) { return std::string("saxpy/") + binding_name(binding); }

std::vector<double> run_times(const BindingRounds& measured) {
    std::vector<double> times;
    for (const std::vector<RankRound>& round : measured.rounds) {
        times.push_back(0);
        for (const RankRound& rank : round) times.back() = std::max(times.back(), rank.elapsed);
    }
    return times;
}

bool is_settled(const BindingRounds& measured, double target) {
    if (measured.rounds.size() < looks.front()) return false;
    const Summary parallel = over_rounds(measured, [](const std::vector<RankRound>& round) { return of_round(round).parallel; });
    return parallel.half_width() <= target && summarise(run_times(measured)).half_width() <= target;
}

std::vector<SubjectResult> saxpy_figures(const std::vector<BindingRounds>& measured, const SaxpyShape& shape, double target) {
    std::vector<SubjectResult> figures;
    for (const BindingRounds& each : measured)
        if (!each.rounds.empty()) add_binding(each, shape, target, figures);
    const BindingRounds* const beside_gpu = find(measured, Binding::gpu);
    if (beside_gpu == nullptr) return figures;
    std::vector<SubjectResult> none;
    SubjectResult speedup = Figures(*beside_gpu, shape, true, none).begin("speedup", "1", 0);
    const std::vector<double> best = run_times(*beside_gpu);
    for (const BindingRounds& each : measured) {
        if (each.binding == Binding::gpu || each.rounds.empty()) continue;
        const std::vector<double> other = run_times(each);
        std::vector<double> samples;
        // Rounds of the same number ran one after the other.
        for (std::size_t i = 0; i < std::min(best.size(), other.size()); ++i) samples.push_back(other[i] / best[i]);
        speedup.parts.push_back({binding_name(each.binding), summarise(samples), {}, {}});
        speedup.converged =
            speedup.converged && samples.size() >= looks.front() && speedup.parts.back().rate.half_width() <= target;
    }
    if (!speedup.parts.empty()) figures.push_back(speedup);
    return figures;
}

}  // namespace nearfar
