// --sustain: the load of all GPUs, and what is said of it.
#include <algorithm>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/suspension.h"
#include "core/trouble.h"
#include "gpu/open_gpus.h"
#include "kernels/gpu_compute/cuda_library.h"
#include "kernels/level_one/kernels_bench.h"
#include "kernels/level_one/sustained_load.h"
#include "kernels/level_one/visit.h"
#include "kernels/problems/gemm.h"
#include "output/table.h"

namespace nearfar {
namespace {

using Series = std::vector<SustainedSecond>;

constexpr std::size_t most_warm_up = 10;  // seconds that are in no figure: a sixth of all, at most so many
constexpr double within = 0.01;           // of the median, its interval, where it converged
constexpr double between_looks = 0.02;
const char* const heading = "GPU   kernel       TFLOP/s  seconds       MHz         W   C/memory  wrong  clocks held down by\n";

struct Loaded {
    int gpu = 0;
    std::unique_ptr<SustainedLoad> load{};
    std::thread thread{};
    Message trouble{};  // of its set-up; and of its load, once that has ended
    std::atomic<bool> ended{false};

    std::string text() const { return "g" + std::to_string(gpu); }
    Series series() const { return load ? load->series() : Series{}; }
    bool is_lost() const { return ended && trouble.word == trouble_word::failure && trouble.field(0) == "lost"; }
};

// In how many seconds results were wrong, and how many in the first of them; empty: in none.
std::string wrong_words(const Series& series) {
    const auto is_wrong = [](const SustainedSecond& second) { return second.wrong > 0; };
    const auto first = std::find_if(series.begin(), series.end(), is_wrong);
    if (first == series.end()) return "";
    return std::to_string(first->wrong) + (first->wrong == 1 ? " wrong element" : " wrong elements") + " in second " +
           std::to_string(first - series.begin() + 1) + "; wrong results in " +
           std::to_string(std::count_if(series.begin(), series.end(), is_wrong)) + " of " + std::to_string(series.size()) +
           " seconds";
}

Summary rate_of(const Series& series, const ProblemShape& shape) {
    std::vector<double> rates;
    for (std::size_t i = std::min(most_warm_up, series.size() / 6); i < series.size(); ++i)
        rates.push_back(series[i].rate(shape));
    return summarise(rates);
}

std::string row(const std::string& name, const Series& series, const ProblemShape& shape) {
    const RunningState& state = series.back().state.running;
    std::set<std::string> held;
    for (const SustainedSecond& second : series) held.insert(second.state.throttle.begin(), second.state.throttle.end());
    return formatted("%-5s %-10s %9.2f %8zu %9d %9.0f %6d/%-6d %4s  %s\n", name.c_str(), shape.kernel.c_str(),
                     rate_of(series, shape).median * 1e-3, series.size(), state.sm_clock.value_or(0), state.power.value_or(0),
                     state.temperature.value_or(0), state.memory_temperature.value_or(0),
                     wrong_words(series).empty() ? "no" : "YES", joined_list({held.begin(), held.end()}).c_str());
}

std::string document_item(const std::string& name, const Series& series, const ProblemShape& shape) {
    CellResult result;
    result.quantity = "kernel.sustained.rate";
    result.unit = shape.unit;
    result.subject = name;
    result.bytes = shape.bytes();
    const Summary rate = rate_of(series, shape);
    result.converged = rate.half_width() <= within;
    Verified verified{shape.out_bytes, 0, 0};
    Json seconds;
    seconds.begin_array();
    for (const SustainedSecond& second : series) {
        seconds.object([&] {
            seconds.field("at", second.at).field("rate", second.rate(shape)).field("products", second.products);
            write_state(seconds.field("wrong", second.wrong), second.state);
        });
        verified.add({0, static_cast<std::uint64_t>(second.products), static_cast<std::uint64_t>(second.products)});
        result.seconds += second.seconds;
    }
    if (wrong_words(series).empty()) result.verified = verified;
    result.members = {{"kernel", Json().value(shape.kernel).text()}, {"series", seconds.end_array().text()}};
    result.flows.push_back(part_result(name, rate));
    return result_json(result);
}

class Sustained {
public:
    Sustained(const KernelsOptions& options, const Node& node, Teller& teller)
        : options_(options), teller_(teller), shape_(make_problem(options.kernels.front(), options.sizes.front())->shape()),
          gpus_(node, options.even_if_busy) {}

