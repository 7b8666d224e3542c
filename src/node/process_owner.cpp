#include "node/process_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include "node/proc_files.h"

namespace nearfar {
namespace {

constexpr const char* first_namespace = "pid:[4026531836]";

}  // namespace

bool has_own_process_numbers(const std::string& proc) {
    char name[64] = "";
    const ssize_t length = readlink((proc + "/self/ns/pid").c_str(), name, sizeof name - 1);
    return length > 0 && std::string(name) != first_namespace;
}

std::string owner_of(unsigned pid) {
    struct stat facts {};
    if (has_own_process_numbers() || stat(("/proc/" + std::to_string(pid)).c_str(), &facts) != 0) return {};
    return user_name(text_of("/etc/passwd"), facts.st_uid);
}

}  // namespace nearfar
