#include "kernels/problems/tensor_modes.h"

#include <unistd.h>

namespace nearfar {

std::map<std::string, std::string> tensor_modes() {
    std::map<std::string, std::string> found;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string text = *each;
        const std::size_t equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (equals != std::string::npos && (name == "NVIDIA_TF32_OVERRIDE" || name.rfind("CUBLAS_", 0) == 0))
            found[name] = text.substr(equals + 1);
    }
    return found;
}

}  // namespace nearfar
