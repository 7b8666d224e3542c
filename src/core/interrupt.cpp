#include "core/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace nearfar {
namespace {

volatile std::sig_atomic_t caught = 0;

// However often it is asked: the process that looks after this one ends it where it does not end by itself.
void remember(int) { caught = 1; }

}  // namespace

void catch_interrupts() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, remember);
}

bool interrupted() { return caught != 0; }

}  // namespace nearfar
