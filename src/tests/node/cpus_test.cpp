#include "node/cpus.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/error.h"

namespace nearfar {
namespace {

TEST(Cpus, ListsAreAsLinuxPrintsThem) {
    EXPECT_EQ(cpu_list({}), "");
    EXPECT_EQ(cpu_list({3}), "3");
    EXPECT_EQ(cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(Cpus, ABoundThreadSaysWhereItIs) {
    const std::vector<int> before = cpus_in_effect();
    std::thread([&] { EXPECT_EQ(bind_thread({before.front()}), std::vector<int>{before.front()}); }).join();
    EXPECT_EQ(cpus_in_effect(), before) << "another thread's binding must not spread";
}

TEST(Cpus, AnAbsentCpuIsRefused) {
    std::thread([] { EXPECT_THROW(bind_thread({8000}), Prevented); }).join();
}

}  // namespace
}  // namespace nearfar
