// A fake task for the tests of TaskPool: keeps the protocol by the program's own code, moves nothing, and misbehaves as its
// arguments say.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "core/clock.h"
#include "node/cpus.h"
#include "tasks/task_worker.h"

using namespace nearfar;

namespace {

constexpr double chunk_seconds = 0.001;

class FakeTask : public TaskWork {
public:
    explicit FakeTask(std::string fault) : fault_(std::move(fault)) {}

    void open() override {
        if (fault_ == "refuse") throw Prevented("exclusive", "g0 (0000:1b:00.0) creating a context:\nall devices are busy");
        if (fault_ == "die-opening") _exit(7);
        if (fault_ == "wants-two-cpus" && cpus_in_effect().size() < 2) throw Prevented("not_allowed", "only one CPU");
    }

    void set_up(const Assignment& assignment) override {
        if (fault_ == "no-memory") throw Prevented("no_memory", "NUMA node 0 has 1 MiB free");
        if (fault_ == "hang") hang();
        assignment_ = assignment;
    }

    void move(const std::function<bool()>& stopped, const std::function<void(double)>& complete) override {
        for (int chunk = 0; !stopped(); ++chunk) {
            std::this_thread::sleep_for(std::chrono::duration<double>(chunk_seconds));
            if (fault_ == "die" && chunk == 20) raise(SIGKILL);
            if (fault_ == "hang-moving" && chunk == 20) hang();
            if (fault_ == "lost" && chunk == 20) throw Failure("lost", "waiting for a chunk: unspecified launch failure");
            complete(now());
        }
    }

    Verified verify() override {
        if (fault_ == "wrong") throw Failure("wrong_data", "8 of 8 words are wrong");
        return {8, 1, 1};
    }

private:
    std::string fault_;
    Assignment assignment_;

    [[noreturn]] static void hang() {
        while (true) pause();
    }
};

}  // namespace

// fake_task [FAULT]
int main(int argc, char** argv) {
    end_with_program();
    LineChannel program(STDIN_FILENO);
    FakeTask task(argc > 1 ? argv[1] : "");
    return serve(program, task);
}
