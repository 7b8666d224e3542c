#include "kernels/problems/problem.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/options.h"

namespace nearfar {
namespace {

using Make = std::unique_ptr<Problem> (*)(const std::string& kernel, ProblemSize size);

const std::vector<std::pair<std::string, Make>>& makers() {
    static const std::vector<std::pair<std::string, Make>> all{
        {"sgemm", make_gemm},          {"dgemm", make_gemm}, {"bf16gemm", make_gemm}, {"sfft", make_fft},  {"dfft", make_fft},
        {"reduction", make_reduction}, {"scan", make_scan},  {"sort", make_sort},     {"spmv", make_spmv}, {"triad", make_triad},
        {"stencil", make_stencil},     {"md", make_md},      {"dmd", make_md}};
    return all;
}

}  // namespace

const char* size_name(ProblemSize size) {
    switch (size) {
        case ProblemSize::paper: return "paper";
        case ProblemSize::today: return "today";
        default: return "small";
    }
}

std::size_t of_size(ProblemSize size, std::size_t paper, std::size_t today, std::size_t small) {
    switch (size) {
        case ProblemSize::paper: return paper;
        case ProblemSize::today: return today;
        default: return small;
    }
}

void Problem::compute_on_host(const void*, void*, const Team&) const {
    throw Prevented("unsupported", shape_.kernel + " is computed by a library of CUDA: it needs a GPU");
}

void Problem::fail(const std::string& what) const { throw Failure("wrong_data", shape_.text() + ": " + what); }

Verified Problem::all_verified() const { return {shape_.out_bytes, 0, 0}; }

const std::vector<std::string>& kernel_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const auto& [name, make] : makers()) all.push_back(name);
        return all;
    }();
    return names;
}

std::unique_ptr<Problem> make_problem(const std::string& kernel, ProblemSize size) {
    for (const auto& [name, make] : makers())
        if (name == kernel) return make(name, size);
    throw WrongUse("there is no kernel '" + kernel + "': " + joined_list(kernel_names()));
}

}  // namespace nearfar
