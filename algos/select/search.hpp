// SPDX-License-Identifier: BSD-3-Clause
// A search for the fastest choice that does not try all there are: it begins at the points that starting_points() has,
// and then goes from the best ones to their neighbors, as long as that finds better ones. So it may stop at a choice
// that is the best around, and not of all.
#pragma once

#include "algos/select/search_space.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace stoker::algos {

struct Found {
  Choice choice;
  double seconds = 0;
};

// The time of a choice; infinity for one that cannot be used.
using SecondsOf = std::function<double(const Choice&)>;

// All choices that were tried, the fastest first; of equally fast ones the one that was tried first. `seconds_of` is
// asked at most `limit` times: for no more starting points than that, the first ones. The search ends when the
// neighbors of the best eight have all been tried.
[[nodiscard]] std::vector<Found> search(const SearchProblem& problem, std::size_t limit, const SecondsOf& seconds_of);

} // namespace stoker::algos
