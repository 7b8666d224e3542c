#include "kernels/gpu_compute/cuda_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <library_types.h>

#include "core/error.h"
#include "gpu/gpu_call.h"

namespace nearfar {
namespace {

constexpr int oldest_major = 10;
constexpr int newest_major = 16;

// Where the loader looks, then beside the CUDA that the program was built with.
void* opened(const std::string& file) {
    void* const found = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    return found != nullptr ? found : dlopen((std::string(NEARFAR_CUDA_LIBRARIES) + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::string file_name(const std::string& name, int major) { return "lib" + name + ".so." + std::to_string(major); }

std::map<std::string, std::string>& versions() {
    static std::map<std::string, std::string> opened;
    return opened;
}

// As the library says, by a call that all of them have.
std::string version_of(void* library, const std::string& name) {
    auto* const property = reinterpret_cast<int (*)(libraryPropertyType, int*)>(dlsym(library, (name + "GetProperty").c_str()));
    std::string version;
    for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL})
        if (int number = 0; property != nullptr && property(part, &number) == 0)
            version += (version.empty() ? "" : ".") + std::to_string(number);
    return version.empty() ? "unknown" : version;
}

std::string other_version(const std::string& name, int major) {
    for (int other = newest_major; other >= oldest_major; --other) {
        if (other == major) continue;
        void* const found = opened(file_name(name, other));
        if (found == nullptr) continue;
        dlclose(found);
        return file_name(name, other);
    }
    return "";
}

}  // namespace

CudaLibrary::CudaLibrary(const std::string& title, const std::string& name, int major)
    : title_(title), library_(opened(file_name(name, major))) {
    if (library_ != nullptr) {
        versions()[name] = version_of(library_, name);
        return;
    }
    const std::string wanted = file_name(name, major);
    const std::string other = other_version(name, major);
    throw Prevented("missing_library",
                    other.empty()
                        ? title + " is not there: " + wanted + " was not found; load the CUDA that nearfar was built with"
                        : title + " is of another major version: " + other + " is there, and nearfar was built for " + wanted);
}

void* CudaLibrary::address(const char* symbol) const {
    void* const found = dlsym(library_, symbol);
    if (found == nullptr)
        throw Prevented("missing_library", title_ + " has no " + symbol + ": it is not the one that nearfar was built for");
    return found;
}

void CudaLibrary::check(int status, const char* what) const {
    if (status == 0) return;
    nearfar::check(cudaGetLastError(), what);
    nearfar::check(cudaDeviceSynchronize(), what);
    throw Prevented("missing_library", title_ + " refuses " + what + " (status " + std::to_string(status) + ")");
}

std::map<std::string, std::string> opened_libraries() { return versions(); }

void refuse_library(const std::string& title) {
    throw Prevented("missing_library", title + " was not there when nearfar was built: its header is missing");
}

}  // namespace nearfar
