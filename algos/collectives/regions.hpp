// SPDX-License-Identifier: BSD-3-Clause
// How regions of ranks meet, stage by stage, and which of their leaders carries which message. Regions are those of
// Teams.
#pragma once

#include "algos/collectives/teams.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace stoker::algos {

// One stage: sets of neighbouring regions, which all have the same within a set before, and are one set afterwards.
// Sets may be of different sizes. Each region hears from one region of every other set, the one with its own index; in
// a smaller set indices wrap around, so that some regions there serve several.
class Meeting {
public:
  // `begins`: the first region of each set, and the end. `least_leaders`: of the regions that meet.
  Meeting(std::vector<std::size_t> begins, std::size_t least_leaders);

  [[nodiscard]] std::size_t sets() const { return begins_.size() - 1; }
  [[nodiscard]] std::size_t begin(std::size_t set) const { return begins_[set]; }
  [[nodiscard]] std::size_t end(std::size_t set) const { return begins_[set + 1]; }
  [[nodiscard]] std::size_t set_of(std::size_t region) const;
  [[nodiscard]] std::size_t least_leaders() const { return least_leaders_; }
  [[nodiscard]] bool sets_are_equal() const { return sets_are_equal_; } // in size

  // The regions that a region hears from, and those that hear from it. The sets behind its own come first, so that not
  // all send to the same one at first.
  [[nodiscard]] std::vector<std::size_t> sources(std::size_t region) const;
  [[nodiscard]] std::vector<std::size_t> targets(std::size_t region) const;

private:
  std::vector<std::size_t> begins_;
  std::size_t least_leaders_;
  bool sets_are_equal_ = true;
};

// A message between this region and another one.
struct Crossing {
  std::size_t leader; // of this region, by index
  int peer;           // the leader there
  std::size_t set;    // of the other region
};

// A rank's place among the teams.
class Regions {
public:
  // How the arrivals of a stage are dealt over the leaders of a region, in the order of the sets: by their number; or
  // as operands, of which the region's own is one. Operands are dealt alike in all regions that meet, so that all
  // combine them in the same way.
  enum class Dealt : std::uint8_t { messages, operands };

  Regions(const Teams& teams, int rank);

  [[nodiscard]] bool leads() const { return members().front() == rank_; }
  [[nodiscard]] std::span<const int> members() const { return teams_.group_ranks(group_); } // of this rank's group
  // The leaders of this region, and the index of this rank's.
  [[nodiscard]] std::vector<int> leaders() const;
  [[nodiscard]] std::size_t index() const { return teams_.index_in_region(group_); }
  [[nodiscard]] std::size_t region() const { return region_; }
  // A group of this region.
  [[nodiscard]] std::size_t group(std::size_t index) const { return teams_.group_at(region_, index); }
  // The groups of the regions begin..end are those from one to before the other.
  [[nodiscard]] std::size_t first_group(std::size_t region) const;

  // The stages in which this region meets others. `factors`: at most so many sets meet, neighbours first.
  [[nodiscard]] std::vector<Meeting> meetings(std::span<const std::size_t> factors) const;
  // The messages of a stage that this region gets, and those that it sends.
  [[nodiscard]] std::vector<Crossing> arrivals(const Meeting& meeting, Dealt dealt) const;
  [[nodiscard]] std::vector<Crossing> departures(const Meeting& meeting, Dealt dealt) const;
  // Operands: which leaders of this region have some, and which one has the region's own.
  [[nodiscard]] std::vector<std::size_t> with_operands(const Meeting& meeting) const;
  [[nodiscard]] std::size_t keeper(const Meeting& meeting) const {
    return receiver(meeting, Dealt::operands, region_, region_);
  }

private:
  [[nodiscard]] std::size_t receiver(const Meeting& meeting, Dealt dealt, std::size_t source, std::size_t target) const;
  // Among the leaders of the source.
  [[nodiscard]] std::size_t sender(const Meeting& meeting, std::size_t source, std::size_t target) const;
  [[nodiscard]] int leader(std::size_t region, std::size_t index) const {
    return teams_.leader(teams_.group_at(region, index));
  }

  const Teams& teams_;
  int rank_;
  std::size_t group_;
  std::size_t region_;
};

} // namespace stoker::algos