    const OpenGpus& gpus() const { return gpus_; }

    void open(const std::vector<int>& wanted) {
        gpus_.open(wanted);
        for (const int gpu : wanted) {
            Loaded& loaded = *loads_.emplace_back(std::make_unique<Loaded>());
            loaded.gpu = gpu;
            teller_.under_way(0, 0, 2 * options_.hang_seconds, "set-up of " + loaded.text(), {loaded.text()});
            loaded.trouble = trouble_of([&] {
                device(loaded).require();
                loaded.load = std::make_unique<SustainedLoad>(device(loaded), gpus_.nvml(), shape_);
            });
            loaded.ended = loaded.load == nullptr;
        }
    }

    // Returns whether all threads have ended: one that hangs in the driver never does.
    bool run() {
        const double begin = running_time();
        tell_progress(1);
        for (const auto& each : loads_) {
            if (each->ended) continue;
            const Message refused = trouble_of([&, loaded = each.get()] {
                loaded->thread = std::thread([this, begin, loaded] {
                    loaded->trouble = trouble_of([&] { loaded->load->run(begin, options_.sustain); });
                    loaded->ended = true;
                });
            });
            if (each->thread.joinable()) continue;
            each->trouble = refused;
            each->ended = true;
        }
        const auto goes_on = [&](const auto& each) {
            return !each->ended && running_time() - std::max(each->load->last_progress(), begin) <= options_.hang_seconds;
        };
        for (double last_report = begin; std::any_of(loads_.begin(), loads_.end(), goes_on);) {
            sleep_until(now() + between_looks);
            if (running_time() - last_report < 1) continue;
            last_report = running_time();
            tell_progress(last_report - begin);
        }
        bool all_ended = true;
        for (const auto& each : loads_) {
            const bool ended = each->ended;
            all_ended = all_ended && ended;
            if (each->thread.joinable() && ended) each->thread.join();
            if (each->thread.joinable()) each->thread.detach();
        }
        return all_ended;
    }

    void tell_results(bool all_ended) {
        const auto lost = std::count_if(loads_.begin(), loads_.end(), [](const auto& each) { return each->is_lost(); });
        for (const auto& each : loads_)
            if (!each->series().empty()) teller_.finished(each->text(), {item(*each)});
        bool is_known = true;
        for (const auto& each : loads_) {
            const std::string name = each->text() + " (" + device(*each).on_bus.pci + ")";
            const Series series = each->series();
            if (const std::string wrong = wrong_words(series); !wrong.empty())
                teller_.failed({each->text(), "wrong_data", std::string(name).append(": ").append(wrong)});
            if (!each->ended)
                teller_.failed({each->text(), "hang",
                                name + ": no product completed for " + formatted("%g s", options_.hang_seconds) + ", in second " +
                                    std::to_string(series.size() + 1)});
            else if (each->trouble.word == trouble_word::prevented)
                teller_.skipped({each->text(), each->trouble.field(0), each->trouble.field(1)});
            else if (lost > 1 && each->is_lost() && !gpus_.nvml().lost(device(*each).on_bus.pci))
                is_known = false;
            else if (!each->trouble.word.empty())
                tell_failure(*each, name, all_ended);
            else if (series.empty())
                teller_.skipped({each->text(), "interrupted", "interrupted before anything was measured"});
        }
        if (interrupted()) teller_.interrupted();
        // The loss of one may have taken the others along.
        if (!is_known) throw ProcessSpent("several GPUs were lost at the same time");
    }

private:
    const KernelsOptions& options_;
    Teller& teller_;
    ProblemShape shape_;
    OpenGpus gpus_;
    std::vector<std::unique_ptr<Loaded>> loads_;

