#include "supervisor/program.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "node/gpu_vendor.h"
#include "supervisor/supervisor.h"

namespace nearfar {
namespace {

const char* const name = "nearfar-copy";

// The cells that are asked for, or the program's own.
Matrix wanted_cells(const Program& program, const CommandLine& line, const Node& node) {
    if (!line.cells.empty()) return {line.cells, {}};
    if (line.check && node.usable_memory().empty()) return {};
    Matrix matrix = line.check ? Matrix{line.check(node), {}} : program.matrix(node, line.policy);
    for (Cell& cell : matrix.cells) cell.aspect = line.policy.aspect;
    return matrix;
}

int list(const Program& program, const CommandLine& line) {
    const Node node = read_node(line.gpus);
    Session session;
    std::vector<Cell> cells = wanted_cells(program, line, node).cells;
    set_absent_aside(cells, node, line.absent_fails, session);
    for (const Cell& cell : cells) std::printf("%s\n", cell.text().c_str());
    if (cells.empty() && node.gpus.empty())
        std::fprintf(stderr, "%s: this node has no %s GPU on its PCI bus: no cell to list\n", name, gpu_vendor.name);
    return 0;
}

// What copies of these sizes, with their memory and their verification, may take at most beside what everything may.
double seconds_for(const std::vector<std::size_t>& sizes) {
    constexpr double passes = 20;    // over each size: samples, poison, verification
    constexpr double slowest = 2e9;  // bytes a second
    return passes * static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0})) / slowest;
}

// In the process that measures.
void measure(const Program& program, const CommandLine& line, const ProgramRun& run, Teller& teller, const Rest* rest,
             double gone) {
    const double begin = now();
    catch_interrupts();
    Measurement measurement;
    measurement.run = run;
    CommandLine asked = line;
    if (line.policy.budget > 0) asked.policy.budget = std::max(line.policy.budget - gone, 1e-3);
    const Node node = read_node(rest != nullptr ? rest->gpus : line.gpus);
    std::vector<Cell> cells;
    if (rest != nullptr) {
        for (const std::string& key : rest->cells) {
            const auto is_asked = [&](const Cell& cell) { return cell.key() == key; };
            const auto asked_for = std::find_if(line.cells.begin(), line.cells.end(), is_asked);
            cells.push_back(asked_for == line.cells.end() ? parse_key(key) : *asked_for);
        }
        asked.policy.each_alone = true;
    } else {
        const Matrix wanted = wanted_cells(program, line, node);
        cells = wanted.cells;
        measurement.session.skipped = wanted.left_out;
        set_absent_aside(cells, node, line.absent_fails, measurement.session);
    }
    for (const PciGpu& gpu : node.gpus) measurement.gpus.push_back({gpu, {}, true});
    measurement.session.setup_seconds["node"] = now() - begin;
    teller.node(measurement.run, node, measurement.gpus);
    teller.gpus(node.gpus);
    teller.cells(cells);
    teller.news(measurement.session);
    const double allowed = line.policy.hang_seconds;
    const double allowed_sizes = allowed + seconds_for(line.policy.sizes);
    if (!line.policy.sizes.empty()) teller.under_way(0, 0, allowed_sizes + allowed, "set-up");
    measurement.progress = [&](const Step& step) {
        teller.news(measurement.session);
        const bool at_sizes = step.cells.size() == 1 && parse_key(step.cells[0]).aspect == Aspect::sizes;
        teller.under_way(step.position, step.count, at_sizes ? allowed_sizes : allowed, step.words, step.cells);
    };
    measurement.end = [&] {
        teller.node(measurement.run, node, measurement.gpus);
        teller.news(measurement.session);
        if (measurement.session.interrupted) teller.interrupted();
        teller.under_way(0, 0, allowed, "tear-down");
    };
    program.measure(asked, node, cells, measurement);
    if (!measurement.session.spent.empty()) throw ProcessSpent(measurement.session.spent);
}

}  // namespace

int run(const Program& program, const CommandLine& line) {
    if (line.help) {
        std::fputs(program.help().c_str(), stdout);
        return 0;
    }
    if (line.version) {
        std::printf("%s %s%s\n", name, NEARFAR_VERSION,
                    program.cuda.empty() ? "" : (std::string(" (") + gpu_vendor.runtime + " " + program.cuda + ")").c_str());
        return 0;
    }
    if (line.list) return list(program, line);
    std::this_thread::sleep_for(std::chrono::duration<double>(line.idle));
    Supervised how = supervised({name, line.words, utc_now(), "", program.cuda, line.policy.quick, {}}, line);
    for (const Cell& cell : line.policy.aggressors) how.run.aggressors.push_back(cell.text());
    return supervise(how,
                     [&](Teller& teller, const Rest* rest, double gone) { measure(program, line, how.run, teller, rest, gone); });
}

}  // namespace nearfar
