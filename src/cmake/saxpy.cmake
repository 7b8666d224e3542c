# The POP pattern: `nearfar-kernels saxpy`.
add_library(saxpy STATIC kernels/saxpy/saxpy_figures.cpp kernels/saxpy/saxpy_options.cpp)
target_compile_options(saxpy PRIVATE -Wall -Wextra)
target_link_libraries(saxpy PUBLIC nearfar)
