#include "output/program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>

#include "cell/sizes.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "output/rest.h"

namespace nearfar {
namespace {

constexpr int wrong_use = 2;

bool expected_skip(const NotMeasured& cell) { return cell.code == "representative" || cell.code == "unsupported"; }

void print_row(const std::string& name, const Summary& rate, const std::optional<double>& ceiling, bool converged) {
    std::printf("%-28s %9.2f  %9.2f – %-9.2f %3zu ", name.c_str(), rate.median, rate.low, rate.high, rate.n());
    if (ceiling)
        std::printf("%8.1f %3.0f%%", *ceiling, 100 * rate.median / *ceiling);
    else
        std::printf("%8s %4s", "-", "-");
    std::printf("%s\n", converged ? "" : "  not converged");
}

void print_table(const Session& session) {
    if (!session.results.empty()) std::printf("%-28s %9s  %9s   %-9s %3s %8s\n", "cell", "GB/s", "interval", "", "n", "ceiling");
    const bool by_size = !session.curves.empty();
    for (const CellResult& result : session.results) {
        if (result.flows.size() == 1) {
            const bool timed = result.quantity.rfind("latency.", 0) == 0;
            const std::string size = by_size ? " " + size_words(result.bytes)
                                     : timed ? " " + result.quantity.substr(8) + ", us"
                                             : "";
            print_row(result.cell.text() + size, result.total, result.flows[0].ceiling, result.converged);
        } else {
            print_row(result.cell.text(), result.total, {}, result.converged);
            for (const FlowResult& flow : result.flows)
                print_row("  " + flow.flow.text(), flow.rate, flow.ceiling, result.converged);
        }
        for (const AggressorRate& aggressor : result.aggressors)
            print_row("  aggressor " + aggressor.flow, aggressor.rate, {}, true);
    }
    for (const SizeCurve& curve : session.curves)
        std::printf("%-28s half of its largest rate at %.0f bytes\n", curve.cell.c_str(), curve.half_bandwidth_bytes);
    std::size_t represented = 0;
    for (const NotMeasured& cell : session.skipped) {
        if (cell.code == "representative")
            ++represented;
        else
            std::printf("%-28s skipped: %s\n", cell.cell.c_str(), cell.reason.c_str());
    }
    if (represented > 0) std::printf("%zu more cells are represented by these; --all measures them too\n", represented);
    for (const NotMeasured& cell : session.failed) std::printf("%-28s FAILED: %s\n", cell.cell.c_str(), cell.reason.c_str());
}

void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw WrongUse(std::string("standard output cannot be written: ") + std::strerror(errno));
}

void go_on_in_a_new_process(const CommandLine& line, Measurement& measurement) {
    const std::string& reason = measurement.end_of_process;
    if (reason.empty() || interrupted()) return;
    const std::vector<Cell> rest = take_rest(measurement.session, reason);
    if (rest.empty()) return;
    std::fprintf(stderr, "%s: %zu cells go on in a new one\n", reason.c_str(), rest.size());
    measure_rest(line, rest, reason, measurement.session);
}

}  // namespace

int exit_code(const Session& session) {
    if (!session.failed.empty()) return 1;
    return std::all_of(session.skipped.begin(), session.skipped.end(), expected_skip) ? 0 : 3;
}

void print_document(const std::string& file, const std::string& text) {
    if (file.empty()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return flush_output();
    }
    const std::string beside = file + ".part";
    std::ofstream written(beside);
    written << text;
    written.close();
    if (!written || std::rename(beside.c_str(), file.c_str()) != 0) {
        const std::string why = std::strerror(errno);
        std::remove(beside.c_str());
        throw WrongUse("--json=" + file + ": the file cannot be written: " + why);
    }
    flush_output();
}

void print_session(const CommandLine& line, const std::string& json, const Session& session) {
    if (line.json) return print_document(line.json_file, json);
    print_table(session);
    std::fputs(session.rest.table.c_str(), stdout);
    flush_output();
}

