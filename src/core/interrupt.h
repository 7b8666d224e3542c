// Ctrl-C: what is under way ends in order, what is left is reported as skipped.
#pragma once

namespace nearfar {

void catch_interrupts();
bool interrupted();

}  // namespace nearfar
