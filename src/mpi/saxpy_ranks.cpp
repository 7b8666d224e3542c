#include "mpi/kernel_ranks.h"

#include <algorithm>
#include <optional>

#include "core/clock.h"
#include "core/fields.h"
#include "core/suspension.h"
#include "core/trouble.h"
#include "kernels/problems/saxpy.h"
#include "kernels/saxpy/saxpy_figures.h"
#include "mpi/placed_rank.h"
#include "mpi/supervised_ranks.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

const char* const name = "nearfar-kernels";
constexpr int warm_up_iterations = 2;
constexpr double target = 0.01;  // how far medians may be from sure, relative, before rounds end

// This rank under one binding, and what all ranks have told of it.
struct Placed : BindingRounds {
    RankPlacement place;
    std::unique_ptr<Saxpy> problem;
    std::unique_ptr<PlacedKernel> kernel;
    std::uint64_t iterations = 0;

    std::string subject() const { return saxpy_subject(binding); }
};

// `teller`: rank 0's, null on the others.
class SaxpyRanks {
public:
    SaxpyRanks(MpiWorld& world, const SaxpyOptions& options, const Teller* teller)
        : world_(world), options_(options), teller_(teller) {}

    void measure(ProgramRun run) {
        const auto set_up_rank = [&] {
            rank_.emplace(world_, PlacesAsked{options_.gpus, options_.host_device, options_.even_if_busy, false, false,
                                              options_.oversubscribe, "--oversubscribe measures anyway"});
            world_.all_do([&] { rank_->places->reserve({{rank_->device.gpu}}, {Saxpy(options_.bytes, world_.rank()).shape()}); });
        };
        if (!is_made(teller_, {""}, set_up_rank)) return;
        rank_->tell(world_, run, teller_);
        if (teller_ != nullptr)
            world_.when_waiting([&](const std::string& ranks) { tell_under_way(under_way_ + told::waiting_for + ranks); });
        // A binding that one rank cannot have is skipped on all, one that fails on one ends for all.
        for (const Binding binding : options_.bindings) {
            auto placed = std::make_unique<Placed>();
            placed->binding = binding;
            if (set_up(*placed)) placed_.push_back(std::move(placed));
        }
        const double begin = running_time();
        for (int round = 0; round == 0 || (!placed_.empty() && world_.agree([&] { return goes_on(round, begin); })); ++round) {
            for (std::size_t i = 0; i < placed_.size(); ++i) {
                // There and back: what drifts hits every binding alike.
                std::unique_ptr<Placed>& each = placed_[round % 2 == 1 ? placed_.size() - 1 - i : i];
                if (!measure_round(*each)) each.reset();
            }
            placed_.erase(std::remove(placed_.begin(), placed_.end(), nullptr), placed_.end());
        }
        tell_figures();
    }

private:
    MpiWorld& world_;
    const SaxpyOptions& options_;
    const Teller* teller_;
    std::optional<PlacedRank> rank_;
    std::vector<std::unique_ptr<Placed>> placed_;
    std::string under_way_ = "set-up";

    void tell_under_way(const std::string& what) const {
        if (teller_ != nullptr) teller_->under_way(0, 0, options_.hang_seconds, what);
    }

    void tell_figures() const {
        if (teller_ == nullptr) return;
        std::vector<BindingRounds> measured;
        for (const std::unique_ptr<Placed>& each : placed_)
            if (each) measured.push_back(*each);
        const auto figures = saxpy_figures(measured, {options_.bytes, options_.iterations, options_.host_device}, target);
        std::vector<std::string> items;
        for (const CellResult& each : figures) items.push_back(result_json(each));
        teller_->results(teller_->json() ? items : std::vector<std::string>{saxpy_table(figures)});
    }

    void begin(const std::string& what) {
        tell_figures();
        tell_under_way(under_way_ = what);
    }

    bool set_up(Placed& placed) {
        begin("set-up of " + placed.subject());
        const auto place = [&] {
            placed.place = place_rank(rank_->node, rank_->home, placed.binding);
            placed.problem = std::make_unique<Saxpy>(options_.bytes, world_.rank());
            placed.kernel = rank_->places->place(
                {rank_->device.gpu, placed.place.memory_node, binding_name(placed.binding), placed.place.cpus}, *placed.problem);
            placed.kernel->begin();
            placed.iterations = 1;
            return message_of("cpus", placed.kernel->cpus());
        };
        return is_made(teller_, {placed.subject()}, [&] {
            for (const Message& each : world_.all_tell(place)) placed.cpus.push_back(value_in<std::vector<int>>(each));
            for (const Message& each : world_.gather(message_of("nodes", placed.kernel->memory_nodes())))
                placed.memory_nodes.push_back(value_in<std::vector<int>>(each));
        });
    }

    // A rank that has trouble keeps the others company at every barrier: none of them may wait for ever.
    RankRound repeat(Placed& placed, Message& trouble) const {
        RankRound sum;
        double begin = 0;
        for (int i = -warm_up_iterations; i < options_.iterations; ++i) {
            if (i == 0) begin = now();
            const double start = now();
            CallTimes step;
            if (trouble.word.empty()) trouble = trouble_of([&] { step = placed.kernel->call(); });
            const double computed = now();
            world_.barrier();
            const double met = now();
            if (i < 0) continue;
            sum.to_device += step.in;
            sum.kernel += step.compute;
            sum.to_host += step.out;
            sum.useful += computed - start;
            sum.waiting += met - computed;
            sum.elapsed = met - begin;
        }
        return sum;
    }

    // False where a rank gave up: it moved nothing, and all others waited for it.
    bool measure_round(Placed& placed) {
        begin(placed.subject());
        Message trouble = trouble_of([&] { bind_thread(placed.place.cpus); });
        world_.barrier();
        const RankRound own_round = repeat(placed, trouble);
        placed.iterations += static_cast<std::uint64_t>(warm_up_iterations + options_.iterations);
        const auto checked = [&] {
            throw_trouble(trouble);
            placed.problem->set_iterations(placed.iterations);
            placed.kernel->verify();
            return message_of("round", own_round);
        };
        return is_made(teller_, {placed.subject()}, [&] {
            std::vector<RankRound> round;
            for (const Message& each : world_.all_tell(checked)) round.push_back(value_in<RankRound>(each));
            placed.rounds.push_back(round);
        });
    }

    // As rank 0 says.
    bool goes_on(int rounds, double begin) const {
        if (running_time() - begin >= options_.budget) return false;
        if (options_.rounds > 0) return rounds < options_.rounds;
        const auto count = static_cast<std::size_t>(rounds);
        const auto settled = [](const std::unique_ptr<Placed>& each) { return is_settled(*each, target); };
        return count < looks.back() && !(is_look(count) && std::all_of(placed_.begin(), placed_.end(), settled));
    }
};

}  // namespace

int measure_saxpy_ranks(int argc, char** argv, const SaxpyOptions& options) {
    const ProgramRun run{name, options.words, utc_now(), "", options.host_device ? "" : cuda_of_kernels(), false, {}};
    return supervise_ranks({argc, argv, run, options, !options.host_device},
                           [&](MpiWorld& world, const Teller* teller) { SaxpyRanks(world, options, teller).measure(run); });
}

}  // namespace nearfar
