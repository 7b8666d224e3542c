// What the programs' mains share: the watchdog over a session, the printing of it, and the exit code.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cell/matrix.h"
#include "cell/measure.h"
#include "output/command_line.h"
#include "output/document.h"
#include "output/session_loop.h"

namespace nearfar {

// 1 for any failed cell, 3 for a skipped one that was not expected to be, else 0.
int exit_code(const Session& session);

// Prints a document to a file, beside it first, then renamed (empty: standard output). Throws WrongUse where that cannot be.
void print_document(const std::string& file, const std::string& text);

// Prints the document (--json) or a table of the session. Throws WrongUse where FILE cannot be written.
void print_session(const CommandLine& line, const std::string& json, const Session& session);

// A line on standard error before each cell: overwritten on a terminal, one below the other elsewhere.
void print_progress(std::size_t position, std::size_t count, const std::string& cell);
void end_progress();

// Ends the process, with what was measured, when one cell takes too long: a hanging driver call cannot be ended otherwise.
class Watchdog {
public:
    // `print` prints the session; called with `mutex` held.
    Watchdog(double seconds, Session& session, std::mutex& mutex, std::function<void()> print);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // A cell begins (an empty one: set-up).
    void begin(const std::string& cell);

private:
    double seconds_;
    Session& session_;
    std::mutex& mutex_;
    std::function<void()> print_;
    std::mutex state_;
    std::string cell_;
    double since_;
    std::atomic<bool> done_{false};
    std::thread thread_;

    void watch();
};

// One run of a program: what becomes its document. `mutex` guards the session while it grows.
struct Measurement {
    ProgramRun run;
    std::vector<DocumentGpu> gpus;
    Session session;
    std::mutex mutex;
    Progress progress;
    std::string end_of_process;  // the reason of skipped cells that a new process can measure; empty: there are none
};

// What makes one program differ from another.
struct Program {
    const char* name;
    const char* help;                                          // before the common options
    const char* examples;                                      // after them
    std::string cuda;                                          // the CUDA it was built with; empty for none
    Matrix (*matrix)(const Node& node, const Policy& policy);  // measured where no cells are given
    void (*require)(const Cell& cell);                         // throws WrongUse for a cell of another program
    void (*measure)(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement);
};

// Everything that programs share, from --help to the exit code.
int run(const Program& program, const CommandLine& line);

// Runs a program's body and turns what it throws into one line on standard error and exit code 2.
int run_program(const std::string& name, const std::function<int()>& body);

}  // namespace nearfar
