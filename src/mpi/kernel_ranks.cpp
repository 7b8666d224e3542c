#include "mpi/kernel_ranks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/fields.h"
#include "core/suspension.h"
#include "kernels/level_one/kernels_bench.h"
#include "kernels/problems/gemm.h"
#include "mpi/mpi_launch.h"
#include "mpi/placed_rank.h"
#include "mpi/supervised_ranks.h"

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
        if (!is_made(teller_, {""}, [&] { set_up(); })) return;
        const double begin = running_time();
        for (int round = 0;; ++round) {
            const std::vector<std::size_t> due = due_in(round, begin);
            if (due.empty()) break;
            for (const std::size_t i : due) visit(tasks_[i], i);
        }
        for (RankTask& task : tasks_)
            if (!task.ended) tell(task, true);
        run_.libraries = rank_->places->libraries();
        rank_->tell_node(run_, teller_);
    }

private:
    MpiWorld& world_;
    const KernelsOptions& options_;
    ProgramRun run_;
    const Teller* teller_;
    std::optional<PlacedRank> rank_;
    std::vector<RankTask> tasks_;

    void set_up() {
        run_.tensor_modes = tensor_modes();
        rank_.emplace(
            world_, PlacesAsked{options_.gpus, options_.host_device, options_.even_if_busy, options_.rate_only, true, false, ""});
        rank_->tell(world_, run_, teller_);
        plan();
    }

    // A binding that one rank cannot have is skipped on all.
    void plan() {
        const std::vector<Binding> bindings =
            options_.bindings.empty() ? std::vector<Binding>{Binding::gpu, Binding::wrong} : options_.bindings;
        std::map<Binding, std::vector<Subject>> subjects;
        std::map<Binding, std::vector<int>> cpus;
        for (const Binding binding : bindings) {
            const std::optional<int>& gpu = rank_->device.gpu;
            const auto place = [&]() -> Message {
                const RankPlacement placed = place_rank(rank_->node, rank_->home, binding);
                cpus[binding] = placed.cpus;
                return message_of("place", std::vector{gpu, std::optional(placed.memory_node)});
            };
            is_made(teller_, {binding_word(binding)}, [&] {
                for (const Message& message : world_.all_tell(place)) {
                    const auto numbers = value_in<std::vector<std::optional<int>>>(message);
                    subjects[binding].push_back({numbers.at(0), numbers.at(1).value_or(0), binding_word(binding)});
                }
            });
        }
        const auto rank = static_cast<std::size_t>(world_.rank());
        std::vector<Subject> own_subjects;
        std::vector<ProblemShape> shapes;
        std::vector<std::string> texts;
        for (const std::string& kernel : options_.kernels.empty() ? kernel_names() : options_.kernels)
            for (const ProblemSize size : options_.sizes)
                for (const Binding binding : bindings) {
                    if (subjects[binding].empty()) continue;
                    RankTask task{subjects[binding], make_problem(kernel, size), nullptr, {}, false};
                    task.subjects[rank].cpus = cpus[binding];
                    shapes.push_back(task.problem->shape());
                    own_subjects.push_back(task.subjects[rank]);
                    for (std::size_t each = 0; each < task.subjects.size(); ++each) {
                        task.figures.emplace_back(task.problem->shape());
                        texts.push_back(task.of_rank(each).text());
                    }
                    tasks_.push_back(std::move(task));
                }
        if (teller_ != nullptr) teller_->subjects(texts, kernels_heading());
        world_.all_do([&] { rank_->places->reserve(own_subjects, shapes); });
    }

    // The tasks of a round, as rank 0 says, which knows the figures of all.
    std::vector<std::size_t> due_in(int round, double begin) {
        const auto decide = [&]() -> Message {
            Message due{"due", {}};
            if (teller_ == nullptr || (round > 0 && options_.budget > 0 && running_time() - begin >= options_.budget)) return due;
            for (std::size_t i = 0; i < tasks_.size(); ++i)
                if (is_due(tasks_[i], round)) due.fields.push_back(std::to_string(i));
            return due;
        };
        const Message message = world_.all_tell(decide).front();
        std::vector<std::size_t> due;
        for (std::size_t i = 0; i < message.fields.size(); ++i) due.push_back(message.count(i));
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
        if (teller_ != nullptr) teller_->under_way(position, tasks_.size(), options_.hang_seconds, words);
        std::vector<std::string> texts;
        for (std::size_t each = 0; each < task.subjects.size(); ++each) texts.push_back(task.of_rank(each).text());
        task.ended = !is_made(teller_, texts, [&] {
            world_.all_do([&] {
                if (!task.placed) task.placed = rank_->places->place(task.subjects[rank], *task.problem);
                task.placed->begin();
            });
            const std::vector<Message> messages = world_.all_tell([&] { return message_of("visit", make_visit(*task.placed)); });
            if (teller_ == nullptr) return;
            for (std::size_t each = 0; each < messages.size(); ++each)
                task.figures[each].add(value_in<KernelVisit>(messages[each]));
            tell(task, false);
        });
    }

    void tell(const RankTask& task, bool finished) const {
        if (teller_ == nullptr) return;
        for (std::size_t each = 0; each < task.figures.size(); ++each)
            if (task.figures[each].visits() > 0)
                tell_figures(*teller_, task.of_rank(each), task.figures[each], options_.host_device, finished);
    }
};

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
    const ProgramRun run{name, options.words, utc_now(), "", options.host_device ? "" : cuda_of_kernels(), false, {}};
    return supervise_ranks({argc, argv, run, options, !options.host_device}, [&](MpiWorld& world, const Teller* teller) {
        if (teller != nullptr)
            world.when_waiting([&, teller](const std::string& ranks) {
                teller->under_way(0, 0, options.hang_seconds, std::string("kernels") + told::waiting_for + ranks);
            });
        KernelRanks(world, options, run, teller).measure();
    });
}

}  // namespace nearfar
