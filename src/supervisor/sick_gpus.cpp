#include "supervisor/sick_gpus.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace nearfar {

std::set<int> gpus_in(const std::string& subject) {
    const auto is = [&](std::size_t at, int (*kind)(int)) {
        return at < subject.size() && kind(static_cast<unsigned char>(subject[at])) != 0;
    };
    std::set<int> found;
    for (std::size_t at = subject.find('g'); at != std::string::npos; at = subject.find('g', at + 1))
        if ((at == 0 || !is(at - 1, std::isalnum)) && is(at + 1, std::isdigit)) found.insert(std::stoi(subject.substr(at + 1)));
    return found;
}

std::vector<std::string> with_all_of(const std::set<int>& gpus, const std::vector<std::string>& subjects) {
    std::vector<std::string> found;
    std::copy_if(subjects.begin(), subjects.end(), std::back_inserter(found), [&](const std::string& subject) {
        const std::set<int> own = gpus_in(subject);
        return std::includes(own.begin(), own.end(), gpus.begin(), gpus.end());
    });
    return found;
}

std::vector<std::string> SickGpus::part(const std::vector<std::string>& unanswered) {
    alone_ = -1;
    trial_ = false;
    if (one_at_a_time_) {
        std::set<int> wanted;
        for (const std::string& subject : unanswered) wanted.merge(gpus_in(subject));
        wanted_.insert(wanted.begin(), wanted.end());
        const auto next = std::find_if(wanted.begin(), wanted.end(), [this](int gpu) { return set_up_.count(gpu) == 0; });
        if (next != wanted.end()) {
            alone_ = *next;
            std::vector<std::string> own;
            for (const std::string& subject : unanswered)
                if (gpus_in(subject) == std::set<int>{alone_}) own.push_back(subject);
            trial_ = own.empty();
            const std::string name = "g" + std::to_string(alone_);
            return trial_ ? std::vector<std::string>{name + ":" + name} : own;
        }
    }
    std::vector<std::string> fresh;
    for (const std::string& subject : unanswered)
        if (!has_hung(subject)) fresh.push_back(subject);
    return fresh.empty() && !unanswered.empty() ? std::vector<std::string>{unanswered.front()} : fresh;
}

bool SickGpus::all_refuse() const {
    constexpr std::size_t enough = 4;
    return set_up_.empty() && refused_.size() > 1 && refused_.size() >= std::min(enough, wanted_.size());
}

std::set<int> SickGpus::hung(const std::string& subject) {
    hung_.insert(subject);
    int most = 1;
    const std::set<int> gpus = gpus_in(subject);
    for (const int gpu : gpus) most = std::max(most, ++hangs_[gpu]);
    std::set<int> worst;
    std::copy_if(gpus.begin(), gpus.end(), std::inserter(worst, worst.end()),
                 [&](int gpu) { return most > 1 && hangs_[gpu] == most; });
    return worst;
}

std::string SickGpus::names(const std::set<int>& gpus, const std::vector<std::string>& addresses) {
    std::string names;
    for (const int gpu : gpus) {
        const auto place = static_cast<std::size_t>(gpu);
        names += (names.empty() ? "g" : " or g") + std::to_string(gpu) +
                 (place < addresses.size() ? " (" + addresses[place] + ")" : "");
    }
    return names;
}

}  // namespace nearfar
