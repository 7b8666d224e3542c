#include "mpi/saxpy_run.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/fields.h"
#include "core/statistics.h"
#include "core/trouble.h"
#include "mpi/supervised_ranks.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr int warm_up_iterations = 2;

}  // namespace

// What all ranks told, or nothing where one of them could not.
std::vector<Message> SaxpyRun::all_tell(Binding binding, const std::function<Message()>& step) {
    std::vector<Message> told;
    is_made(teller_, {saxpy_subject(binding)}, [&] { told = world_.all_tell(step); });
    return told;
}

bool SaxpyRun::set_up(Placed& placed) {
    moved_("set-up of " + saxpy_subject(placed.binding));
    const std::vector<Message> cpus = all_tell(placed.binding, [&] {
        placed.place = place_rank(rank_.node, rank_.home, placed.binding);
        placed.problem = std::make_unique<Saxpy>(options_.bytes, world_.rank());
        placed.kernel = rank_.places->place(
            {rank_.device.gpu, placed.place.memory_node, binding_name(placed.binding), placed.place.cpus}, *placed.problem);
        placed.kernel->begin();
        placed.iterations = 1;
        return message_of("cpus", placed.kernel->cpus());
    });
    if (cpus.empty()) return false;
    BindingRounds begun;
    begun.binding = placed.binding;
    for (const Message& each : cpus) begun.cpus.push_back(value_in<std::vector<int>>(each));
    for (const Message& each : world_.gather(message_of("nodes", placed.kernel->memory_nodes())))
        begun.memory_nodes.push_back(value_in<std::vector<int>>(each));
    measured_.push_back(begun);
    return true;
}

// A rank that has trouble keeps the others company at every barrier: none of them may wait for ever.
RankRound SaxpyRun::repeat(Placed& placed, Message& trouble) {
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

bool SaxpyRun::measure_round(Placed& placed) {
    moved_(saxpy_subject(placed.binding));
    Message trouble = trouble_of([&] { bind_thread(placed.place.cpus); });
    world_.barrier();
    const RankRound mine = repeat(placed, trouble);
    placed.iterations += static_cast<std::uint64_t>(warm_up_iterations + options_.iterations);
    const std::vector<Message> told = all_tell(placed.binding, [&] {
        throw_trouble(trouble);
        placed.problem->set_iterations(placed.iterations);
        placed.kernel->verify();
        return message_of("round", mine);
    });
    const auto measured = std::find_if(measured_.begin(), measured_.end(),
                                       [&](const BindingRounds& each) { return each.binding == placed.binding; });
    if (told.empty()) {  // a rank that gave up moved nothing, and all others waited for it
        measured_.erase(measured);
        return false;
    }
    measured->rounds.emplace_back();
    for (const Message& each : told) measured->rounds.back().push_back(value_in<RankRound>(each));
    return true;
}

bool SaxpyRun::go_on(int rounds, double begin) {
    const auto decide = [&]() -> Message {
        if (world_.rank() != 0) return {};
        const auto count = static_cast<std::size_t>(rounds);
        const bool look = std::find(looks.begin(), looks.end(), count) != looks.end();
        const bool settled = look && std::all_of(measured_.begin(), measured_.end(),
                                                 [](const BindingRounds& each) { return is_settled(each, saxpy_target); });
        const bool more = options_.rounds > 0 ? rounds < options_.rounds : !settled && count < looks.back();
        return {more && now() - begin < options_.budget ? "more" : "stop", {}};
    };
    return world_.all_tell(decide).front().word == "more";
}

void SaxpyRun::run() {
    std::vector<std::unique_ptr<Placed>> placed;
    for (const Binding binding : options_.bindings) {
        auto next = std::make_unique<Placed>();
        next->binding = binding;
        if (set_up(*next)) placed.push_back(std::move(next));
    }
    const double begin = now();
    int rounds = 0;
    do {
        // There and back: what drifts hits every binding alike.
        if (rounds % 2 == 1) std::reverse(placed.begin(), placed.end());
        for (std::unique_ptr<Placed>& each : placed)
            if (!measure_round(*each)) each.reset();
        placed.erase(std::remove(placed.begin(), placed.end(), nullptr), placed.end());
        if (rounds % 2 == 1) std::reverse(placed.begin(), placed.end());
        ++rounds;
    } while (!placed.empty() && go_on(rounds, begin));
}

}  // namespace nearfar
