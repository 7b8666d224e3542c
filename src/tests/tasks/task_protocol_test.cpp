#include "tasks/task_protocol.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/error.h"
#include "core/line_channel.h"
#include "tasks/task_worker.h"

namespace nearfar {
namespace {

struct Ends {
    std::pair<int, int> sockets = connected_sockets();
    LineChannel program{sockets.first};
    LineChannel task{sockets.second};
};

std::string heard(LineChannel& channel) {
    std::string line;
    switch (channel.receive(line, 1)) {
        case Heard::line: return line;
        case Heard::nothing: return "<nothing>";
        default: return "<closed>";
    }
}

TEST(TaskProtocol, AnAssignmentIsUnderstoodAndNothingElseIsOne) {
    const Message said = assignment_message({parse_cell("n1:g2@n0/huge").flows[0], 100, 40});
    const Assignment understood = assignment_of(parse_message(said.line()));
    EXPECT_EQ(understood.flow.text(), "n1:g2@n0/huge");
    EXPECT_EQ(understood.bytes, 100U);
    EXPECT_EQ(understood.chunk, 40U);
    for (const std::vector<std::string>& fields : {std::vector<std::string>{},
                                                   {"n0:g0", "5"},
                                                   {"n0:g0", "5", "0"},
                                                   {"n0:g0", "5", "6"},
                                                   {"n0:g0", "5", "-1"},
                                                   {"n0:q0", "5", "5"}})
        EXPECT_ANY_THROW(assignment_of({task_word::assign, fields})) << fields.size();
}

// Says of each thing that it is told, and is as long under way as the program lets it.
class RecordingWork : public TaskWork {
public:
    std::string record;
    void open() override { record += "open "; }
    void set_up(const Assignment& assignment) override {
        if (assignment.flow.huge) throw Prevented("no_memory", "no huge pages");
        record += "set-up:" + assignment.flow.text() + " ";
    }
    void move(const std::function<bool()>& stopped, const std::function<void(double)>& complete) override {
        while (!stopped()) complete(1);
        complete(2);
        record += "move ";
    }
    Verified verify() override {
        record += "verify ";
        return {4096, 7, 5};
    }
};

TEST(TaskWorker, ServesOneAssignmentAfterTheOther) {
    Ends ends;
    RecordingWork work;
    std::thread task([&] { EXPECT_EQ(serve(ends.task, work), 0) << "the end of the program is no fault"; });
    ends.program.send("open");
    EXPECT_EQ(heard(ends.program), "opened");
    ends.program.send("assign\tn0:g0/huge\t4\t2");
    EXPECT_EQ(heard(ends.program), "prevented\tno_memory\tno huge pages");
    ends.program.send("assign\tn0:g0\t4\t2");
    EXPECT_EQ(heard(ends.program), "ready");
    ends.program.send("assign\tg0:n0\t4\t2");
    EXPECT_EQ(heard(ends.program), "ready") << "an assignment that never moved holds nothing up";
    ends.program.send("go");
    EXPECT_EQ(heard(ends.program), "chunk\t1");
    ends.program.send("stop");
    std::string last;
    std::string line;
    while ((line = heard(ends.program)).rfind("chunk", 0) == 0) last = line;
    EXPECT_EQ(last, "chunk\t2") << "what was under way at the stop is told too";
    EXPECT_EQ(line, "end");
    const Verified verified = verified_of(parse_message(heard(ends.program)));
    EXPECT_EQ((std::vector<std::uint64_t>{verified.bytes, verified.copies, verified.seen}),
              (std::vector<std::uint64_t>{4096, 7, 5}));
    ends.program.close();
    task.join();
    EXPECT_EQ(work.record, "open set-up:n0:g0 set-up:g0:n0 move verify ");
}

TEST(TaskWorker, EndsWithItsReasonWhenItIsToldNonsense) {
    Ends ends;
    RecordingWork work;
    std::thread task([&] { EXPECT_EQ(serve(ends.task, work), 1); });
    ends.program.send("go");
    EXPECT_EQ(heard(ends.program), "failure\terror\tit does not understand 'go'") << "there was no assignment";
    task.join();
}

TEST(TaskWorker, AProgramThatDiesWithoutReadingEndsATaskThatWaitsToSpeak) {
    Ends ends;
    RecordingWork work;
    std::thread task([&] { EXPECT_EQ(serve(ends.task, work), 0); });
    ends.program.send("assign\tn0:g0\t4\t2");
    EXPECT_EQ(heard(ends.program), "ready");
    ends.program.send("go");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // its completions fill the socket; then it waits
    ends.program.close();
    task.join();
}

}  // namespace
}  // namespace nearfar
