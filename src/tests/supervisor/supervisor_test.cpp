#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"

namespace nearfar {
namespace {

const std::vector<std::string> three{"c0:n0/copy", "c0:n0/add", "c0:n0/triad"};

CellResult result(const Cell& cell) {
    CellResult found;
    found.quantity = "stream";
    found.cell = cell;
    found.total = summarise({50});
    return found;
}

std::vector<Cell> parsed(const std::vector<std::string>& texts) {
    std::vector<Cell> cells;
    for (const std::string& text : texts) cells.push_back(parse_cell(text));
    return cells;
}

// Measures three cells, each in so many seconds at most; `each` may end the process in any way before a cell has its result.
Measure measuring(const std::function<void(const std::string&)>& each, double seconds = 30) {
    return [each, seconds](Teller& teller, const Rest* rest, double) {
        const std::vector<Cell> cells = parsed(rest != nullptr ? rest->cells : three);
        Session session;
        teller.node({}, Node{}, {});
        teller.cells(cells);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            teller.news(session);
            teller.under_way(i, cells.size(), seconds, cells[i].text(), {cells[i].text()});
            each(cells[i].text());
            session.results.push_back(result(cells[i]));
        }
        teller.news(session);
    };
}

class Supervising : public testing::Test {
protected:
    std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("nearfar-" + std::to_string(getpid()));
    std::filesystem::path marker_ = folder_ / "measuring";
    Supervised how_;

