#include "core/interrupt.h"

#include <csignal>

namespace nearfar {
namespace {

volatile std::sig_atomic_t caught = 0;

void remember(int signal) {
    if (caught != 0) std::signal(signal, SIG_DFL);  // asked twice: end at the third
    caught = 1;
}

}  // namespace

void catch_interrupts() {
    std::signal(SIGINT, remember);
    std::signal(SIGTERM, remember);
}

bool interrupted() { return caught != 0; }

}  // namespace nearfar
