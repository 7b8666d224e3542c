#include "core/option_values.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/error.h"

namespace nearfar {

double positive_value(const std::string& option, const std::string& text, const std::string& what) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value > 0) || !std::isfinite(value))
        throw WrongUse(option + " needs " + what + " above 0, not '" + text + "'");
    return value;
}

std::vector<std::string> split_list(const std::string& list) {
    std::vector<std::string> parts;
    std::stringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

std::string joined_list(const std::vector<std::string>& parts) {
    std::string list;
    for (const std::string& part : parts) list += (list.empty() ? "" : ",") + part;
    return list;
}

}  // namespace nearfar
