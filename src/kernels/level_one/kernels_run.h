// nearfar-kernels without ranks: one process measures all subjects.
#pragma once

#include "kernels/level_one/kernels_bench.h"
#include "kernels/level_one/kernels_options.h"
#include "supervisor/supervisor.h"

namespace nearfar {

// In the process that measures. `rest`: what a process that ended before has left, null: everything.
void run_kernels(const KernelsOptions& options, ProgramRun run, Teller& teller, const Rest* rest, double gone);

// The same of --sustain: products at full load on all GPUs at the same time. A build without CUDA throws Prevented (missing_library).
void run_sustained(const KernelsOptions& options, ProgramRun run, Teller& teller, const Rest* rest);

// One line for each subject with a kernel.
int list_kernels(const KernelsOptions& options);

}  // namespace nearfar
