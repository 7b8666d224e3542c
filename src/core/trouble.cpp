#include "core/trouble.h"

#include <sys/resource.h>

#include <new>
#include <system_error>

#include "core/error.h"

namespace nearfar {

std::exception_ptr thrown_by(const std::function<void()>& step) {
    try {
        step();
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
}

Message trouble_of(const std::function<void()>& step) {
    try {
        step();
    } catch (const WrongUse& why) {
        return {trouble_word::wrong_use, {"", why.what()}};
    } catch (const Prevented& why) {
        return {trouble_word::prevented, {why.code, why.what()}};
    } catch (const Failure& why) {
        return {trouble_word::failure, {why.code, why.what()}};
    } catch (const std::bad_alloc&) {
        return {trouble_word::prevented,
                {"no_memory", "this process was refused memory (see the job's limit)" + limit_on_addresses()}};
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::resource_unavailable_try_again) return {trouble_word::failure, {"error", error.what()}};
        return {trouble_word::prevented,
                {"not_allowed", std::string("no thread could be started (") + error.what() +
                                    "; see `ulimit -u` and the cgroup's pids.max)" + limit_on_addresses()}};
    } catch (const std::exception& error) {
        return {trouble_word::failure, {"error", error.what()}};
    }
    return {};
}

std::string limit_on_addresses() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
    return "; `ulimit -v` allows only " + std::to_string(limit.rlim_cur >> 20) + " MiB of addresses: lift it";
}

void throw_trouble(const Message& trouble, const std::string& who) {
    const bool wrong_use = trouble.word == trouble_word::wrong_use;
    const bool prevented = trouble.word == trouble_word::prevented;
    if (!wrong_use && !prevented && trouble.word != trouble_word::failure) return;
    const std::string reason = who + trouble.field(1);
    if (wrong_use) throw WrongUse(reason);
    if (prevented) throw Prevented(trouble.field(0), reason);
    throw Failure(trouble.field(0), reason);
}

}  // namespace nearfar