    const GpuDevice& device(const Loaded& loaded) const { return gpus_.at(loaded.gpu); }

    std::string item(const Loaded& loaded) const {
        return (teller_.json() ? document_item : row)(loaded.text(), loaded.series(), shape_);
    }

    // Not of CUDA where a GPU hangs: it might hang too.
    void tell_failure(const Loaded& loaded, const std::string& name, bool may_ask) {
        const Failure why(loaded.trouble.field(0), loaded.trouble.field(1));
        const Failure blamed = may_ask ? gpus_.blame(parse_cell(loaded.text() + ":" + loaded.text()), why) : why;
        const std::string words = blamed.what();
        teller_.failed({loaded.text(), blamed.code, words.find(name) == std::string::npos ? name + ": " + words : words});
    }

    void tell_progress(double seconds) const {
        std::vector<std::string> under_way;
        for (const auto& each : loads_) {
            if (!each->ended) under_way.push_back(each->text());
            if (!each->series().empty()) teller_.so_far(each->text(), {item(*each)});
        }
        const auto all = static_cast<std::size_t>(options_.sustain);
        const std::size_t second = std::clamp(static_cast<std::size_t>(seconds), std::size_t{1}, all) - 1;
        teller_.under_way(second, all, 2 * options_.hang_seconds, "seconds at full load", under_way);
    }
};

std::vector<int> wanted_gpus(const std::vector<std::string>& subjects, const KernelsOptions& options, const Node& node,
                             std::vector<NotMeasured>& absent) {
    std::set<int> wanted;
    for (const std::string& word : subjects) {
        const int gpu = parse_gpu(word);
        if (static_cast<std::size_t>(gpu) < node.gpus.size()) {
            wanted.insert(gpu);
            continue;
        }
        absent.push_back({word, "absent", "'" + word + "': this node has no such GPU, of " + std::to_string(node.gpus.size())});
        if (!options.absent_fails) throw WrongUse(absent.back().reason);
    }
    for (int gpu = 0; subjects.empty() && gpu < static_cast<int>(node.gpus.size()); ++gpu) wanted.insert(gpu);
    return {wanted.begin(), wanted.end()};
}

}  // namespace

void run_sustained(const KernelsOptions& options, ProgramRun run, Teller& teller, const Rest* rest) {
    catch_interrupts();
    const Node node = read_node(rest != nullptr ? rest->gpus : options.gpus);
    std::vector<NotMeasured> absent;
    const std::vector<int> wanted = wanted_gpus(rest != nullptr ? rest->cells : options.subjects, options, node, absent);
    std::vector<std::string> texts;
    for (const int gpu : wanted) texts.push_back("g" + std::to_string(gpu));
    for (const NotMeasured& each : absent) texts.push_back(each.cell);
    run.tensor_modes = tensor_modes();
    teller.node(run, node);
    teller.subjects(texts, heading);
    for (const NotMeasured& each : absent) teller.failed(each);
    if (texts.empty()) teller.skipped({"", "missing_library", "this node has no NVIDIA GPU on its PCI bus"});
    if (wanted.empty()) return;
    // A process before this one died under load, and which GPU it was is not known: each is loaded by itself.
    std::vector<std::vector<int>> together{wanted};
    if (rest != nullptr) {
        together.clear();
        for (const int gpu : wanted) together.push_back({gpu});
    }
    for (const std::vector<int>& gpus : together) {
        auto sustained = std::make_unique<Sustained>(options, node, teller);
        run.driver = sustained->gpus().nvml().driver_version();
        sustained->open(gpus);
        run.libraries = opened_libraries();
        teller.node(run, node, sustained->gpus().shown());
        const bool all_ended = sustained->run();
        sustained->tell_results(all_ended);
        if (!all_ended) [[maybe_unused]]
            Sustained* const kept = sustained.release();  // what hangs uses it
        if (interrupted()) break;
    }
    teller.under_way(0, 0, options.hang_seconds, "tear-down");
}

}  // namespace nearfar
