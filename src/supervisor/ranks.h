// Ranks of a run in words; those of this host that are there no more.
#pragma once

#include <string>
#include <vector>

#include "supervisor/account.h"

namespace nearfar {

// "rank 0 on HOST (process 12), rank 1 on HOST (process 13)"
std::string names_of(const std::vector<KnownRank>& ranks);

// The ranks after the first, on its host, that are there no more, in words; empty where all are. A rank that has died and that its
// launcher has not noticed yet counts as gone.
std::string gone_ranks(const std::vector<KnownRank>& ranks);

}  // namespace nearfar
