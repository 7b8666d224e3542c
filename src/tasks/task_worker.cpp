#include "tasks/task_worker.h"

#include <poll.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "core/error.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

// One message from the program.
void obey(const Message& message, LineChannel& program, TaskWork& work, bool& ready) {
    const auto say = [&](const Message& answer) { program.send(answer.line()); };
    if (message.word == task_word::open) {
        work.open();
        say({task_word::opened, {}});
    } else if (message.word == task_word::assign) {
        ready = false;
        work.set_up(assignment_of(message));
        ready = true;
        say({task_word::ready, {}});
    } else if (message.word == task_word::go && ready) {
        ready = false;
        work.move([&] { return program.has_news(); }, [&](double time) { say({task_word::chunk, {number_field(time)}}); });
        std::string stop;
        program.receive(stop, -1);
        say({task_word::end, {}});
        say(verified_message(work.verify()));
    } else if (message.word != task_word::stop) {  // which may cross with the trouble that ended a move
        throw Failure("error", "it does not understand '" + message.line() + "'");
    }
}

}  // namespace

int serve(LineChannel& program, TaskWork& work) {
    bool ready = false;
    std::string line;
    while (program.receive(line, -1) == Heard::line) {
        const Message trouble = trouble_of([&] { obey(parse_message(line), program, work, ready); });
        if (trouble.word.empty()) continue;
        program.send(trouble.line());
        if (trouble.word != trouble_word::prevented) return 1;
    }
    return 0;
}

void end_with_program() {
    std::thread([] {
        pollfd poller{STDIN_FILENO, POLLRDHUP, 0};
        while (poll(&poller, 1, -1) <= 0) continue;
        _exit(0);
    }).detach();
}

}  // namespace nearfar
