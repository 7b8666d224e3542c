// What a step threw, for another thread or as a message that another process reads and throws again.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "core/message.h"

namespace nearfar {

// What `step` throws; null where it throws nothing.
std::exception_ptr thrown_by(const std::function<void()>& step);

// The same as a message: "wrong_use", "prevented" or "failure" with a code and a reason; without a word where nothing was thrown. Memory that is
// refused is `no_memory`, a thread that cannot be started `not_allowed`, and what is none of these a failure of the code `error`.
Message trouble_of(const std::function<void()>& step);

// These words.
namespace trouble_word {
constexpr const char* wrong_use = "wrong_use";
constexpr const char* prevented = "prevented";
constexpr const char* failure = "failure";
}  // namespace trouble_word

// Where the addresses of this process are limited, which starves CUDA and threads long before memory is short: that, behind a reason.
std::string limit_on_addresses();

// Throws what the message tells, `who` ahead of the reason; nothing for any other message.
void throw_trouble(const Message& trouble, const std::string& who = "");

}  // namespace nearfar
