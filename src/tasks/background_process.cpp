#include "tasks/background_process.h"

namespace nearfar {

BackgroundFlow background_process(const SharedFlow& shared, const TaskPool::Command& command, double patience) {
    const std::vector<SharedFlow> one{{shared.flow.alone(), shared.bytes, shared.chunk}};
    const auto body = [=](FlowThread& thread) {
        TaskPool pool(command, patience);
        pool.plan(one);
        pool.start();
        pool.open();
        pool.await_open();
        pool.assign(one)[0][0]->run(thread);
    };
    return {shared.flow.text(), {body, shared.chunk}};
}

}  // namespace nearfar
