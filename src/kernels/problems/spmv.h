// Where the operands of spmv lie.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar {

constexpr std::size_t spmv_thinness = 100;  // of so many elements of a row one is not nought

// Of an n × n matrix in rows (CSR) and a vector.
struct SpmvOperands {
    explicit SpmvOperands(void* in, std::size_t n)
        : a_row(n / spmv_thinness), elements(n * a_row), values(static_cast<float*>(in)), x(values + elements),
          columns(reinterpret_cast<std::int32_t*>(x + n)), offsets(columns + elements) {}

    static std::size_t bytes(std::size_t n) {
        const std::size_t elements = n * (n / spmv_thinness);
        return elements * (sizeof(float) + sizeof(std::int32_t)) + n * sizeof(float) + (n + 1) * sizeof(std::int32_t);
    }

    std::size_t a_row;  // elements that are not nought
    std::size_t elements;
    float* values;
    float* x;
    std::int32_t* columns;
    std::int32_t* offsets;  // of each row's first element, and behind the last
};

}  // namespace nearfar
