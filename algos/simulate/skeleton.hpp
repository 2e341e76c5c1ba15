// SPDX-License-Identifier: BSD-3-Clause
// What the simulator needs of the programs of all ranks, kept once for all ranks whose programs are alike: a direct
// exchange of 3584 ranks has 26 million steps, and 7168 different ones.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace stoker::algos {

// A program without its places in buffers, and with peers counted from its own rank.
struct Skeleton {
  struct Step {
    std::uint64_t bytes = 0;
    std::uint32_t peer = 0;         // (peer - rank) mod ranks
    std::uint32_t number = 0;       // send, put, recv: which one of those to, or from, that peer; fence: which fence
    std::uint32_t predecessors = 0; // how many steps it waits for
    std::uint32_t successors = 0;   // where they begin
    std::uint32_t pieces = 0;       // of data that are not contiguous, beyond the first
    StepKind kind = StepKind::copy;
    bool combines = false;
    bool operator==(const Step&) const = default;
  };
  // The steps that meet those of one peer: its n-th send meets number n of these.
  struct Meeting {
    std::uint32_t peer = 0;
    StepId step = 0;
    bool operator==(const Meeting&) const = default;
  };

  std::vector<Step> steps; // and one more, behind the last
  std::vector<StepId> successors;
  std::vector<Meeting> receives; // by peer, those of one peer in their order
  std::vector<Meeting> sends;    // likewise, puts included
  std::vector<StepId> fences;    // in their order

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(steps.size() - 1); }
  [[nodiscard]] std::span<const StepId> successors_of(StepId step) const {
    return std::span(successors).subspan(steps[step].successors, steps[step + 1].successors - steps[step].successors);
  }
  // The step that meets number `number` of the peer's; size() where there is none.
  [[nodiscard]] StepId receive_from(std::uint32_t peer, std::uint32_t number) const {
    return find(receives, peer, number);
  }
  [[nodiscard]] StepId send_to(std::uint32_t peer, std::uint32_t number) const { return find(sends, peer, number); }

  bool operator==(const Skeleton&) const = default;

private:
  [[nodiscard]] StepId find(const std::vector<Meeting>& meetings, std::uint32_t peer, std::uint32_t number) const;
};

[[nodiscard]] Skeleton skeleton_of(const Program& program);

// The skeletons of all ranks.
class Skeletons {
public:
  // In the order of the ranks.
  void add(Skeleton skeleton);

  [[nodiscard]] const Skeleton& of(std::uint32_t rank) const { return different_[index_[rank]]; }
  [[nodiscard]] std::size_t different() const { return different_.size(); }

private:
  std::vector<Skeleton> different_;
  std::vector<std::uint32_t> index_; // by rank
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_digest_;
};

} // namespace stoker::algos
