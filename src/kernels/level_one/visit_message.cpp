#include "kernels/level_one/visit_message.h"

namespace nearfar {
namespace {

class Writer {
public:
    explicit Writer(Message& message) : message_(message) {}

    void text(const std::string& text) { message_.fields.push_back(text); }
    void count(std::uint64_t count) { text(std::to_string(count)); }
    void number(double number) { text(number_field(number)); }
    template <typename Value>
    void maybe(const std::optional<Value>& value) {
        text(value ? std::to_string(*value) : "");
    }
    template <typename List, typename Each>
    void list(const List& list, const Each& each) {
        count(list.size());
        for (const auto& item : list) each(item);
    }

private:
    Message& message_;
};

class Reader {
public:
    explicit Reader(const Message& message) : message_(message) {}

    std::string text() { return message_.field(at_++); }
    std::size_t count() { return message_.count(at_++); }
    double number() { return message_.number(at_++); }
    template <typename Value>
    void maybe(std::optional<Value>& value) {
        if (message_.field(at_).empty())
            ++at_;
        else
            value = static_cast<Value>(number());
    }
    template <typename Item, typename Each>
    void list(std::vector<Item>& list, const Each& each) {
        list.resize(count());
        for (Item& item : list) item = each();
    }

private:
    const Message& message_;
    std::size_t at_ = 0;
};

}  // namespace

Message message_of(const KernelVisit& visit) {
    Message message{"visit", {}};
    Writer to(message);
    const auto number = [&](double each) { to.number(each); };
    const auto whole = [&](int each) { to.number(each); };
    to.number(visit.begin);
    to.number(visit.end);
    to.list(visit.calls, [&](const CallTimes& call) {
        for (const double part : {call.in, call.compute, call.out, call.total}) to.number(part);
    });
    to.list(visit.overlapped, number);
    to.list(visit.computed, number);
    to.count(visit.verified.bytes);
    to.list(visit.cpus, whole);
    to.list(visit.memory_nodes, whole);
    to.count(visit.state ? 1 : 0);
    if (!visit.state) return message;
    to.maybe(visit.state->running.sm_clock);
    to.maybe(visit.state->running.memory_clock);
    to.maybe(visit.state->running.power);
    to.maybe(visit.state->running.temperature);
    to.list(visit.state->throttle, [&](const std::string& reason) { to.text(reason); });
    to.maybe(visit.state->corrected_errors);
    to.maybe(visit.state->uncorrected_errors);
    return message;
}

KernelVisit visit_in(const Message& message) {
    KernelVisit visit;
    Reader from(message);
    const auto number = [&] { return from.number(); };
    const auto whole = [&] { return static_cast<int>(from.number()); };
    visit.begin = from.number();
    visit.end = from.number();
    from.list(visit.calls, [&] {
        CallTimes call;
        for (double* part : {&call.in, &call.compute, &call.out, &call.total}) *part = from.number();
        return call;
    });
    from.list(visit.overlapped, number);
    from.list(visit.computed, number);
    visit.verified.bytes = from.count();
    from.list(visit.cpus, whole);
    from.list(visit.memory_nodes, whole);
    if (from.count() == 0) return visit;
    visit.state.emplace();
    from.maybe(visit.state->running.sm_clock);
    from.maybe(visit.state->running.memory_clock);
    from.maybe(visit.state->running.power);
    from.maybe(visit.state->running.temperature);
    from.list(visit.state->throttle, [&] { return from.text(); });
    from.maybe(visit.state->corrected_errors);
    from.maybe(visit.state->uncorrected_errors);
    return visit;
}

}  // namespace nearfar
