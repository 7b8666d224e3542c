#include "supervisor/starter.h"

#include <csignal>

#include "core/clock.h"
#include "supervisor/process_end.h"

namespace nearfar {
namespace {

constexpr double between_looks = 0.25;

}  // namespace

Starter::Starter(pid_t program) : program_(program) {
    struct sigaction hang_up {};
    if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) process_ = parent_of(program_);
}

bool Starter::is_gone() {
    if (process_ <= 1 || now() < next_look_) return false;
    next_look_ = now() + between_looks;
    return parent_of(program_) != process_;
}

}  // namespace nearfar
