// Variables of the environment that switch how CUDA's libraries use tensor cores, and so what a figure of theirs means.
#pragma once

#include <map>
#include <string>

namespace nearfar {

// Those that are set, with their values: NVIDIA_TF32_OVERRIDE and all that begin with CUBLAS_.
std::map<std::string, std::string> tensor_modes();

}  // namespace nearfar
