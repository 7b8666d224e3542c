// Every kernel that the CPU computes is verified, and a wrong answer shows; of the libraries' kernels a product or a transform by hand.
#include "kernels/problems/problem.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "core/error.h"
#include "kernels/problems/md_box.h"
#include "kernels/problems/spmv.h"

namespace nearfar {
namespace {

const Team team({});

struct Computed {
    std::unique_ptr<Problem> problem;
    std::vector<char> in;
    std::vector<char> out;

    explicit Computed(const std::string& kernel)
        : problem(make_problem(kernel, ProblemSize::small)), in(problem->shape().in_bytes), out(problem->shape().out_bytes) {
        problem->fill(in.data(), team);
    }
    bool is_right() const {
        try {
            problem->verify(in.data(), out.data(), team);
        } catch (const Failure& why) {
            EXPECT_EQ(why.code, "wrong_data");
            return false;
        }
        return true;
    }
    // A high bit of the element in which this byte is.
    void spoil(std::size_t element, std::size_t bytes) { out[element * bytes + bytes - 1] ^= 0x40; }
};

class OnTheCpu : public testing::TestWithParam<const char*> {};

TEST_P(OnTheCpu, IsRightAndAWrongElementShows) {
    Computed computed(GetParam());
    computed.problem->compute_on_host(computed.in.data(), computed.out.data(), Team({0, 0, 0}));
    EXPECT_TRUE(computed.is_right());
    const std::size_t elements = computed.out.size() / 4;
    for (const std::size_t element : {std::size_t{0}, elements / 2, elements - 1}) {
        if (std::string(GetParam()) == "md" && element == elements - 1) continue;  // the fourth float is not used
        computed.spoil(element, 4);
        EXPECT_FALSE(computed.is_right()) << element;
        computed.spoil(element, 4);
    }
    EXPECT_TRUE(computed.is_right());
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnTheCpu, testing::Values("reduction", "scan", "sort", "triad", "stencil", "md"));

TEST(Problems, OneStencilPassTooFewShows) {
    Computed computed("stencil");
    std::memcpy(computed.out.data(), computed.in.data(), computed.out.size());
    EXPECT_FALSE(computed.is_right());
}

TEST(Problems, AProductIsRightAndAWrongElementShows) {
    Computed computed("dgemm");
    const std::size_t n = computed.problem->shape().n;
    const auto* const a = reinterpret_cast<const double*>(computed.in.data());
    const double* const b = a + n * n;
    auto* const c = reinterpret_cast<double*>(computed.out.data());
    for (std::size_t column = 0; column < n; ++column)
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t row = 0; row < n; ++row) c[column * n + row] += a[k * n + row] * b[column * n + k];
    EXPECT_TRUE(computed.is_right());
    c[5] += 1e-9;
    EXPECT_FALSE(computed.is_right());
}

TEST(Problems, ATransformIsRightAndAWrongPointShows) {
    Computed computed("sfft");
    const auto* const in = reinterpret_cast<const std::complex<float>*>(computed.in.data());
    auto* const out = reinterpret_cast<std::complex<float>*>(computed.out.data());
    std::vector<std::complex<double>> turns;
    for (std::size_t k = 0; k < fft_points; ++k)
        turns.push_back(std::polar(1.0, -2 * M_PI * static_cast<double>(k) / fft_points));
    for (std::size_t i = 0; i < computed.problem->shape().n * fft_points; ++i) {
        const auto* const points = in + i / fft_points * fft_points;
        std::complex<double> sum = 0;
        for (std::size_t k = 0; k < fft_points; ++k)
            sum += turns[i % fft_points * k % fft_points] * std::complex<double>(points[k]);
        out[i] = std::complex<float>(sum);
    }
    EXPECT_TRUE(computed.is_right());
    out[777] += std::complex<float>(0, 0.1F);
    EXPECT_FALSE(computed.is_right());
}

TEST(Problems, ASparseProductIsRightAndAWrongRowShows) {
    Computed computed("spmv");
    const std::size_t n = computed.problem->shape().n;
    const SpmvOperands operands(computed.in.data(), n);
    auto* const y = reinterpret_cast<float*>(computed.out.data());
    for (std::size_t row = 0; row < n; ++row)
        for (std::int32_t i = operands.offsets[row]; i < operands.offsets[row + 1]; ++i)
            y[row] += operands.values[i] * operands.x[operands.columns[i]];
    EXPECT_TRUE(computed.is_right());
    y[n - 1] += 1;
    EXPECT_FALSE(computed.is_right());
}

TEST(Problems, WhatALibraryComputesNeedsAGpu) {
    Computed computed("sgemm");
    try {
        computed.problem->compute_on_host(computed.in.data(), computed.out.data(), team);
        FAIL();
    } catch (const Prevented& why) {
        EXPECT_EQ(why.code, "unsupported");
    }
}

TEST(Problems, MdInDoublePrecisionIsRightAndAWrongForceShows) {
    Computed computed("dmd");
    computed.problem->compute_on_host(computed.in.data(), computed.out.data(), Team({0, 0, 0}));
    EXPECT_TRUE(computed.is_right());
    computed.spoil(1, 4);  // the upper half of the first number
    EXPECT_FALSE(computed.is_right());
    EXPECT_EQ(computed.out.size(), 2 * Computed("md").out.size());
}

// 8 operations of every distance, and 13 more where it is within the cut-off.
TEST(Problems, OperationsOfMdAreThoseOfShoc) {
    const Computed computed("md");
    const std::size_t n = computed.problem->shape().n;
    const MdBox box = md_sides(ProblemSize::small).box();
    const auto* const atoms = reinterpret_cast<const MdAtom<float>*>(computed.in.data());
    const int* const list = reinterpret_cast<const int*>(atoms + n);
    double operations = 0;
    for (std::size_t k = 0; k < md_neighbours * n; ++k) {
        const MdAtom<float>& a = atoms[k % n];
        const MdAtom<float>& b = atoms[list[k]];
        const float x = nearest_image(a.x - b.x, box.x, 1 / box.x);
        const float y = nearest_image(a.y - b.y, box.y, 1 / box.y);
        const float z = nearest_image(a.z - b.z, box.z, 1 / box.z);
        operations += x * x + y * y + z * z < md_cutoff_squared ? 21 : 8;
    }
    EXPECT_NEAR(computed.problem->shape().operations / operations, 1, 0.001);
}

TEST(Problems, PaperSizesAreThoseOfShoc) {
    EXPECT_EQ(make_problem("stencil", ProblemSize::paper)->shape().passes, 1000);
    EXPECT_EQ(make_problem("sgemm", ProblemSize::paper)->shape().n, 4096u);
    EXPECT_EQ(make_problem("dgemm", ProblemSize::paper)->shape().n, 2048u);
    EXPECT_EQ(make_problem("sfft", ProblemSize::paper)->shape().in_bytes, std::size_t{256} << 20);
    EXPECT_EQ(make_problem("md", ProblemSize::paper)->shape().n, 73728u);
}

}  // namespace
}  // namespace nearfar