void print_progress(std::size_t position, std::size_t count, const std::string& cell) {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    std::fprintf(stderr, terminal ? "\r\033[K%zu/%zu %s" : "%zu/%zu %s\n", position + 1, count, cell.c_str());
    std::fflush(stderr);
}

void end_progress() {
    if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

Watchdog::Watchdog(double seconds, Session& session, std::mutex& mutex, std::function<void()> print)
    : seconds_(seconds), session_(session), mutex_(mutex), print_(std::move(print)), since_(now()), thread_([this] { watch(); }) {
}

Watchdog::~Watchdog() {
    done_ = true;
    thread_.join();
}

void Watchdog::begin(const std::string& cell) {
    const std::lock_guard<std::mutex> lock(state_);
    cell_ = cell;
    since_ = now();
}

void Watchdog::watch() {
    while (!done_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::string cell;
        {
            const std::lock_guard<std::mutex> lock(state_);
            // Drivers that nobody keeps loaded take their time to start.
            if (now() - since_ < (cell_.empty() ? 2 * seconds_ : seconds_)) continue;
            cell = cell_;
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        const std::string where = cell.empty() ? "set-up" : cell;
        session_.failed.push_back(
            {where, "hang", where + " did not end within " + std::to_string(static_cast<int>(seconds_)) + " s"});
        std::fprintf(stderr, "hang: %s\n", session_.failed.back().reason.c_str());
        try {
            print_();
        } catch (const WrongUse& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        std::fflush(nullptr);
        _exit(1);  // the thread that hangs in the driver cannot be joined
    }
}

int run(const Program& program, const CommandLine& line) {
    if (line.help) {
        std::printf("%s%s%s", program.help, common_options_help, program.examples);
        return 0;
    }
    if (line.version) {
        std::printf("%s %s%s\n", program.name, NEARFAR_VERSION,
                    program.cuda.empty() ? "" : (" (CUDA " + program.cuda + ")").c_str());
        return 0;
    }
    const double begin = now();
    Measurement measurement;
    measurement.run = {program.name, line.words, utc_now(), 0, "", program.cuda, line.policy.quick, {}};
    for (const Cell& cell : line.policy.aggressors) measurement.run.aggressors.push_back(cell.text());
    const Node node = read_node(line.gpus);
    for (const Cell& cell : line.cells) program.require(cell);
    const Matrix matrix = line.cells.empty() ? program.matrix(node, line.policy) : Matrix{line.cells, {}};
    std::vector<Cell> cells = matrix.cells;
    measurement.session.skipped = matrix.left_out;
    set_absent_aside(cells, node, line.absent_fails, measurement.session);
    if (line.list) {
        for (const Cell& cell : cells) std::printf("%s\n", cell.text().c_str());
        if (cells.empty() && node.gpus.empty())
            std::fprintf(stderr, "%s: this node has no NVIDIA GPU on its PCI bus: no cell to list\n", program.name);
        return 0;
    }
    catch_interrupts();
    for (const PciGpu& gpu : node.gpus) measurement.gpus.push_back({gpu, {}, true});
    measurement.session.setup_seconds["node"] = now() - begin;
    const auto print = [&] {
        measurement.run.seconds = now() - begin;
        print_session(line, document(measurement.run, node, measurement.gpus, measurement.session), measurement.session);
    };
    {
        Watchdog watchdog(line.policy.hang_seconds, measurement.session, measurement.mutex, print);
        measurement.progress = [&](std::size_t position, std::size_t count, const std::string& cell) {
            watchdog.begin(cell);
            print_progress(position, count, cell);
        };
        program.measure(line, node, cells, measurement);
    }
    end_progress();
    go_on_in_a_new_process(line, measurement);
    print();
    return exit_code(measurement.session);
}

int run_program(const std::string& name, const std::function<int()>& body) {
    try {
        return body();
    } catch (const std::exception& error) {
        end_progress();
        std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
        return wrong_use;
    }
}

}  // namespace nearfar
