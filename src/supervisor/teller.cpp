#include "supervisor/teller.h"

#include <utility>

#include "output/table.h"

namespace nearfar {

void Teller::node(const ProgramRun& run, const Node& node, const std::vector<DocumentGpu>& gpus) const {
    send_({told::head, {"node", node_json(run, node, gpus)}});
}

void Teller::node(const ProgramRun& run, const Node& node) const {
    std::vector<DocumentGpu> shown;
    for (const PciGpu& gpu : node.gpus) shown.push_back({gpu, {}, true});
    this->node(run, node, shown);
    gpus(node.gpus);
}

void Teller::setup_seconds(const std::map<std::string, double>& seconds) const {
    Json json;
    json.object([&] {
        for (const auto& [name, each] : seconds) json.field(name, each);
    });
    send_({told::head, {"setup_seconds", json.text()}});
}

void Teller::mpi(const MpiFacts& facts) const {
    member("mpi", mpi_json(facts));
    for (const RankFacts& rank : facts.ranks)
        send_({told::rank, {std::to_string(rank.rank), rank.host, std::to_string(rank.pid)}});
}

void Teller::gpus(const std::vector<PciGpu>& gpus) const {
    Message message{told::gpus, {}};
    for (const PciGpu& gpu : gpus) message.fields.push_back(gpu.pci);
    send_(message);
}

void Teller::cells(const std::vector<Cell>& cells) const {
    std::vector<std::string> texts;
    for (const Cell& cell : cells) texts.push_back(cell.key());
    subjects(texts, table_heading());
}

void Teller::subjects(const std::vector<std::string>& subjects, const std::string& heading) const {
    if (!json_) send_({told::heading, {heading}});
    send_({told::cells, subjects});
}

void Teller::so_far(const std::string& subject, const std::vector<std::string>& items) const {
    Message message{told::so_far, {subject}};
    message.fields.insert(message.fields.end(), items.begin(), items.end());
    send_(message);
}

void Teller::finished(const std::string& subject, const std::vector<std::string>& items) const {
    for (const std::string& item : items) send_({told::result, {subject, item}});
}

void Teller::under_way(std::size_t position, std::size_t count, double seconds, const std::string& words,
                       const std::vector<std::string>& cells) const {
    Message message{told::under_way, {std::to_string(position), std::to_string(count), number_field(seconds), words}};
    message.fields.insert(message.fields.end(), cells.begin(), cells.end());
    send_(message);
}

std::string Teller::item(const CellResult& result) const {
    return json_ ? result_json(result, began_) : table_rows(result, began_);
}

void Teller::news(const Session& session) {
    for (const auto& [cell, results] : session.so_far) {
        const std::size_t visits = results.empty() ? 0 : results.front().visits.size();
        if (std::exchange(visits_[cell], visits) == visits) continue;
        std::vector<std::string> items;
        for (CellResult result : results) {
            result.converged = false;  // more visits are to come
            items.push_back(item(result));
        }
        so_far(cell, items);
    }
    for (; results_ < session.results.size(); ++results_) {
        const CellResult& result = session.results[results_];
        send_({told::result, {result.cell.key(), item(result)}});
    }
    for (; skipped_ < session.skipped.size(); ++skipped_) skipped(session.skipped[skipped_]);
    for (; failed_ < session.failed.size(); ++failed_) failed(session.failed[failed_]);
    setup_seconds(session.setup_seconds);
    for (const GpuUnderLoad& gpu : session.gpus_under_load)
        send_({told::under_load, {std::to_string(gpu.gpu), under_load_json(gpu)}});
    for (const SizeCurve& curve : session.curves)
        send_({told::curve, {curve.cell, json_ ? curve_json(curve) : table_row(curve)}});
}

}  // namespace nearfar
