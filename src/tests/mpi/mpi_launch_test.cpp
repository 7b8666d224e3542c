#include "mpi/mpi_launch.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace nearfar {
namespace {

class Launched : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* const name :
             {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_SIZE",
              "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
            unsetenv(name);
    }
};

TEST_F(Launched, WithoutALauncherNothingIsKnown) {
    EXPECT_FALSE(launched_rank().has_value());
    EXPECT_FALSE(launched_size().has_value());
}

TEST_F(Launched, EveryLaunchersWordsCount) {
    setenv("PMI_RANK", "3", 1);
    setenv("PMI_SIZE", "8", 1);
    EXPECT_EQ(launched_rank(), 3);
    EXPECT_EQ(launched_size(), 8);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    EXPECT_EQ(launched_rank(), 1) << "Open MPI's own words come first";
}

TEST_F(Launched, WhatIsNoNumberIsPassedOver) {
    setenv("PMI_RANK", "first", 1);
    setenv("SLURM_PROCID", "2", 1);
    EXPECT_EQ(launched_rank(), 2);
}

TEST_F(Launched, AJobsSizeIsNotThatOfItsStep) {
    setenv("SLURM_NTASKS", "64", 1);
    EXPECT_FALSE(launched_size().has_value()) << "a program that a job's script starts without srun is alone";
}

}  // namespace
}  // namespace nearfar
