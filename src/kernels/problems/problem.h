// One kernel of the level-one suite at one size, apart from where it runs: its operands, what they must become, and what is counted.
// Names and the sizes `paper` are those of SHOC's level one at size 4, as Spafford et al. (2011) ran it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cell/results.h"
#include "node/team.h"

namespace nearfar {

enum class ProblemSize {
    paper,  // SHOC's size 4
    today,  // hundreds of megabytes a call
    small   // a few hundred KiB: for tests
};

const char* size_name(ProblemSize size);

struct ProblemShape {
    std::string kernel;  // "sgemm"
    ProblemSize size = ProblemSize::small;
    int passes = 1;     // over the operands, in one call
    std::size_t n = 0;  // rows, elements, transforms or atoms: what the kernel's file says
    std::size_t in_bytes = 0;
    std::size_t out_bytes = 0;
    double operations = 0;  // arithmetic of one call; 0: none worth counting
    double counted = 0;     // what the rate counts of one call, in `unit` times 1e9 a second
    const char* unit = "GFLOP/s";
    bool repeats = true;    // of the same operands a GPU makes the same bits each time
    bool in_place = false;  // results take the place of the last operands, and are the next call's

    bool is_product() const;  // of matrices: problems/gemm.h

    // How many sets of results there are at the same time.
    int results() const { return in_place ? 1 : 2; }
    std::size_t bytes() const { return in_bytes + out_bytes; }
    std::string text() const { return kernel + " (" + size_name(size) + ")"; }
};

// Operands and results lie each in one piece; the kernel's file says in which order.
class Problem {
public:
    explicit Problem(ProblemShape shape) : shape_(std::move(shape)) {}
    virtual ~Problem() = default;
    Problem(const Problem&) = delete;
    Problem& operator=(const Problem&) = delete;

    const ProblemShape& shape() const { return shape_; }
    // Writes the operands, in_bytes of them.
    virtual void fill(void* in, const Team& team) const = 0;
    // Throws Failure (wrong_data) where the results are not what follows from the operands.
    virtual Verified verify(const void* in, const void* out, const Team& team) const = 0;
    // Computes the results on the CPU. Throws Prevented (unsupported) where the kernel is a CUDA library's.
    virtual void compute_on_host(const void* in, void* out, const Team& team) const;

protected:
    // Throws wrong_data with the kernel's name ahead.
    [[noreturn]] void fail(const std::string& what) const;
    // All operands and results were looked at.
    Verified all_verified() const;

private:
    ProblemShape shape_;
};

// All kernels by name, in the order in which they are measured.
const std::vector<std::string>& kernel_names();

// Throws WrongUse for a kernel that there is none of.
std::unique_ptr<Problem> make_problem(const std::string& kernel, ProblemSize size);

std::unique_ptr<Problem> make_gemm(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_fft(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_reduction(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_scan(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_sort(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_spmv(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_triad(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_stencil(const std::string& kernel, ProblemSize size);
std::unique_ptr<Problem> make_md(const std::string& kernel, ProblemSize size);

constexpr std::size_t fft_points = 512;  // of each transform of sfft and dfft

// Of three sizes, in the order of ProblemSize.
std::size_t of_size(ProblemSize size, std::size_t paper, std::size_t today, std::size_t small);

}  // namespace nearfar
