#include "tasks/task_protocol.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "core/clock.h"
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

TEST(LineChannel, LinesArriveWholeHoweverTheyAreCut) {
    Ends ends;
    ASSERT_EQ(write(ends.sockets.first, "rea", 3), 3);
    std::string line;
    EXPECT_EQ(ends.task.receive(line, 0), Heard::nothing);
    EXPECT_FALSE(ends.task.has_news()) << "half a line, already read, is no news";
    ASSERT_EQ(write(ends.sockets.first, "dy\ngo\nst", 8), 8);
    EXPECT_EQ(heard(ends.task), "ready");
    EXPECT_TRUE(ends.task.has_news()) << "the next line is here, though the socket has no more to read";
    EXPECT_EQ(heard(ends.task), "go");
    ends.program.close();
    EXPECT_EQ(heard(ends.task), "<closed>") << "half a line is none";
}

TEST(LineChannel, WaitsNoLongerThanItMay) {
    Ends ends;
    std::string line;
    const double begin = now();
    EXPECT_EQ(ends.task.receive(line, 0.05), Heard::nothing);
    EXPECT_GE(now() - begin, 0.05);
    EXPECT_LT(now() - begin, 0.5);
}

TEST(LineChannel, WhatWasSaidBeforeTheEndIsHeardAndSpeakingToTheDeadKillsNobody) {
    Ends ends;
    ends.program.send("not read by the task");
    ends.task.send("failure lost gone");
    ends.task.close();
    ends.program.send("go");  // SIGPIPE would end this test
    EXPECT_EQ(heard(ends.program), "failure lost gone");
    EXPECT_EQ(heard(ends.program), "<closed>");
    EXPECT_TRUE(ends.program.has_news());
}

TEST(TaskProtocol, WhatIsSaidIsUnderstood) {
    const Assignment said{parse_cell("n1:g2@n0/huge").flows[0], 100, 40};
    const auto understood = parse_assignment(assignment_line(said));
    ASSERT_TRUE(understood);
    EXPECT_EQ(understood->flow.text(), "n1:g2@n0/huge");
    EXPECT_EQ(understood->bytes, 100U);
    EXPECT_EQ(understood->chunk, 40U);
    EXPECT_DOUBLE_EQ(*parse_completion(completion_line(123456.123456789)), 123456.123456789);
    for (const char* const line :
         {"ready", "assign", "assign n0:g0 5", "assign n0:g0 5 0", "assign n0:g0 5 6", "t", "t x", "t 5x"}) {
        EXPECT_FALSE(parse_assignment(line)) << line;
        EXPECT_FALSE(parse_completion(line)) << line;
    }
}

TEST(TaskProtocol, TroubleKeepsItsKindItsCodeAndItsReason) {
    try {
        throw_trouble(trouble_line(Prevented("no_memory", "two\nlines")), "a task: ");
        FAIL() << "nothing was thrown";
    } catch (const Prevented& why) {
        EXPECT_EQ(why.code, "no_memory");
        EXPECT_STREQ(why.what(), "a task: two lines");
    }
    EXPECT_THROW(throw_trouble(trouble_line(Failure("lost", "gone")), ""), Failure);
    throw_trouble("ready", "");
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
    ends.program.send("assign n0:g0/huge 4 2");
    EXPECT_EQ(heard(ends.program), "prevented no_memory no huge pages");
    ends.program.send("assign n0:g0 4 2");
    EXPECT_EQ(heard(ends.program), "ready");
    ends.program.send("assign g0:n0 4 2");
    EXPECT_EQ(heard(ends.program), "ready") << "an assignment that never moved holds nothing up";
    ends.program.send("go");
    EXPECT_EQ(heard(ends.program), "t 1.000000000");
    ends.program.send("stop");
    std::string last;
    std::string line;
    while ((line = heard(ends.program)).rfind("t ", 0) == 0) last = line;
    EXPECT_EQ(last, "t 2.000000000") << "what was under way at the stop is told too";
    EXPECT_EQ(line, "end");
    const Verified verified = parse_verified(parse_message(heard(ends.program)));
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
    EXPECT_EQ(heard(ends.program), "failure error it does not understand 'go'") << "there was no assignment";
    task.join();
}

TEST(TaskWorker, AProgramThatDiesWithoutReadingEndsATaskThatWaitsToSpeak) {
    Ends ends;
    RecordingWork work;
    std::thread task([&] { EXPECT_EQ(serve(ends.task, work), 0); });
    ends.program.send("assign n0:g0 4 2");
    EXPECT_EQ(heard(ends.program), "ready");
    ends.program.send("go");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // its completions fill the socket; then it waits
    ends.program.close();
    task.join();
}

}  // namespace
}  // namespace nearfar
