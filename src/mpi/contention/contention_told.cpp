#include "mpi/contention/contention_told.h"

#include <type_traits>

namespace nearfar {
namespace {

// Every number of what a rank saw, in the order in which they are told.
template <typename Seen, typename Visit>
void each_number(Seen& seen, const Visit& visit) {
    visit(seen.late);
    visit(seen.empty);
    visit(seen.wrong);
    visit(seen.latency.p50);
    visit(seen.latency.p95);
    visit(seen.latency.p99);
    visit(seen.latency.max);
    visit(seen.latency.n);
    visit(seen.rate);
    for (auto& rate : seen.moved) visit(rate);
    for (auto& starved : seen.starved) visit(starved);
}

}  // namespace

Message message_of(const RankSeen& seen) {
    Message message{"seen", {}};
    each_number(seen, [&](auto number) { message.fields.push_back(number_field(static_cast<double>(number))); });
    return message;
}

RankSeen seen_in(const Message& message) {
    RankSeen seen;
    std::size_t at = 0;
    each_number(seen, [&](auto& number) { number = static_cast<std::decay_t<decltype(number)>>(message.number(at++)); });
    return seen;
}

// A message of its own for the MPI thread in each layout and for each flow.
Message message_of(const RankTold& told) {
    Message message{"placed", {}};
    for (const auto& [layout, cpus] : told.mpi_cpus) {
        Message mpi{"mpi", {std::to_string(static_cast<int>(layout)), cpus}};
        const auto memory = told.mpi_memory.find(layout);
        if (memory != told.mpi_memory.end())
            for (const int node : memory->second) mpi.fields.push_back(std::to_string(node));
        message.fields.push_back(mpi.line());
    }
    for (std::size_t i = 0; i < told.flow_cpus.size(); ++i) {
        Message flow{"flow", {told.flow_cpus[i], std::to_string(told.chunks[i])}};
        for (const int node : told.memory_nodes[i]) flow.fields.push_back(std::to_string(node));
        message.fields.push_back(flow.line());
    }
    return message;
}

RankTold told_in(const Message& message) {
    RankTold told;
    for (const std::string& line : message.fields) {
        const Message part = parse_message(line);
        if (part.word == "mpi") {
            const auto layout = static_cast<Layout>(part.count(0));
            told.mpi_cpus[layout] = part.field(1);
            for (std::size_t i = 2; i < part.fields.size(); ++i)
                told.mpi_memory[layout].push_back(static_cast<int>(part.count(i)));
            continue;
        }
        told.flow_cpus.push_back(part.field(0));
        told.chunks.push_back(part.count(1));
        told.memory_nodes.emplace_back();
        for (std::size_t i = 2; i < part.fields.size(); ++i) told.memory_nodes.back().push_back(static_cast<int>(part.count(i)));
    }
    return told;
}

}  // namespace nearfar
