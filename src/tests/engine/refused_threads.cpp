#include "tests/engine/refused_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

namespace nearfar {

int threads_left = -1;

}  // namespace nearfar

// Stands in the place of the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
    static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    if (nearfar::threads_left == 0) return EAGAIN;
    if (nearfar::threads_left > 0) --nearfar::threads_left;
    return create(thread, attributes, body, argument);
}
