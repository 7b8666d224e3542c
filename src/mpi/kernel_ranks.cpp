#include "mpi/kernel_ranks.h"

#include <sched.h>

#include <algorithm>
#include <map>

#include "core/clock.h"
#include "core/error.h"
#include "core/fields.h"
#include "core/interrupt.h"
#include "kernels/level_one/kernels_bench.h"
#include "kernels/level_one/kernels_run.h"
#include "kernels/problems/tensor_modes.h"
#include "mpi/mpi_launch.h"
#include "mpi/mpi_world.h"
#include "mpi/rank_facts.h"
#include "mpi/supervised_ranks.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

const char* const name = "nearfar-kernels";
constexpr int most_visits = 3;

const char* binding_word(Binding binding) { return binding == Binding::gpu ? "right" : binding_name(binding); }

// One kernel at one size under one binding, on all ranks.
struct RankTask {
    std::vector<Subject> subjects;  // of every rank
    std::unique_ptr<Problem> problem;
    std::unique_ptr<PlacedKernel> placed;  // this rank's
    std::vector<KernelFigures> figures;    // of every rank; kept by rank 0
    bool ended = false;

    KernelTask of_rank(std::size_t rank) const { return {subjects[rank], problem->shape().kernel, problem->shape().size}; }
};

// `teller`: rank 0's, null on the others.
class KernelRanks {
public:
    KernelRanks(MpiWorld& world, const KernelsOptions& options, ProgramRun run, const Teller* teller)
        : world_(world), options_(options), run_(std::move(run)), teller_(teller) {}

    void measure() {
        home_.launcher_cpus = cpus_in_effect();
        home_.running_on = sched_getcpu();
        unbind_thread();
        try {
            find_devices();
            tell_who_is_where();
            plan();
        } catch (const Prevented& why) {
            return skipped({"", why.code, why.what()});
        } catch (const Failure& why) {
            return failed({"", why.code, why.what()});
        }
        const double begin = now();
        for (int round = 0;; ++round) {
            const std::vector<std::size_t> due = due_in(round, begin);
            if (due.empty()) break;
            for (const std::size_t i : due) visit(tasks_[i], i);
        }
        for (RankTask& task : tasks_)
            if (!task.ended) tell(task, true);
        run_.libraries = places_->libraries();
        if (teller_ != nullptr) teller_->node(run_, node_, gpus_);
    }

private:
    MpiWorld& world_;
    const KernelsOptions& options_;
    ProgramRun run_;
    const Teller* teller_;
    RankHome home_;
    Node node_;
    std::unique_ptr<KernelPlaces> places_;
    RankDevice device_;
    std::vector<DocumentGpu> gpus_;  // of rank 0
    std::vector<RankTask> tasks_;

    void skipped(const NotMeasured& why) const {
        if (teller_ != nullptr) teller_->skipped(why);
    }
    void failed(const NotMeasured& why) const {
        if (teller_ != nullptr) teller_->failed(why);
    }
    void under_way(std::size_t position, const std::string& words) const {
        if (teller_ != nullptr) teller_->under_way(position, tasks_.size(), options_.hang_seconds, words);
    }

    void find_devices() {
        const std::vector<Message> identities = world_.all_tell([&]() -> Message {
            const int here = ranks_on(world_, world_.mine().host);
            if (here != world_.size()) throw WrongUse("all ranks have to be on one host: kernels are measured node by node");
            node_ = read_node(options_.gpus);
            require_cores(world_, node_, "");
            places_ = options_.host_device ? host_places(node_) : gpu_places(node_, options_.even_if_busy, options_.rate_only);
            device_ = places_->of_rank(world_.mine().on_host, here);
            return {"identity", {device_.identity}};
        });
        world_.all_do([&] { require_own_devices(identities, world_); });
    }

    void tell_who_is_where() {
        const MpiFacts facts = gather_facts(world_, device_.gpu, device_.numa_node, home_);
        if (teller_ == nullptr) return;
        run_.driver = places_->driver();
        run_.tensor_modes = tensor_modes();
        gpus_ = places_->gpus();
        for (const RankFacts& each : facts.ranks)
            if (each.gpu) gpus_[static_cast<std::size_t>(*each.gpu)].visible = true;
        teller_->node(run_, node_, gpus_);
        teller_->gpus(node_.gpus);
        teller_->mpi(facts);
    }

