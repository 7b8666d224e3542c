#include "tasks/background_process.h"

namespace nearfar {

BackgroundFlow background_process(const SharedFlow& shared, const TaskPool::Command& command, double patience) {
    const std::vector<SharedFlow> one{{shared.flow.alone(), shared.bytes, shared.chunk}};
    const auto body = [=](BackgroundTask& task) {
        TaskPool pool(command, patience);
        pool.plan(one);
        pool.start();
        pool.open();
        pool.await_open();
        TaskProcess* process = pool.assign(one)[0][0];
        task.begin(one[0].chunk);
        process->move([&] { return task.stopped(); }, [&](double time) { task.complete(time); });
    };
    return {shared.flow.text(), body};
}

}  // namespace nearfar
