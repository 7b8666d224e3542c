#include "cell/cell.h"

#include <algorithm>
#include <array>
#include <utility>

namespace nearfar {
namespace {

constexpr int most_tasks = 64;
constexpr std::size_t most_digits = 4;

const std::array<std::pair<const char*, Kernel>, 9> kernels{{{"copy", Kernel::copy},
                                                             {"scale", Kernel::scale},
                                                             {"add", Kernel::add},
                                                             {"triad", Kernel::triad},
                                                             {"dot", Kernel::dot},
                                                             {"read", Kernel::read},
                                                             {"write", Kernel::write},
                                                             {"fill", Kernel::fill},
                                                             {"gemm", Kernel::gemm}}};

const std::array<std::pair<const char*, CoreShare>, 4> core_shares{
    {{"one", CoreShare::one}, {"half", CoreShare::half}, {"buttwo", CoreShare::all_but_two}, {"butone", CoreShare::all_but_one}}};

const std::array<std::pair<const char*, Aspect>, 3> aspects{
    {{"latency", Aspect::latency}, {"tail", Aspect::tail}, {"sizes", Aspect::sizes}}};

bool is_of_gpus(Kernel kernel) {
    return kernel == Kernel::dot || kernel == Kernel::read || kernel == Kernel::write || kernel == Kernel::fill;
}

const char* kernel_name(Kernel kernel) {
    for (const auto& [name, value] : kernels)
        if (value == kernel) return name;
    return "";
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Cell cell() {
        Cell cell;
        do {
            const std::size_t start = position_;
            Flow next = flow();
            for (const Flow& earlier : cell.flows)
                if (earlier.text() == next.text())
                    fail(start, "the flow " + next.text() + " may stand only once" +
                                    (next.kernel != Kernel::none ? "" : "; for two tasks on it use /x2"));
            cell.flows.push_back(next);
        } while (take('+'));
        if (position_ != text_.size()) fail(position_, unexpected());
        return cell;
    }

private:
    std::string_view text_;
    std::size_t position_ = 0;

    [[noreturn]] void fail(std::size_t position, const std::string& problem) const {
        throw CellError(text_, position + 1, problem);
    }

    std::string unexpected() const {
        return std::string("unexpected '") + peek() + "': expected '+', '/' or the end of the cell";
    }

    char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

    bool take(char wanted) {
        if (peek() != wanted || position_ >= text_.size()) return false;
        ++position_;
        return true;
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    int number(std::size_t start) {
        const std::size_t first = position_;
        while (is_digit(peek())) ++position_;
        const std::string digits(text_.substr(first, position_ - first));
        if (digits.empty()) fail(start, "expected an endpoint (n, g or c and a number)");
        if (digits.size() > 1 && digits[0] == '0') fail(start, "an endpoint's number has no leading zero");
        if (digits.size() > most_digits) fail(start, "an endpoint's number has at most 4 digits");
        return std::stoi(digits);
    }

    Endpoint endpoint() {
        const std::size_t start = position_;
        Place place{};
        switch (peek()) {
            case 'n': place = Place::numa_memory; break;
            case 'g': place = Place::gpu_memory; break;
            case 'c': place = Place::cores; break;
            default: fail(start, "expected an endpoint (n, g or c and a number)");
        }
        ++position_;
        return {place, number(start)};
    }

    Flow flow() {
        const std::size_t start = position_;
        const Endpoint source = endpoint();
        if (!take(':')) fail(position_, "expected ':' after the endpoint " + source.text());
        const Endpoint destination = endpoint();
        Flow flow{source, destination, {}};
        require_path(flow, start);
        const bool driven = peek() == '@';
        if (driven) driver(flow);
        options(flow, driven);
        if (flow.is_stream_flow() && flow.kernel == Kernel::none)
            fail(position_, "a STREAM flow needs a kernel: /copy, /scale, /add or /triad");
        return flow;
    }

    void require_path(const Flow& flow, std::size_t start) const {
        if (flow.is_host_flow() || flow.stays_on_gpus() || by_cores(flow)) return;
        if (flow.source.place == Place::numa_memory && flow.destination.place == Place::numa_memory)
            fail(start, "nothing measures host memory to host memory; STREAM is c0:n1/copy");
        fail(start, "no flow goes from " + flow.source.text() + " to " + flow.destination.text() +
                        "; cores are the source of a STREAM flow (c0:n1/triad)");
    }

    static bool by_cores(const Flow& flow) { return flow.is_stream_flow() && flow.destination.place == Place::numa_memory; }

    void driver(Flow& flow) {
        const std::size_t at = position_;
        ++position_;
        if (flow.is_stream_flow()) fail(at, "a STREAM flow takes no '@': its source computes");
        const std::size_t start = position_;
        const Endpoint driver = endpoint();
        if (flow.is_host_flow()) {
            if (driver.place != Place::numa_memory) fail(start, "a host flow is driven from a NUMA node (@n0)");
            if (driver.index != flow.numa_node()) flow.driver = driver;
            return;
        }
        if (!(driver == flow.source) && !(driver == flow.destination))
            fail(start, flow.is_local_flow() ? "a flow within one GPU is driven by that GPU"
                                             : "a peer flow is driven by one of its two GPUs");
        if (!(driver == flow.source)) flow.driver = driver;
    }

    // `driven`: the flow has an `@`, be it the default.
    void options(Flow& flow, bool driven) {
        std::vector<std::string> seen;
        std::size_t threads_at = 0;
        while (peek() == '/') {
            ++position_;
            const std::size_t start = position_;
            while (position_ < text_.size() &&
                   (is_digit(peek()) || (peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z')))
                ++position_;
            const std::string name(text_.substr(start, position_ - start));
            if (name.empty()) fail(start, "expected an option after '/'");
            const std::string kind = apply(flow, name, start, driven || !seen.empty());
            if (std::find(seen.begin(), seen.end(), kind) != seen.end())
                fail(start, "the option " + (kind == name ? name : kind) + " is given twice");
            seen.push_back(kind);
            if (kind == "threads") threads_at = start;
        }
        if (flow.threads && flow.tasks == 1) fail(threads_at, "threads needs /xK beside it, such as /x4/threads");
    }

    // Sets one option and returns what may be given only once. `more`: an `@` or another option stands before it.
    std::string apply(Flow& flow, const std::string& name, std::size_t start, bool more) {
        for (const auto& [kernel, value] : kernels)
            if (name == kernel) return stream_kernel(flow, value, start, more);
        for (const auto& [word, share] : core_shares)
            if (name == word) return core_share(flow, share, name, start);
        const bool known =
            name == "sm" || name == "staged" || name == "pageable" || name == "huge" || name == "threads" || is_tasks(name);
        if (!known) fail(start, "unknown option '" + name + "'");
        if (flow.kernel != Kernel::none || flow.is_stream_flow()) fail(start, "a STREAM flow takes only a kernel, not " + name);
        if (name == "sm") return engine(flow, start);
        if (name == "staged") return staged(flow, start);
        if (name == "pageable" || name == "huge") return memory(flow, name, start);
        if (name == "threads") {
            if (flow.threads) return name;
            flow.threads = true;
            return name;
        }
        return tasks(flow, name, start);
    }

    std::string stream_kernel(Flow& flow, Kernel kernel, std::size_t start, bool more) {
        if (kernel == Kernel::gemm && (flow.source.place != Place::gpu_memory || !(flow.source == flow.destination)))
            fail(start, "gemm is computed by one GPU in its own memory (g0:g0/gemm)");
        if (flow.source.place == Place::numa_memory)
            fail(start,
                 std::string("the kernel ") + kernel_name(kernel) + " is computed by its source, cores (c0:n0) or a GPU (g0:n0)");
        if (flow.is_stream_flow() && is_of_gpus(kernel))
            fail(start,
                 std::string("the kernel ") + kernel_name(kernel) + " is for GPUs; cores have /copy, /scale, /add and /triad");
        if (kernel == Kernel::fill && !(flow.source == flow.destination))
            fail(start, "the kernel fill is for a GPU's own memory (g0:g0/fill)");
        if (flow.kernel != Kernel::none) fail(start, "a STREAM flow takes one kernel");
        if (more && !flow.is_stream_flow()) fail(start, "a STREAM flow takes only a kernel, no '@' and no other option");
        flow.kernel = kernel;
        return "kernel";
    }

    std::string core_share(Flow& flow, CoreShare share, const std::string& name, std::size_t start) {
        if (!flow.is_stream_flow()) fail(start, name + " is for STREAM by cores");
        if (flow.cores != CoreShare::all) fail(start, "a STREAM flow has one number of cores");
        flow.cores = share;
        return "cores";
    }

    std::string engine(Flow& flow, std::size_t start) {
        if (flow.staged) fail(start, "sm and staged exclude each other");
        if (flow.pageable) fail(start, "sm and pageable exclude each other");
        flow.sm = true;
        return "sm";
    }

    std::string staged(Flow& flow, std::size_t start) {
        if (!flow.is_peer_flow()) fail(start, "staged is for flows between GPUs");
        if (flow.sm) fail(start, "sm and staged exclude each other");
        flow.staged = true;
        return "staged";
    }

    std::string memory(Flow& flow, const std::string& name, std::size_t start) {
        if (!flow.is_host_flow()) fail(start, name + " is for flows with host memory");
        if (name == "pageable" ? flow.huge : flow.pageable) fail(start, "pageable and huge exclude each other");
        if (name == "pageable" && flow.sm) fail(start, "sm and pageable exclude each other");
        (name == "pageable" ? flow.pageable : flow.huge) = true;
        return name;
    }

    static bool is_tasks(const std::string& name) {
        return name.size() > 1 && name[0] == 'x' && std::all_of(name.begin() + 1, name.end(), is_digit);
    }

    std::string tasks(Flow& flow, const std::string& name, std::size_t start) {
        const bool readable = name.size() <= 3 && name[1] != '0';
        const int count = readable ? std::stoi(name.substr(1)) : 0;
        if (count < 2 || count > most_tasks) fail(start, "tasks are /x2 to /x64: 2 to 64");
        flow.tasks = count;
        return "tasks";
    }
};

}  // namespace

bool is_shared_by_tasks(const Cell& cell) {
    return std::any_of(cell.flows.begin(), cell.flows.end(), [](const Flow& flow) { return flow.tasks > 1; });
}

std::set<int> gpus_of(const Cell& cell) {
    std::set<int> found;
    for (const Flow& flow : cell.flows)
        for (const Endpoint& end : {flow.source, flow.destination})
            if (end.place == Place::gpu_memory) found.insert(end.index);
    return found;
}

std::vector<int> gpus_of(const std::vector<Cell>& cells) {
    std::set<int> found;
    for (const Cell& cell : cells) found.merge(gpus_of(cell));
    return {found.begin(), found.end()};
}

CellError::CellError(std::string_view cell, std::size_t column_, const std::string& problem)
    : std::runtime_error("cell '" + std::string(cell) + "', column " + std::to_string(column_) + ": " + problem),
      column(column_) {}

std::string Endpoint::text() const {
    const char letter = place == Place::numa_memory ? 'n' : place == Place::gpu_memory ? 'g' : 'c';
    return letter + std::to_string(index);
}

bool Flow::is_host_flow() const {
    return kernel == Kernel::none && ((source.place == Place::numa_memory && destination.place == Place::gpu_memory) ||
                                      (source.place == Place::gpu_memory && destination.place == Place::numa_memory));
}

bool Flow::is_peer_flow() const {
    return kernel == Kernel::none && source.place == Place::gpu_memory && destination.place == Place::gpu_memory &&
           source.index != destination.index;
}

bool Flow::is_local_flow() const { return kernel == Kernel::none && source.place == Place::gpu_memory && source == destination; }

int Flow::numa_node() const { return source.place == Place::numa_memory ? source.index : destination.index; }

int Flow::gpu() const { return source.place == Place::gpu_memory ? source.index : destination.index; }

int Flow::driving_gpu() const { return is_peer_flow() && driver ? driver->index : gpu(); }

std::string Flow::text() const {
    std::string text = source.text() + ":" + destination.text();
    if (driver) text += "@" + driver->text();
    if (kernel != Kernel::none) text += std::string("/") + kernel_name(kernel);
    for (const auto& [word, share] : core_shares)
        if (cores == share) text += std::string("/") + word;
    if (sm) text += "/sm";
    if (staged) text += "/staged";
    if (pageable) text += "/pageable";
    if (huge) text += "/huge";
    if (tasks > 1) text += "/x" + std::to_string(tasks);
    if (threads) text += "/threads";
    return text;
}

Flow Flow::alone() const {
    Flow one = *this;
    one.tasks = 1;
    one.threads = false;
    return one;
}

std::string Cell::text() const {
    std::string text;
    for (const Flow& flow : flows) text += (text.empty() ? "" : "+") + flow.text();
    return text;
}

std::string aspect_word(Aspect aspect) {
    for (const auto& [word, value] : aspects)
        if (value == aspect) return word;
    return "";
}

std::string Cell::key() const { return aspect == Aspect::rates ? text() : text() + " " + aspect_word(aspect); }

Cell parse_cell(std::string_view text) { return Parser(text).cell(); }

Cell parse_key(std::string_view key) {
    const std::size_t end = std::min(key.find_first_of(" \t"), key.size());
    Cell cell = parse_cell(key.substr(0, end));
    const std::size_t begin = std::min(key.find_first_not_of(" \t", end), key.size());
    if (begin == key.size()) return cell;
    const std::string_view word = key.substr(begin);
    const auto known = std::find_if(aspects.begin(), aspects.end(), [&](const auto& each) { return word == each.first; });
    if (known == aspects.end()) throw CellError(key, begin + 1, "expected 'latency', 'tail' or 'sizes', or nothing");
    cell.aspect = known->second;
    return cell;
}

}  // namespace nearfar
