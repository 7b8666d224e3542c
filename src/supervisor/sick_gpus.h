// Which GPUs hang, and what a process is to measure so that one that does has a name.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace nearfar {

// The GPUs that the text of a cell, or of another subject, names.
std::set<int> gpus_in(const std::string& subject);

// A set-up that died is tried again GPU by GPU; a cell that hung is measured once more, by itself, when all else is; and a GPU is given up when
// it has hung twice.
class SickGpus {
public:
    // Subjects for the next process. With one_at_a_time(): those of one GPU alone, where one was not yet set up by itself.
    std::vector<std::string> part(const std::vector<std::string>& unanswered);
    // The GPU that the present process sets up by itself; -1: none.
    int alone() const { return alone_; }
    // It has no subject of its own, and is set up for nothing else.
    bool is_trial() const { return trial_; }

    bool one_at_a_time() const { return one_at_a_time_; }
    void open_one_at_a_time() { one_at_a_time_ = true; }
    // The GPU's set-up by itself has ended, or has died.
    void is_set_up() { set_up_.insert(alone_); }
    void is_not_set_up() { refused_.insert(alone_); }
    // None of several could be set up by itself, of many not one of the first four: it is not the GPUs.
    bool all_refuse() const;

    // A subject hung; returns the GPUs of it that have hung more than once, and more often than its others.
    std::set<int> hung(const std::string& subject);
    bool has_hung(const std::string& subject) const { return hung_.count(subject) > 0; }

    // "g1 (0000:11:00.0) or g2 (0000:12:00.0)", by the PCI addresses of g0, g1 …
    static std::string names(const std::set<int>& gpus, const std::vector<std::string>& addresses);

private:
    std::set<std::string> hung_;
    std::map<int, int> hangs_;
    bool one_at_a_time_ = false;
    bool trial_ = false;
    int alone_ = -1;
    std::set<int> set_up_;
    std::set<int> refused_;
    std::set<int> wanted_;  // by all subjects so far
};

// The subjects that need all of these GPUs.
std::vector<std::string> with_all_of(const std::set<int>& gpus, const std::vector<std::string>& subjects);

}  // namespace nearfar
