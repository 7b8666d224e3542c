#include "cell/sizes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "core/error.h"

namespace nearfar {
namespace {

constexpr std::size_t most = std::size_t{64} << 30;

std::size_t parse_size(const std::string& text, const std::string& name) {
    // The units above GiB are known so that such a size is called too large, and not no size.
    static const std::map<std::string, int> units{{"", 0},     {"B", 0},    {"KiB", 10}, {"MiB", 20},
                                                  {"GiB", 30}, {"TiB", 40}, {"PiB", 50}, {"EiB", 60}};
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto unit = units.find(text.substr(digits));
    if (digits == 0 || unit == units.end()) throw WrongUse(name + ": '" + text + "' is not a size (64, 4KiB, 16MiB, 1GiB)");
    const std::size_t zeros = std::min(text.find_first_not_of('0'), digits);
    const std::size_t number = digits - zeros > 12 ? most + 1 : std::stoull(text.substr(0, digits));
    if (number > (most >> unit->second) || number == 0)
        throw WrongUse(name + ": '" + text + "' is not between 1 byte and 64 GiB");
    return number << unit->second;
}

}  // namespace

std::vector<std::size_t> parse_sizes(const std::string& text, const std::string& name) {
    std::vector<std::size_t> sizes;
    const std::size_t dots = text.find("..");
    if (dots != std::string::npos) {
        const std::size_t last = parse_size(text.substr(dots + 2), name);
        for (std::size_t size = parse_size(text.substr(0, dots), name); size < last; size *= 2) sizes.push_back(size);
        if (!sizes.empty()) sizes.push_back(last);
    } else {
        std::stringstream stream(text);
        for (std::string part; std::getline(stream, part, ',');) sizes.push_back(parse_size(part, name));
    }
    if (sizes.empty()) throw WrongUse(name + " '" + text + "': expected sizes that ascend, such as 1KiB..1GiB");
    if (std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) != sizes.end())
        throw WrongUse(name + " " + text + ": the sizes must ascend");
    return sizes;
}

std::string size_words(std::size_t bytes) {
    const char* unit = "B";
    for (const char* const larger : {"KiB", "MiB", "GiB"}) {
        if (bytes < 1024 || bytes % 1024 != 0) break;
        bytes /= 1024;
        unit = larger;
    }
    return std::to_string(bytes) + unit;
}

std::vector<SizeCurve> size_curves(const std::vector<CellResult>& results) {
    std::map<std::string, std::map<std::size_t, double>> cells;
    std::vector<std::string> order;
    for (const CellResult& result : results) {
        if (result.cell.aspect != Aspect::sizes) continue;
        const std::string cell = result.cell.text();
        if (cells[cell].empty()) order.push_back(cell);
        cells[cell][result.bytes] = result.total.median;
    }
    std::vector<SizeCurve> curves;
    for (const std::string& cell : order) {
        const std::map<std::size_t, double>& rates = cells[cell];
        if (rates.size() < 2) continue;
        double top = 0;
        for (const auto& [size, rate] : rates) top = std::max(top, rate);
        auto at = rates.begin();
        while (at->second < top / 2) ++at;
        double half = static_cast<double>(at->first);
        if (at != rates.begin()) {
            const auto before = std::prev(at);
            const double share = std::log(top / 2 / before->second) / std::log(at->second / before->second);
            half = static_cast<double>(before->first) *
                   std::pow(static_cast<double>(at->first) / static_cast<double>(before->first), share);
        }
        curves.push_back({cell, half});
    }
    return curves;
}

}  // namespace nearfar
