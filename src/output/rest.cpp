#include "output/rest.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/options.h"

extern char** environ;

namespace nearfar {
namespace {

// A file without a name that holds a text, from its beginning.
FILE* file_with(const std::string& text) {
    FILE* const file = std::tmpfile();
    if (file == nullptr) return nullptr;
    if (std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fseek(file, 0, SEEK_SET) == 0) return file;
    std::fclose(file);
    return nullptr;
}

std::string content_of(FILE* file) {
    std::string content;
    if (std::fseek(file, 0, SEEK_SET) != 0) return content;
    char block[65536];
    for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, file)) > 0;) content.append(block, got);
    return content;
}

// Runs this program again; returns what it printed, nothing where it did not come to an end of its own.
std::string output_of(std::vector<std::string> words, const std::string& input) {
    FILE* const in = file_with(input);
    FILE* const out = file_with("");
    std::string printed;
    if (in != nullptr && out != nullptr) {
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
        pid_t child = 0;
        int status = -1;
        if (posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) == 0)
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
            }
        posix_spawn_file_actions_destroy(&actions);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 2) printed = content_of(out);
    }
    if (in != nullptr) std::fclose(in);
    if (out != nullptr) std::fclose(out);
    return printed;
}

void append(std::string& items, std::string_view more) {
    if (more.empty()) return;
    if (!items.empty()) items += ", ";
    items += more;
}

}  // namespace

std::vector<std::string> words_for_rest(const CommandLine& line) {
    const Policy usual;
    std::vector<std::string> words{line.words.at(0), "--cells=-"};
    if (line.json) words.emplace_back("--json");
    if (line.absent_fails) words.emplace_back("--absent-fails");
    if (line.policy.even_if_busy) words.emplace_back("--even-if-busy");
    if (line.policy.latency) words.emplace_back("--latency");
    if (line.policy.quick) words.emplace_back("--quick");
    for (const Cell& cell : line.policy.aggressors) words.push_back("--aggressor=" + cell.text());
    if (line.policy.hang_seconds != usual.hang_seconds) words.push_back("--timeout=" + std::to_string(line.policy.hang_seconds));
    std::vector<std::string> sizes;
    for (const std::size_t size : line.policy.sizes) sizes.push_back(std::to_string(size));
    if (!sizes.empty()) words.push_back("--sizes=" + joined_list(sizes));
    if (!line.gpus.empty()) words.push_back("--gpus=" + joined_list(line.gpus));
    return words;
}

std::vector<Cell> take_rest(Session& session, const std::string& reason) {
    std::vector<Cell> rest;
    std::vector<NotMeasured> others;
    for (NotMeasured& cell : session.skipped) {
        if (cell.reason == reason)
            rest.push_back(parse_cell(cell.cell));
        else
            others.push_back(std::move(cell));
    }
    session.skipped = std::move(others);
    return rest;
}

void measure_rest(const CommandLine& line, const std::vector<Cell>& cells, const std::string& reason, Session& session) {
    std::string input;
    for (const Cell& cell : cells) input += cell.text() + "\n";
    const std::string printed = output_of(words_for_rest(line), input);
    if (printed.empty()) {
        for (const Cell& cell : cells) session.skipped.push_back({cell.text(), "interrupted", reason});
    } else if (line.json) {
        append(session.rest.results, items_of(printed, "results"));
        append(session.rest.skipped, items_of(printed, "skipped"));
        append(session.rest.failed, items_of(printed, "failed"));
        append(session.rest.curves, items_of(printed, "curves"));
    } else {
        session.rest.table += printed;
    }
}

std::string_view items_of(std::string_view document, std::string_view array) {
    const std::string key = "\"" + std::string(array) + "\": [";
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < document.size(); ++i) {
        const char c = document[i];
        if (c == '"') {
            if (depth == 1 && begin == 0 && document.substr(i, key.size()) == key) {
                begin = i + key.size();
                i = begin - 1;
                ++depth;
                continue;
            }
            for (++i; i < document.size() && document[i] != '"'; ++i)
                if (document[i] == '\\') ++i;
        } else if (c == '{' || c == '[') {
            ++depth;
        } else if (c == '}' || c == ']') {
            --depth;
            if (begin != 0 && depth == 1) return document.substr(begin, i - begin);
        }
    }
    return {};
}

}  // namespace nearfar
