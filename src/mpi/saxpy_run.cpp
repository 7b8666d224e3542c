#include "mpi/saxpy_run.h"

#include <algorithm>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "core/statistics.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr int warm_up_iterations = 2;

// What went wrong on one rank as a text: "s CODE" (skipped) or "f CODE" (failed), a line's end, the words. Empty: nothing did.
std::string trouble_of(const std::function<void()>& step) {
    try {
        step();
    } catch (const Prevented& why) {
        return "s " + why.code + "\n" + why.what();
    } catch (const Failure& why) {
        return "f " + why.code + "\n" + why.what();
    }
    return "";
}

// Numbers travel as they lie in memory: all ranks are one program.
template <typename T>
std::string as_text(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename T>
T from_text(const std::string& text) {
    T value{};
    std::memcpy(&value, text.data(), std::min(sizeof value, text.size()));
    return value;
}

std::vector<int> numbers(const std::string& text) {
    std::vector<int> found(text.size() / sizeof(int));
    std::memcpy(found.data(), text.data(), found.size() * sizeof(int));
    return found;
}

std::string as_text(const std::vector<int>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int)};
}

}  // namespace

SaxpyRun::SaxpyRun(const MpiWorld& world, const Node& node, const SaxpyOptions& options, const RankHome& home,
                   SaxpyDevice& device, SaxpyProgress& progress, std::function<void(const std::string&)> moved)
    : world_(world), node_(node), options_(options), home_(home), device_(device), progress_(progress), moved_(std::move(moved)) {
}

// Whether no rank has trouble; rank 0 notes the first that has.
bool SaxpyRun::agree(Binding binding, const std::string& trouble) {
    const std::vector<std::string> troubles = world_.gather(trouble);
    const auto first = std::find_if(troubles.begin(), troubles.end(), [](const std::string& words) { return !words.empty(); });
    const bool fine = world_.broadcast(first == troubles.end() ? "fine" : "not") == "fine";
    if (!fine && world_.rank() == 0) {
        const RankPlace& place = world_.places()[static_cast<std::size_t>(first - troubles.begin())];
        const std::size_t line = first->find('\n');
        const NotMeasured said{saxpy_subject(binding), first->substr(2, line - 2),
                               "rank " + std::to_string(place.rank) + " on " + place.host + ": " + first->substr(line + 1)};
        const std::lock_guard<std::mutex> lock(progress_.mutex);
        ((*first)[0] == 's' ? progress_.skipped : progress_.failed).push_back(said);
    }
    return fine;
}

bool SaxpyRun::set_up(Placed& placed) {
    moved_("set-up of " + saxpy_subject(placed.binding));
    std::vector<int> in_effect;
    const std::string trouble = trouble_of([&] {
        placed.place = place_rank(node_, home_, placed.binding);
        in_effect = bind_thread(placed.place.cpus);
        placed.vectors = std::make_unique<SaxpyVectors>(node_, placed.place.memory_node, options_.bytes, world_.rank());
        placed.prepared = device_.prepare(*placed.vectors);
    });
    if (!agree(placed.binding, trouble)) return false;
    BindingRounds begun;
    begun.binding = placed.binding;
    for (const std::string& cpus : world_.gather(as_text(in_effect))) begun.cpus.push_back(numbers(cpus));
    for (const std::string& nodes : world_.gather(as_text(placed.vectors->memory_nodes())))
        begun.memory_nodes.push_back(numbers(nodes));
    const std::lock_guard<std::mutex> lock(progress_.mutex);
    progress_.measured.push_back(begun);
    return true;
}

// A rank that has trouble keeps the others company at every barrier: none of them may wait for ever.
RankRound SaxpyRun::repeat(Placed& placed, std::string& trouble) {
    RankRound sum;
    double begin = 0;
    for (int i = -warm_up_iterations; i < options_.iterations; ++i) {
        if (i == 0) begin = now();
        const double start = now();
        SaxpyStep step;
        if (trouble.empty()) trouble = trouble_of([&] { step = device_.iterate(*placed.vectors); });
        const double computed = now();
        world_.barrier();
        const double met = now();
        if (i < 0) continue;
        sum.to_device += step.to_device;
        sum.kernel += step.kernel;
        sum.to_host += step.to_host;
        sum.useful += computed - start;
        sum.waiting += met - computed;
        sum.elapsed = met - begin;
    }
    return sum;
}

bool SaxpyRun::measure_round(Placed& placed) {
    moved_(saxpy_subject(placed.binding));
    std::string trouble = trouble_of([&] { bind_thread(placed.place.cpus); });
    world_.barrier();
    const RankRound mine = repeat(placed, trouble);
    placed.iterations += static_cast<std::uint64_t>(warm_up_iterations + options_.iterations);
    if (trouble.empty())
        trouble = trouble_of([&] {
            const std::size_t wrong = placed.vectors->wrong_after(placed.iterations);
            if (wrong > 0)
                throw Failure("wrong_data", std::to_string(wrong) + " of " + std::to_string(placed.vectors->length()) +
                                                " answers are wrong after " + std::to_string(placed.iterations) + " iterations");
        });
    std::vector<RankRound> round;
    for (const std::string& times : world_.gather(as_text(mine))) round.push_back(from_text<RankRound>(times));
    const bool fine = agree(placed.binding, trouble);
    if (world_.rank() != 0) return fine;
    const std::lock_guard<std::mutex> lock(progress_.mutex);
    const auto mine_among = std::find_if(progress_.measured.begin(), progress_.measured.end(),
                                         [&](const BindingRounds& each) { return each.binding == placed.binding; });
    if (fine)
        mine_among->rounds.push_back(round);
    else
        progress_.measured.erase(mine_among);  // a rank that gave up moved nothing, and all others waited for it
    return fine;
}

bool SaxpyRun::go_on(int rounds, double begin) {
    std::string word = "stop";
    if (world_.rank() == 0) {
        const auto count = static_cast<std::size_t>(rounds);
        const bool look = std::find(looks.begin(), looks.end(), count) != looks.end();
        const bool settled = look && std::all_of(progress_.measured.begin(), progress_.measured.end(),
                                                 [](const BindingRounds& each) { return is_settled(each, saxpy_target); });
        const bool more = options_.rounds > 0 ? rounds < options_.rounds : !settled && count < looks.back();
        if (more && now() - begin < options_.budget) word = "more";
    }
    return world_.broadcast(word) == "more";
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
