// A fake task for the tests of TaskPool: keeps the protocol by the program's own code, moves nothing, and misbehaves as its
// arguments say.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/trouble.h"
#include "node/cpus.h"
#include "tasks/task_worker.h"

using namespace nearfar;

namespace {

constexpr double chunk_seconds = 0.001;

bool refuses_threads = false;

class FakeTask : public TaskWork {
public:
    explicit FakeTask(std::string fault) : fault_(std::move(fault)) {}

    void open() override {
        suffer("opening");
        if (fault_ == "refuse") throw Prevented("exclusive", "g0 (0000:1b:00.0) creating a context:\nall devices are busy");
        if (fault_ == "no-memory-left") throw std::bad_alloc();
        if (fault_ == "wants-two-cpus" && cpus_in_effect().size() < 2) throw Prevented("not_allowed", "only one CPU");
    }

    void set_up(const Assignment& /*assignment*/) override {
        suffer("setting-up");
        if (fault_ == "no-memory") throw Prevented("no_memory", "NUMA node 0 has 1 MiB free");
        if (fault_ == "misused") throw WrongUse("no such NUMA node");
    }

    void move(const std::function<bool()>& stopped, const std::function<void(double)>& complete) override {
        for (int chunk = 0; !stopped(); ++chunk) {
            std::this_thread::sleep_for(std::chrono::duration<double>(chunk_seconds));
            if (chunk == 20) suffer("moving");
            if (fault_ == "lost" && chunk == 20) throw Failure("lost", "waiting for a chunk: unspecified launch failure");
            complete(now());
        }
    }

    Verified verify() override {
        suffer("verifying");
        if (fault_ == "wrong") throw Failure("wrong_data", "8 of 8 words are wrong");
        return {8, 1, 1};
    }

private:
    std::string fault_;

    // "kill-PHASE", "exit-PHASE" and "hang-PHASE" are the faults of any phase.
    void suffer(const std::string& phase) const {
        if (fault_ == "kill-" + phase) raise(SIGKILL);
        if (fault_ == "exit-" + phase) _exit(7);
        while (fault_ == "hang-" + phase) pause();
    }
};

}  // namespace

// Stands in the place of the C library's, as where a limit on processes is reached.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
    static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return refuses_threads ? EAGAIN : create(thread, attributes, body, argument);
}

// fake_task [FAULT]
int main(int argc, char** argv) {
    const std::string fault = argc > 1 ? argv[1] : "";
    refuses_threads = fault == "no-thread";
    LineChannel program(STDIN_FILENO);
    const Message trouble = trouble_of([&] {
        end_with_program();
        FakeTask task(fault);
        _exit(serve(program, task));
    });
    program.send(trouble.line());
    return 1;
}
