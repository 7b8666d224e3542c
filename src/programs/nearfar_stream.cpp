// nearfar-stream: STREAM by the cores of one NUMA node on the memory of another, and on all nodes at once.
#include <cstdio>
#include <mutex>

#include "flow/clock.h"
#include "flow/error.h"
#include "flow/interrupt.h"
#include "flow/matrix.h"
#include "flow/program.h"
#include "flow/stream_bench.h"

using namespace nearfar;

namespace {

const char* const help =
    "nearfar-stream [CELL...] [options]: STREAM on host memory, threads bound one a core\n\n"
    "A cell is c0:n1/triad (the cores of NUMA node 0 on the memory of NUMA node 1) with copy, scale, add or triad, or several\n"
    "of them at once joined by '+'. Without cells: triad of every node's cores on every node's memory, and all nodes at once.\n\n";

const char* const examples =
    "\nexamples:\n"
    "  nearfar-stream                             the whole matrix, as a table\n"
    "  nearfar-stream c0:n0/copy c0:n1/copy       near and far copies\n"
    "  nearfar-stream c0:n0/triad+c1:n1/triad     both nodes at once\n"
    "\nexit codes: 0 measured, 1 a cell failed, 2 wrong use, 3 something could not be measured\n";

void require_stream(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells)
        for (const Flow& flow : cell.flows)
            if (!flow.is_stream_flow())
                throw WrongUse("cell '" + cell.text() + "': copies with GPUs are measured by nearfar-copy");
}

int measure(const CommandLine& line) {
    const double begin = now();
    ProgramRun run{"nearfar-stream", line.words, utc_now(), 0, "", ""};
    const Node node = read_node(line.gpus);
    require_stream(line.cells);
    Session session;
    std::vector<Cell> cells = line.cells.empty() ? stream_matrix(node) : line.cells;
    set_absent_aside(cells, node, line.absent_fails, session);
    if (line.list) {
        for (const Cell& cell : cells) std::printf("%s\n", cell.text().c_str());
        return 0;
    }
    std::mutex mutex;
    session.setup_seconds["node"] = now() - begin;
    std::vector<DocumentGpu> gpus;
    for (const PciGpu& gpu : node.gpus) gpus.push_back({gpu, {}, true});
    const auto print = [&] {
        run.seconds = now() - begin;
        print_session(line, document(run, node, gpus, session), session);
    };
    Watchdog watchdog(line.policy.hang_seconds, session, mutex, print);
    StreamBench bench(node, line.policy);
    bench.measure(cells, session, mutex, [&](std::size_t position, std::size_t count, const std::string& cell) {
        watchdog.begin(cell);
        print_progress(position, count, cell);
    });
    end_progress();
    const std::lock_guard<std::mutex> lock(mutex);
    print();
    return exit_code(session);
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-stream", [&] {
        const CommandLine line = parse_command_line(argc, argv);
        if (line.help) {
            std::printf("%s%s%s", help, common_options_help, examples);
            return 0;
        }
        if (line.version) {
            std::printf("nearfar-stream %s\n", NEARFAR_VERSION);
            return 0;
        }
        catch_interrupts();
        return measure(line);
    });
}