    void SetUp() override {
        std::filesystem::create_directories(folder_);
        how_.run.name = "nearfar-test";
        how_.json = true;
        how_.file = folder_ / "document.json";
        how_.hang_seconds = 30;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    // In a process of its own: supervise() changes how this one takes signals.
    int run(const Measure& measure, const std::function<void(pid_t)>& meanwhile = nullptr,
            const std::function<bool()>& before = nullptr) const {
        const pid_t front = fork();
        if (front == 0) {
            int code = 99;
            try {
                if (!before || before()) code = supervise(how_, measure);
            } catch (const WrongUse&) {
                code = 2;
            }
            _exit(code);
        }
        if (meanwhile) meanwhile(front);
        int status = 0;
        waitpid(front, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    std::string document() const {
        for (const double end = now() + 30; !std::filesystem::exists(how_.file) && now() < end;) usleep(5000);
        std::ifstream file(how_.file);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    void expect(const std::string& text, const std::string& part) const {
        EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in " << text;
    }

    // The measuring process says its number, and the test waits for it.
    void say_that_it_measures() const {
        const std::string beside = marker_.string() + ".part";
        std::ofstream(beside) << getpid() << "\n";
        std::filesystem::rename(beside, marker_);
    }
    void wait_until_it_measures() const {
        for (const double end = now() + 60; !std::filesystem::exists(marker_) && now() < end;) usleep(5000);
    }

    // The front's parent ends while a cell is measured for so many seconds; `ignored`: hang-ups are, as under nohup.
    void start_and_go(bool ignored, double seconds) const {
        const pid_t starter = fork();
        if (starter == 0) {
            if (ignored) std::signal(SIGHUP, SIG_IGN);
            if (fork() == 0)
                _exit(supervise(how_, [this, seconds](Teller& teller, const Rest*, double) {
                    catch_interrupts();
                    teller.cells({parse_cell(three[0])});
                    teller.under_way(0, 1, 90, three[0], {three[0]});
                    say_that_it_measures();
                    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                    teller.skipped({three[0], "busy", "measured to its end"});
                }));
            wait_until_it_measures();
            _exit(0);
        }
        waitpid(starter, nullptr, 0);
    }

    // The first and the last cell have results, the one between them failed as is said.
    void expect_only_the_middle_failed(const std::string& code, const std::string& words) const {
        const std::string text = document();
        expect(text, R"("cell": "c0:n0/copy")");
        expect(text, R"("cell": "c0:n0/triad")");
        expect(text, R"("failed": [{"cell": "c0:n0/add", "code": ")" + code + "\"");
        expect(text, words);
        expect(text, R"("skipped": [])");
    }
};

TEST_F(Supervising, AProcessThatTellsAllIsPrinted) {
    EXPECT_EQ(run(measuring([](const std::string&) {})), 0);
    expect(document(), R"("failed": [])");
    expect(document(), R"("cell": "c0:n0/triad")");
}

// What ends the process while the second of three cells is measured.
std::function<void(const std::string&)> in_the_middle(const std::function<void()>& ends) {
    return [ends](const std::string& cell) {
        if (cell == three[1]) ends();
    };
}

const auto kill_itself = in_the_middle([] { kill(getpid(), SIGKILL); });

TEST_F(Supervising, AProcessThatEndsCostsItsCellAlone) {
    const std::vector<std::pair<std::function<void(const std::string&)>, std::string>> ends{
        {kill_itself, "c0:n0/add: the measuring process was killed (SIGKILL)"},
        {in_the_middle([] { std::abort(); }), "aborted (SIGABRT)"},
        {in_the_middle([] { _exit(4); }), "ended with exit code 4"}};
    for (const auto& [each, words] : ends) {
        EXPECT_EQ(run(measuring(each)), 1);
        expect_only_the_middle_failed("error", words);
        std::filesystem::remove(how_.file);
    }
}

TEST_F(Supervising, SoDoesOneThatHangs) {
    EXPECT_EQ(run(measuring(in_the_middle([] { std::this_thread::sleep_for(std::chrono::hours(1)); }), 1)), 1);
    expect_only_the_middle_failed("hang", "c0:n0/add did not end within 1 s");
}

TEST_F(Supervising, ASpentProcessHasASuccessor) {
    const pid_t here = getpid();
    EXPECT_EQ(run([here](Teller& teller, const Rest* rest, double) {
                  const std::vector<Cell> cells =
                      rest != nullptr ? parsed(rest->cells) : std::vector<Cell>{parse_cell(three[0]), parse_cell(three[1])};
                  Session session;
                  teller.cells(cells);
                  teller.under_way(0, cells.size(), 5, cells[0].text(), {cells[0].text()});
                  session.results.push_back(result(cells[0]));
                  teller.news(session);
                  if (rest == nullptr) throw ProcessSpent("CUDA came to its end in process " + std::to_string(here));
              }),
              0);
    expect(document(), R"("cell": "c0:n0/copy")");
    expect(document(), R"("cell": "c0:n0/add")");
}

TEST_F(Supervising, ProcessesThatNeverAnswerAreNotStartedForEver) {
    EXPECT_EQ(run([](Teller& teller, const Rest*, double) {
                  teller.cells({parse_cell(three[0]), parse_cell(three[1]), parse_cell(three[2])});
                  throw ProcessSpent("again and again");
              }),
              3);
    expect(document(), R"("code": "interrupted")");
}

TEST_F(Supervising, SetUpThatDiesIsNotTriedAgain) {
    EXPECT_EQ(run([](Teller& teller, const Rest*, double) {
                  teller.cells({parse_cell(three[0]), parse_cell(three[1])});
                  std::abort();
              }),
              1);
    const std::string text = document();
    expect(text, R"("failed": [{"cell": "", "code": "error", "reason": "set-up: the measuring process aborted)");
    expect(text, R"("skipped": [{"cell": "c0:n0/copy", "code": "interrupted")");
    expect(text, R"("node": {"hostname": )");
}

TEST_F(Supervising, TearDownThatDiesCostsNoResult) {
    EXPECT_EQ(run([](Teller& teller, const Rest*, double) {
                  Session session;
                  teller.cells({parse_cell(three[0])});
                  teller.under_way(0, 1, 30, three[0], {three[0]});
                  session.results.push_back(result(parse_cell(three[0])));
                  teller.news(session);
                  teller.under_way(0, 0, 30, "tear-down");
                  std::abort();
              }),
              1);
    const std::string text = document();
    expect(text, R"("results": [{"quantity": "stream", "cell": "c0:n0/copy")");
    expect(text, R"("failed": [{"cell": "", "code": "error", "reason": "tear-down: the measuring process aborted)");
}

TEST_F(Supervising, WrongUseIsNoDocument) {
    EXPECT_EQ(run([](Teller&, const Rest*, double) { throw WrongUse("there is no n7"); }), 2);
    EXPECT_FALSE(std::filesystem::exists(how_.file));
}

TEST_F(Supervising, AStarterThatIgnoresItsChildrensEndsHidesNothing) {
    EXPECT_EQ(run(measuring(kill_itself), nullptr, [] { return std::signal(SIGCHLD, SIG_IGN) != SIG_ERR; }), 1);
    expect_only_the_middle_failed("error", "was killed (SIGKILL)");
}

TEST_F(Supervising, ANewProcessHasTheGpusOfTheFirst) {
    EXPECT_EQ(run([](Teller& teller, const Rest* rest, double) {
                  if (rest != nullptr) throw WrongUse(rest->gpus.at(0) + " and " + rest->gpus.at(1));
                  PciGpu first;
                  first.pci = "0000:1b:00.0";
                  PciGpu second;
                  second.pci = "0000:2b:00.0";
                  teller.gpus({first, second});
                  teller.cells({parse_cell(three[0])});
                  throw ProcessSpent("CUDA came to its end");
              }),
              2)
        << "wrong use stands for: it was told the addresses";
}

TEST_F(Supervising, AnInterruptLetsTheProcessEndInOrder) {
    const Measure measure = [&](Teller& teller, const Rest*, double) {
        catch_interrupts();
        teller.under_way(0, 1, 20, three[0], {three[0]});
        say_that_it_measures();
        for (const double end = now() + 10; !interrupted() && now() < end;) usleep(5000);
        teller.skipped({three[0], interrupted() ? "interrupted" : "budget", "told by itself"});
    };
    EXPECT_EQ(run(measure,
                  [&](pid_t front) {
                      wait_until_it_measures();
                      kill(front, SIGINT);
                  }),
              3);
    expect(document(), R"("code": "interrupted", "reason": "told by itself")");
}

TEST_F(Supervising, AFrontThatIsKilledLeavesADocumentAndNobody) {
    const Measure measure = [&](Teller& teller, const Rest*, double) {
        teller.cells({parse_cell(three[0])});
        teller.under_way(0, 1, 20, three[0], {three[0]});
        say_that_it_measures();
        std::this_thread::sleep_for(std::chrono::hours(1));
    };
    EXPECT_EQ(run(measure,
                  [&](pid_t front) {
                      wait_until_it_measures();
                      kill(front, SIGKILL);
                  }),
              -SIGKILL);
    expect(document(), "was killed from outside");
    pid_t measuring = 0;
    std::ifstream(marker_) >> measuring;
    for (const double end = now() + 5; kill(measuring, 0) == 0 && now() < end;) usleep(5000);
    EXPECT_NE(kill(measuring, 0), 0) << "the measuring process lives on";
}

TEST_F(Supervising, AStarterThatIsGoneEndsTheRunWithItsDocument) {
    start_and_go(false, 60);
    expect(document(),
           R"("skipped": [{"cell": "c0:n0/copy", "code": "interrupted", "reason": "whoever started nearfar-test is gone"}])");
}

TEST_F(Supervising, UnderNohupTheStarterMayGo) {
    start_and_go(true, 1);
    expect(document(), "measured to its end");
}

TEST_F(Supervising, AFileThatCannotBeIsWrongUseBeforeAnythingIsMeasured) {
    how_.file = "/no/such/folder/document.json";
    const double begin = now();
    EXPECT_EQ(run(measuring([](const std::string&) { usleep(400000); })), 2);
    EXPECT_LT(now() - begin, 0.4);
}

TEST_F(Supervising, AReaderOfStandardErrorThatDoesNotReadStopsNothing) {
    const auto full = [] {
        int ends[2];
        if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) return false;
        const std::string page(4096, 'x');
        while (write(ends[1], page.data(), page.size()) > 0) {
        }
        return fcntl(ends[1], F_SETFL, 0) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO;
    };
    EXPECT_EQ(run(measuring(kill_itself), nullptr, full), 1);
    expect_only_the_middle_failed("error", "was killed (SIGKILL)");
}

TEST_F(Supervising, TheLimitOnCpuTimeIsSaidToBeThat) {
    for (const rlimit limit : {rlimit{2, 2}, rlimit{1, RLIM_INFINITY}}) {  // both limits; the soft one alone
        const auto limited = [&] { return setrlimit(RLIMIT_CPU, &limit) == 0; };
        EXPECT_EQ(run(measuring([](const std::string& cell) {
                          while (cell == three[1]) now();
                      }),
                      nullptr, limited),
                  3);
        const std::string text = document();
        expect(text, R"({"cell": "c0:n0/add", "code": "not_allowed", "reason": ")");
        expect(text, "the limit on CPU time: raise `ulimit -t`");
        expect(text, R"("cell": "c0:n0/triad")");
        std::filesystem::remove(how_.file);
    }
}

TEST_F(Supervising, ALinkStaysAndLeadsToTheDocument) {
    how_.file = folder_ / "link.json";
    std::filesystem::create_directory(folder_ / "elsewhere");
    std::filesystem::create_symlink("elsewhere/document.json", how_.file);
    for (int runs = 0; runs < 2; ++runs) {  // into nothing, then onto a file
        EXPECT_EQ(run(measuring([](const std::string&) {})), 0);
        EXPECT_TRUE(std::filesystem::is_symlink(how_.file));
        EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "elsewhere" / "document.json"));
    }
    expect(document(), R"("cell": "c0:n0/triad")");
}

TEST_F(Supervising, ANameThatIsTooLongIsWrongUseBeforeAnythingIsMeasured) {
    const auto forbidden = [this](const std::string&) { say_that_it_measures(); };
    for (const int letters : {251, 255, 300}) {
        how_.file = folder_ / std::string(static_cast<std::size_t>(letters), 'x');
        EXPECT_EQ(run(measuring(forbidden)), 2);
        EXPECT_FALSE(std::filesystem::exists(marker_));
    }
    how_.file = folder_ / std::string(250, 'x');
    EXPECT_EQ(run(measuring([](const std::string&) {})), 0);
}

TEST_F(Supervising, NoProcessToMeasureInIsSaid) {
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    const auto limited = [&] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_NPROC, &none);
        return geteuid() != 0 || setuid(65534) == 0;  // root has no limit of processes
    };
    EXPECT_EQ(run(measuring([](const std::string&) {}), nullptr, limited), 3);
    expect(document(), R"("code": "not_allowed", "reason": "no process could be started)");
}

}  // namespace
}  // namespace nearfar
