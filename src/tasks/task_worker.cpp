#include "tasks/task_worker.h"

#include <poll.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace nearfar {
namespace {

// One line from the program.
void obey(const std::string& line, LineChannel& program, TaskWork& work, bool& ready) {
    if (line == task_word::open) {
        work.open();
        program.send(task_word::opened);
    } else if (const auto assignment = parse_assignment(line)) {
        ready = false;
        work.set_up(*assignment);
        ready = true;
        program.send(task_word::ready);
    } else if (line == task_word::go && ready) {
        ready = false;
        work.move([&] { return program.has_news(); }, [&](double time) { program.send(completion_line(time)); });
        std::string stop;
        program.receive(stop, -1);
        program.send(task_word::end);
        program.send(verified_line(work.verify()));
    } else if (line != task_word::stop) {  // which may cross with the trouble that ended a move
        throw Failure("error", "it does not understand '" + line + "'");
    }
}

}  // namespace

int serve(LineChannel& program, TaskWork& work) {
    bool ready = false;
    std::string line;
    while (program.receive(line, -1) == Heard::line) {
        try {
            obey(line, program, work, ready);
        } catch (const Prevented& why) {
            program.send(trouble_line(why));
        } catch (const Failure& why) {
            program.send(trouble_line(why));
            return 1;
        } catch (const std::exception& why) {
            program.send(trouble_line(Failure("error", why.what())));
            return 1;
        }
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
