// What a measuring process tells the process that looks after it: each cell as it is finished, so that nothing of it is lost
// with the process.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/message.h"
#include "output/document.h"

namespace nearfar {

// The words of the messages and their fields.
namespace told {
constexpr const char* head = "head";        // NAME JSON: a key of the document, before its results; replaces what it was
constexpr const char* heading = "heading";  // LINE: above the results of a table
constexpr const char* member = "member";    // NAME JSON: a key of the document, behind its results; likewise
constexpr const char* gpus = "gpus";        // PCI ADDRESS…: what g0, g1 … are, in every process of the run
constexpr const char* cells = "cells";      // CELL…: what is to be measured
constexpr const char* under_way =
    "under_way";  // POSITION COUNT SECONDS WORDS CELL…: what is done now (COUNT 0: nobody need see it), and for how long at most
constexpr const char* result = "result";            // CELL ITEM: a piece of JSON, or the lines of a table
constexpr const char* so_far = "so_far";            // CELL ITEM…: all that is known of a cell that goes on
constexpr const char* results = "results";          // ITEM…: in the place of all that were told before
constexpr const char* skipped = "skipped";          // CELL CODE REASON
constexpr const char* failed = "failed";            // CELL CODE REASON
constexpr const char* curve = "curve";              // CELL ITEM: replaces the cell's
constexpr const char* under_load = "under_load";    // GPU JSON: likewise the GPU's
constexpr const char* rank = "rank";                // NUMBER HOST PROCESS: another process without which this one cannot go on
constexpr const char* interrupted = "interrupted";  // visits that were due were not made
constexpr const char* wrong_use = "wrong_use";      // WORDS: nothing is to be printed but these
constexpr const char* again = "again";              // REASON: what is left is for a new process
constexpr const char* end = "end";                  // all was told

constexpr const char* set_up =
    "set-up";  // the words of what is under way before the first cell, and again before GPUs are opened
constexpr const char* waiting_for = ": waiting for ";  // in the words of what is under way: the ranks that keep rank 0 waiting
}  // namespace told

class Teller {
public:
    using Send = std::function<void(const Message&)>;
    // Not `json`: results are the lines of a table. `began`: when the run began, on CLOCK_MONOTONIC.
    Teller(Send send, bool json, double began = 0) : send_(std::move(send)), json_(json), began_(began) {}

    bool json() const { return json_; }

    // The machine; again, when more is known of it.
    void node(const ProgramRun& run, const Node& node, const std::vector<DocumentGpu>& gpus) const;
    // The same with its GPUs as the bus shows them, which g0, g1 … are from then on.
    void node(const ProgramRun& run, const Node& node) const;
    void setup_seconds(const std::map<std::string, double>& seconds) const;
    void member(const std::string& name, const std::string& json) const { send_({told::member, {name, json}}); }
    void mpi(const MpiFacts& facts) const;
    void gpus(const std::vector<PciGpu>& gpus) const;
    void cells(const std::vector<Cell>& cells) const;
    // The same for subjects that are no cells; `heading` stands above a table's rows.
    void subjects(const std::vector<std::string>& subjects, const std::string& heading) const;
    // All that is known of a subject that goes on, in the place of what was told of it before; and of one that is finished.
    void so_far(const std::string& subject, const std::vector<std::string>& items) const;
    void finished(const std::string& subject, const std::vector<std::string>& items) const;
    // What is done now, in words, and how long it may take before it hangs; `cells`: those that it measures.
    void under_way(std::size_t position, std::size_t count, double seconds, const std::string& words,
                   const std::vector<std::string>& cells = {}) const;
    // What has come into a session since the last call: its results, also those so far, what was skipped and what failed; and all that it says beside
    // its cells, as it is by now.
    void news(const Session& session);
    // All results, pieces of JSON or lines of a table, in the place of what was told before.
    void results(const std::vector<std::string>& items) const { send_({told::results, items}); }
    void skipped(const NotMeasured& cell) const { send_({told::skipped, {cell.cell, cell.code, cell.reason}}); }
    void failed(const NotMeasured& cell) const { send_({told::failed, {cell.cell, cell.code, cell.reason}}); }
    void interrupted() const { send_({told::interrupted, {}}); }
    void wrong_use(const std::string& words) const { send_({told::wrong_use, {words}}); }
    void again(const std::string& reason) const { send_({told::again, {reason}}); }
    void end() const { send_({told::end, {}}); }

private:
    std::string item(const CellResult& result) const;

    Send send_;
    bool json_;
    double began_;
    std::map<std::string, std::size_t> visits_;  // of cells that are not finished, told
    std::size_t results_ = 0;                    // of the session, told
    std::size_t skipped_ = 0;
    std::size_t failed_ = 0;
};

}  // namespace nearfar
