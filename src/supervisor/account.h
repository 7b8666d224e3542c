// What measuring processes have told of a run so far, as its document or its table shows it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/message.h"
#include "output/document.h"

namespace nearfar {

// What is done now.
struct UnderWay {
    std::size_t position = 0;
    std::size_t count = 0;
    double seconds = 0;  // the most that it may take
    std::string words;
    std::vector<std::string> cells;
};

// A rank of a run, as its process is known.
struct KnownRank {
    std::size_t number = 0;
    std::string host;
    int process = 0;
};

class Account {
public:
    Account(ProgramRun run, bool json) : run_(std::move(run)), json_(json) {}

    // Takes one message of a Teller. Throws std::invalid_argument for what is none.
    void take(const Message& message);
    // What was under way is over, without having been told: of its cell it is said why, of the whole run where it has none. Several cells
    // at once are left as they are: which of them it was is not known, and each is to be measured alone.
    void give_up(const std::string& code, const std::string& reason, bool node_failed);
    // All cells that nothing was told of are skipped for that reason.
    void skip_rest(const std::string& code, const std::string& reason);
    // Something is to be known beside what was measured: of a cell, or of the whole run.
    void note(const NotMeasured& what) { notes_.push_back(what); }
    // A new process measures these of what is left.
    void begin_again(std::vector<std::string> part);
    // Cells fail that nothing was told of, or that go on.
    void fail(const std::vector<std::string>& cells, const std::string& code, const std::string& reason);

    const UnderWay& under_way() const { return under_way_; }
    const std::vector<KnownRank>& ranks() const { return ranks_; }
    // PCI addresses of g0, g1 …
    const std::vector<std::string>& gpus() const { return gpus_; }
    // Cells that nothing was told of, in their order.
    const std::vector<std::string>& unanswered() const { return unanswered_; }
    bool has_ended() const { return ended_; }
    // Cells were told of, or given up, since the last begin_again(): fewer are left.
    bool has_news() const { return news_; }
    // Why a new process is to measure what is left; empty: it is not.
    const std::string& again() const { return again_; }
    // Words of a wrong use; empty: there was none.
    const std::string& wrong_use() const { return wrong_use_; }
    bool knows_node() const;

    // The document, or the table, with so many seconds of the whole run.
    std::string text(double seconds) const;
    // 1 for anything that failed, 3 for a skip that was not expected, or where visits that were due were not made, else 0.
    int exit_code() const;

private:
    using Members = std::vector<std::pair<std::string, std::string>>;  // keys of the document and their JSON

    ProgramRun run_;
    bool json_;
    Members heads_;
    std::string heading_;  // of the table
    Members members_;
    std::vector<std::pair<std::string, std::string>> results_;  // each with its cell
    std::map<std::string, std::vector<std::string>> so_far_;    // of cells that are not finished
    Members curves_;                                            // of each cell
    std::map<std::size_t, std::string> under_load_;             // of each GPU
    std::vector<NotMeasured> skipped_;
    std::vector<NotMeasured> failed_;
    std::vector<NotMeasured> notes_;
    std::vector<KnownRank> ranks_;
    std::vector<std::string> gpus_;
    std::vector<std::string> cells_;  // of the run, in their order
    std::vector<std::string> unanswered_;
    std::vector<std::string> part_;  // of them, for the present process; empty: all
    UnderWay under_way_{0, 0, 0, "set-up", {}};
    bool ended_ = false;
    bool interrupted_ = false;
    bool news_ = false;
    std::string again_;
    std::string wrong_use_;

    void answered(const std::string& cell);
    bool has_visits(const std::string& cell) const;
    // What was told of it so far is its result.
    void keep_visits(const std::string& cell);
    std::vector<std::string> results() const;
    std::string document(double seconds) const;
    std::string table() const;
};

}  // namespace nearfar
