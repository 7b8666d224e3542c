// One of CUDA's libraries, opened at run time: a program that was built beside its headers runs where it is not, with less to measure.
#pragma once

#include <map>
#include <string>

namespace nearfar {

class CudaLibrary {
public:
    // libNAME.so.MAJOR, where the loader finds it or beside the CUDA of the build. `title`: "cuBLAS". Throws Prevented (missing_library)
    // where it is not there, with the other major version that is.
    CudaLibrary(const std::string& title, const std::string& name, int major);

    // Of the type of the header's function. Throws Prevented (missing_library) where the library has none of this name.
    template <typename Function>
    Function* function(const char* symbol) const {
        return reinterpret_cast<Function*>(address(symbol));
    }

    // Throws what a status that is not 0 means: a GPU that failed before, or the library's own refusal.
    void check(int status, const char* what) const;

private:
    std::string title_;
    void* library_;  // stays open until the process ends: its own threads and GPU code are still there

    void* address(const char* symbol) const;
};

// Those that this process has opened, by name ("cublas"), with their versions.
std::map<std::string, std::string> opened_libraries();

// Where the header of a library was not there when the program was built.
[[noreturn]] void refuse_library(const std::string& title);

}  // namespace nearfar
