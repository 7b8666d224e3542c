#include "output/print_text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "core/error.h"

namespace nearfar {

void print_text(const std::string& file, const std::string& text) {
    if (file.empty()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
            throw WrongUse(std::string("standard output cannot be written: ") + std::strerror(errno));
        return;
    }
    const std::string beside = file + ".part";
    std::ofstream written(beside);
    written << text;
    written.close();
    if (!written || std::rename(beside.c_str(), file.c_str()) != 0) {
        const std::string why = std::strerror(errno);
        std::remove(beside.c_str());
        throw WrongUse("--json=" + file + ": the file cannot be written: " + why);
    }
}

}  // namespace nearfar
