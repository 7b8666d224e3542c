// Values of options as people write them, the same in every program.
#pragma once

#include <string>
#include <vector>

namespace nearfar {

// A finite number above 0; throws WrongUse, which says that `option` needs `what` above 0.
double positive_value(const std::string& option, const std::string& text, const std::string& what = "a number");

// The parts between the commas.
std::vector<std::string> split_list(const std::string& list);

// Parts with commas between them.
std::string joined_list(const std::vector<std::string>& parts);

}  // namespace nearfar
