// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/regions.hpp"

#include <algorithm>
#include <utility>

namespace stoker::algos {

namespace {

// Deals `count` things over `hands` in runs that are as equal as can be: who gets thing `index`.
std::size_t deal(std::size_t index, std::size_t count, std::size_t hands) { return index * hands / count; }

std::size_t place_of(const std::vector<std::size_t>& list, std::size_t item) {
  return static_cast<std::size_t>(std::ranges::find(list, item) - list.begin());
}

} // namespace

Meeting::Meeting(std::vector<std::size_t> begins, std::size_t least_leaders)
    : begins_(std::move(begins)), least_leaders_(least_leaders) {
  for (std::size_t set = 1; set < sets(); ++set) {
    sets_are_equal_ = sets_are_equal_ && end(set) - begin(set) == end(0) - begin(0);
  }
}

std::size_t Meeting::set_of(std::size_t region) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(begins_, region) - begins_.begin()) - 1;
}

std::vector<std::size_t> Meeting::sources(std::size_t region) const {
  const std::size_t own = set_of(region);
  std::vector<std::size_t> result;
  for (std::size_t i = 1; i < sets(); ++i) {
    const std::size_t set = (own + i) % sets();
    result.push_back(begin(set) + ((region - begin(own)) % (end(set) - begin(set))));
  }
  return result;
}

std::vector<std::size_t> Meeting::targets(std::size_t region) const {
  const std::size_t own = set_of(region);
  std::vector<std::size_t> result;
  for (std::size_t i = 1; i < sets(); ++i) {
    const std::size_t set = (own + i) % sets();
    for (std::size_t r = begin(set) + (region - begin(own)); r < end(set); r += end(own) - begin(own)) {
      result.push_back(r);
    }
  }
  return result;
}

Regions::Regions(const Teams& teams, int rank)
    : teams_(teams), rank_(rank), group_(teams.group_of(rank)), region_(teams.region_of(group_)) {}

std::vector<int> Regions::leaders() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < teams_.region_size(region_); ++i) {
    result.push_back(leader(region_, i));
  }
  return result;
}

std::size_t Regions::first_group(std::size_t region) const {
  return region < teams_.regions() ? teams_.group_at(region, 0) : teams_.groups();
}

std::vector<Meeting> Regions::meetings(std::span<const std::size_t> factors) const {
  std::vector<Meeting> result;
  std::vector<std::size_t> begins; // of all sets, and the end
  for (std::size_t region = 0; region <= teams_.regions(); ++region) {
    begins.push_back(region);
  }
  for (const std::size_t factor : factors) {
    const std::size_t sets = begins.size() - 1;
    const std::size_t meetings = (sets + factor - 1) / factor;
    std::vector<std::size_t> merged;
    for (std::size_t meeting = 0; meeting < meetings; ++meeting) {
      const auto first = begins.begin() + static_cast<std::ptrdiff_t>(meeting * sets / meetings);
      const auto last = begins.begin() + static_cast<std::ptrdiff_t>((meeting + 1) * sets / meetings);
      merged.push_back(*first);
      if (*first <= region_ && region_ < *last && last - first > 1) {
        std::size_t least = teams_.region_size(*first);
        for (std::size_t region = *first; region < *last; ++region) {
          least = std::min(least, teams_.region_size(region));
        }
        result.emplace_back(std::vector(first, last + 1), least);
      }
    }
    merged.push_back(begins.back());
    begins = std::move(merged);
  }
  return result;
}

std::size_t Regions::receiver(const Meeting& meeting, Dealt dealt, std::size_t source, std::size_t target) const {
  const std::size_t from = meeting.set_of(source);
  const std::size_t own = meeting.set_of(target);
  const std::size_t leaders = teams_.region_size(target);
  if (dealt == Dealt::messages) {
    return deal(from < own ? from : from - 1, meeting.sets() - 1, leaders);
  }
  const std::size_t shares = std::min(meeting.sets(), meeting.least_leaders());
  return deal(deal(from, meeting.sets(), shares), shares, leaders);
}

std::size_t Regions::sender(const Meeting& meeting, std::size_t source, std::size_t target) const {
  const std::size_t leaders = teams_.region_size(source);
  // One target in each other set. There may be thousands, for each of which a sender is asked for.
  if (meeting.sets_are_equal()) {
    const std::size_t behind = meeting.set_of(target) + meeting.sets() - meeting.set_of(source);
    return deal((behind - 1) % meeting.sets(), meeting.sets() - 1, leaders);
  }
  const std::vector<std::size_t> targets = meeting.targets(source);
  return deal(place_of(targets, target), targets.size(), leaders);
}

std::vector<Crossing> Regions::arrivals(const Meeting& meeting, Dealt dealt) const {
  std::vector<Crossing> result;
  for (const std::size_t source : meeting.sources(region_)) {
    result.push_back({receiver(meeting, dealt, source, region_), leader(source, sender(meeting, source, region_)),
                      meeting.set_of(source)});
  }
  return result;
}

std::vector<Crossing> Regions::departures(const Meeting& meeting, Dealt dealt) const {
  std::vector<Crossing> result;
  const std::vector<std::size_t> targets = meeting.targets(region_);
  const std::size_t leaders = teams_.region_size(region_);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    result.push_back({deal(i, targets.size(), leaders),
                      leader(targets[i], receiver(meeting, dealt, region_, targets[i])), meeting.set_of(targets[i])});
  }
  return result;
}

std::vector<std::size_t> Regions::with_operands(const Meeting& meeting) const {
  const std::size_t shares = std::min(meeting.sets(), meeting.least_leaders());
  std::vector<std::size_t> result;
  for (std::size_t share = 0; share < shares; ++share) {
    result.push_back(deal(share, shares, teams_.region_size(region_)));
  }
  return result;
}

} // namespace stoker::algos
