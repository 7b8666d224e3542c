// Threads that are refused, as where a limit on processes is reached.
#pragma once

namespace nearfar {

// So many more may be started; negative: any number.
extern int threads_left;

}  // namespace nearfar
