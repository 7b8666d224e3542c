// Threads that are waited for in any case: also where one more is refused, or something else throws.
#pragma once

#include <thread>
#include <utility>
#include <vector>

namespace nearfar {

class JoinedThreads {
public:
    JoinedThreads() = default;
    ~JoinedThreads() { join(); }
    JoinedThreads(const JoinedThreads&) = delete;
    JoinedThreads& operator=(const JoinedThreads&) = delete;

    // Throws std::system_error where a thread is refused.
    template <typename Body>
    void start(Body&& body) {
        threads_.emplace_back(std::forward<Body>(body));
    }
    void join() {
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

private:
    std::vector<std::thread> threads_;
};

}  // namespace nearfar