    // A binding that one rank cannot have is skipped on all.
    void plan() {
        const std::vector<Binding> bindings =
            options_.bindings.empty() ? std::vector<Binding>{Binding::gpu, Binding::wrong} : options_.bindings;
        std::map<Binding, std::vector<Subject>> subjects;
        std::map<Binding, std::vector<int>> cpus;
        for (const Binding binding : bindings) {
            try {
                for (const Message& told : world_.all_tell([&]() -> Message {
                         const RankPlacement place = place_rank(node_, home_, binding);
                         cpus[binding] = place.cpus;
                         return {"place", {device_.gpu ? std::to_string(*device_.gpu) : "", std::to_string(place.memory_node)}};
                     }))
                    subjects[binding].push_back(
                        {told.field(0).empty() ? std::nullopt : std::optional<int>(static_cast<int>(told.count(0))),
                         static_cast<int>(told.count(1)), binding_word(binding)});
            } catch (const Prevented& why) {
                skipped({binding_word(binding), why.code, why.what()});
            }
        }
        const auto rank = static_cast<std::size_t>(world_.rank());
        std::vector<Subject> mine;
        std::vector<ProblemShape> shapes;
        std::vector<std::string> texts;
        for (const std::string& kernel : options_.kernels.empty() ? kernel_names() : options_.kernels)
            for (const ProblemSize size : options_.sizes)
                for (const Binding binding : bindings) {
                    if (subjects[binding].empty()) continue;
                    RankTask task{subjects[binding], make_problem(kernel, size), nullptr, {}, false};
                    task.subjects[rank].cpus = cpus[binding];
                    shapes.push_back(task.problem->shape());
                    mine.push_back(task.subjects[rank]);
                    for (std::size_t each = 0; each < task.subjects.size(); ++each) {
                        task.figures.emplace_back(task.problem->shape());
                        texts.push_back(task.of_rank(each).text());
                    }
                    tasks_.push_back(std::move(task));
                }
        if (teller_ != nullptr) teller_->subjects(texts, kernels_heading());
        world_.all_do([&] { places_->reserve(mine, shapes); });
    }

    // The tasks of a round, as rank 0 says, which knows the figures of all.
    std::vector<std::size_t> due_in(int round, double begin) {
        const auto decide = [&]() -> Message {
            Message due{"due", {}};
            if (teller_ == nullptr || (round > 0 && options_.budget > 0 && now() - begin >= options_.budget)) return due;
            for (std::size_t i = 0; i < tasks_.size(); ++i)
                if (is_due(tasks_[i], round)) due.fields.push_back(std::to_string(i));
            return due;
        };
        const Message told = world_.all_tell(decide).front();
        std::vector<std::size_t> due;
        for (std::size_t i = 0; i < told.fields.size(); ++i) due.push_back(told.count(i));
        return due;
    }

    // Where one rank's figures are not settled all go on.
    bool is_due(const RankTask& task, int round) const {
        return !task.ended && std::any_of(task.figures.begin(), task.figures.end(), [&](const KernelFigures& figures) {
            return is_visit_due(round, options_.visits, most_visits, figures);
        });
    }

    // All ranks begin together.
    void visit(RankTask& task, std::size_t position) {
        const auto rank = static_cast<std::size_t>(world_.rank());
        const std::string words = task.of_rank(0).text() + " and the other ranks'";
        under_way(position, words);
        try {
            world_.all_do([&] {
                if (!task.placed) task.placed = places_->place(task.subjects[rank], *task.problem);
                task.placed->begin();
            });
            const std::vector<Message> told = world_.all_tell([&] { return message_of("visit", make_visit(*task.placed)); });
            if (teller_ == nullptr) return;
            for (std::size_t each = 0; each < told.size(); ++each) task.figures[each].add(value_in<KernelVisit>(told[each]));
            tell(task, false);
        } catch (const Prevented& why) {
            end(task, {"", why.code, why.what()}, &KernelRanks::skipped);
        } catch (const Failure& why) {
            end(task, {"", why.code, why.what()}, &KernelRanks::failed);
        }
    }

    void end(RankTask& task, NotMeasured why, void (KernelRanks::*told)(const NotMeasured&) const) const {
        task.ended = true;
        for (std::size_t each = 0; each < task.subjects.size(); ++each) {
            why.cell = task.of_rank(each).text();
            (this->*told)(why);
        }
    }

    void tell(const RankTask& task, bool finished) const {
        if (teller_ == nullptr) return;
        for (std::size_t each = 0; each < task.figures.size(); ++each)
            if (task.figures[each].visits() > 0)
                tell_figures(*teller_, task.of_rank(each), task.figures[each], options_.host_device, finished);
    }
};

int measure(MpiWorld& world, const KernelsOptions& options, const ProgramRun& run, const Teller* teller) {
    catch_interrupts();
    if (teller != nullptr)
        world.when_waiting([&](const std::string& ranks) {
            teller->under_way(0, 0, options.hang_seconds, std::string("kernels") + told::waiting_for + ranks);
        });
    {
        KernelRanks ranks(world, options, run, teller);
        ranks.measure();
    }
    world.when_waiting({});
    if (teller != nullptr) teller->end();
    world.barrier();  // a rank that is gone before rank 0 has told the end counts as dead
    return 0;
}

}  // namespace

bool measures_as_rank(const KernelsOptions& options) {
    if (!options.bindings.empty() && !launched_rank())
        throw WrongUse("--binding is for ranks: start nearfar-kernels by mpirun, one rank a GPU");
    const bool is_rank = launched_size().value_or(1) > 1 || !options.bindings.empty();
    if (is_rank && !options.subjects.empty())
        throw WrongUse("'" + options.subjects.front() +
                       "': under mpirun each rank has its GPU, and --binding says where its memory is");
    return is_rank;
}

int measure_kernel_ranks(int argc, char** argv, const KernelsOptions& options) {
    const ProgramRun program{name, options.words, utc_now(), "", options.host_device ? "" : cuda_of_kernels(), false, {}};
    const auto run = [&](const Teller* teller) {
        return run_mpi_program(name, argc, argv, MpiThreads::main_alone,
                               [&](MpiWorld& world) { return measure(world, options, program, teller); });
    };
    return supervise_ranks(program, options, options.hang_seconds, !options.host_device, run);
}

}  // namespace nearfar
