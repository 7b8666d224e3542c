#include "supervisor/account.h"

#include <algorithm>
#include <stdexcept>

#include "core/error.h"
#include "output/table.h"
#include "supervisor/teller.h"

namespace nearfar {
namespace {

bool is_expected(const NotMeasured& cell) { return cell.code == "representative" || cell.code == "unsupported"; }

void replace(std::vector<std::pair<std::string, std::string>>& members, const std::string& name, const std::string& json) {
    const auto known = std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
    if (known != members.end())
        known->second = json;
    else
        members.emplace_back(name, json);
}

// Pieces that are JSON already.
void write_pieces(Json& json, const char* name, const std::vector<std::string>& pieces) {
    json.key(name).begin_array();
    for (const std::string& piece : pieces) json.json(piece);
    json.end_array();
}

template <typename Pairs>
std::vector<std::string> seconds_of(const Pairs& pairs) {
    std::vector<std::string> seconds;
    for (const auto& pair : pairs) seconds.push_back(pair.second);
    return seconds;
}

}  // namespace

int Account::exit_code() const {
    if (!failed_.empty()) return exit_failed;
    return std::all_of(skipped_.begin(), skipped_.end(), is_expected) && !interrupted_ ? 0 : exit_not_measured;
}

void Account::answered(const std::string& cell) {
    unanswered_.erase(std::remove(unanswered_.begin(), unanswered_.end(), cell), unanswered_.end());
    news_ = true;
}

bool Account::has_visits(const std::string& cell) const {
    const auto known = so_far_.find(cell);
    return known != so_far_.end() && !known->second.empty();
}

void Account::keep_visits(const std::string& cell) {
    answered(cell);
    interrupted_ = true;
}

void Account::take(const Message& message) {
    const auto not_measured = [&] {
        answered(message.field(0));
        so_far_.erase(message.field(0));
        return NotMeasured{message.field(0), message.field(1), message.field(2)};
    };
    if (message.word == told::result) {
        answered(message.field(0));
        so_far_.erase(message.field(0));
        results_.emplace_back(message.field(0), message.field(1));
    } else if (message.word == told::so_far) {
        so_far_[message.field(0)] = {message.fields.begin() + 1, message.fields.end()};
    } else if (message.word == told::skipped && has_visits(message.field(0))) {
        keep_visits(message.field(0));  // of a process before
    } else if (message.word == told::skipped) {
        skipped_.push_back(not_measured());
    } else if (message.word == told::failed) {
        failed_.push_back(not_measured());
    } else if (message.word == told::under_way) {
        under_way_ = {message.count(0), message.count(1), message.number(2), message.field(3), {}};
        under_way_.cells.assign(message.fields.begin() + 4, message.fields.end());
    } else if (message.word == told::head) {
        replace(heads_, message.field(0), message.field(1));
    } else if (message.word == told::heading) {
        heading_ = message.field(0);
    } else if (message.word == told::member) {
        replace(members_, message.field(0), message.field(1));
    } else if (message.word == told::gpus) {
        gpus_ = message.fields;
    } else if (message.word == told::cells) {
        if (cells_.empty()) unanswered_ = cells_ = message.fields;
    } else if (message.word == told::results) {
        results_.clear();
        for (const std::string& item : message.fields) results_.emplace_back("", item);
    } else if (message.word == told::curve) {
        replace(curves_, message.field(0), message.field(1));
    } else if (message.word == told::under_load) {
        under_load_[message.count(0)] = message.field(1);
    } else if (message.word == told::rank) {
        ranks_.push_back({message.count(0), message.field(1), static_cast<int>(message.count(2))});
    } else if (message.word == told::interrupted) {
        interrupted_ = true;
    } else if (message.word == told::wrong_use) {
        wrong_use_ = message.field(0);
    } else if (message.word == told::again) {
        again_ = message.field(0);
    } else if (message.word == told::end) {
        if (part_.empty()) unanswered_.clear();
        for (const std::string& cell : part_) answered(cell);
        ended_ = true;
    } else {
        throw std::invalid_argument("'" + message.word + "' is nothing that a measuring process tells");
    }
}

void Account::give_up(const std::string& code, const std::string& reason, bool node_failed) {
    if (under_way_.cells.size() > 1) {
        news_ = true;
        under_way_.cells.clear();
        return;
    }
    std::vector<NotMeasured>& why = node_failed ? failed_ : skipped_;
    for (const std::string& cell : under_way_.cells) {
        if (code == "interrupted" && has_visits(cell)) {
            keep_visits(cell);
            continue;
        }
        so_far_.erase(cell);
        why.push_back({cell, code, reason});
        answered(cell);
    }
    if (under_way_.cells.empty()) why.push_back({"", code, reason});
    under_way_.cells.clear();
}

void Account::skip_rest(const std::string& code, const std::string& reason) {
    for (const std::string& cell : std::vector<std::string>(unanswered_)) {
        if (has_visits(cell))
            keep_visits(cell);
        else
            skipped_.push_back({cell, code, reason});
    }
    unanswered_.clear();
}

void Account::fail(const std::vector<std::string>& cells, const std::string& code, const std::string& reason) {
    for (const std::string& cell : cells) {
        so_far_.erase(cell);
        answered(cell);
        failed_.push_back({cell, code, reason});
        const auto is_its = [&](const NotMeasured& note) { return note.cell == cell; };
        notes_.erase(std::remove_if(notes_.begin(), notes_.end(), is_its), notes_.end());
    }
}

void Account::begin_again(std::vector<std::string> part) {
    part_ = std::move(part);
    under_way_ = {0, 0, 0, "set-up", {}};
    again_.clear();
    ended_ = false;
    news_ = false;
}

bool Account::knows_node() const {
    return std::any_of(heads_.begin(), heads_.end(), [](const auto& head) { return head.first == "node"; });
}

// In the order of the cells, those that go on included.
std::vector<std::string> Account::results() const {
    std::vector<std::pair<std::string, std::string>> found = results_;
    for (const auto& [cell, items] : so_far_)
        for (const std::string& item : items) found.emplace_back(cell, item);
    const auto place = [this](const auto& result) {
        return std::find(cells_.begin(), cells_.end(), result.first) - cells_.begin();
    };
    std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    std::vector<std::string> items;
    for (auto& result : found) items.push_back(std::move(result.second));
    return items;
}

std::string Account::text(double seconds) const { return json_ ? document(seconds) : table(); }

std::string Account::document(double seconds) const {
    Json json;
    begin_document(json, run_, seconds);
    for (const auto& [name, content] : heads_) json.key(name).json(content);
    write_pieces(json, "results", results());
    for (const auto& [name, cells] :
         {std::pair("skipped", &skipped_), std::pair("failed", &failed_), std::pair("notes", &notes_)}) {
        if (cells == &notes_ && notes_.empty()) continue;
        json.objects(name, *cells, [&](const NotMeasured& cell) {
            const std::size_t blank = std::min(cell.cell.find(' '), cell.cell.size());
            json.field("cell", cell.cell.substr(0, blank));
            if (blank < cell.cell.size()) json.field("aspect", cell.cell.substr(blank + 1));
            json.field("code", cell.code).field("reason", cell.reason);
        });
    }
    if (!curves_.empty()) write_pieces(json, "curves", seconds_of(curves_));
    if (!cells_.empty()) write_pieces(json, "gpus_under_load", seconds_of(under_load_));
    if (interrupted_) json.field("interrupted", true);
    for (const auto& [name, content] : members_) json.key(name).json(content);
    json.end_object();
    return json.text() + "\n";
}

std::string Account::table() const {
    const std::vector<std::string> measured = results();
    std::string lines = measured.empty() ? "" : heading_;
    for (const std::string& result : measured) lines += result;
    for (const auto& [cell, curve] : curves_) lines += curve;
    const auto represented = [](const NotMeasured& cell) { return cell.code == "representative"; };
    for (const NotMeasured& cell : skipped_)
        if (!represented(cell)) lines += table_row(cell, "skipped");
    if (const auto count = std::count_if(skipped_.begin(), skipped_.end(), represented))
        lines += std::to_string(count) + " more cells are represented by these; --all measures them too\n";
    for (const NotMeasured& cell : failed_) lines += table_row(cell, "FAILED");
    return lines;
}

}  // namespace nearfar
