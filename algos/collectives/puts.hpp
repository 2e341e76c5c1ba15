// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms have in common that write into other ranks' buffers. After Namugwanya, "Analyzing Persistent
// Alltoallv RMA Implementations for High-Performance MPI Communication", 2026.
#pragma once

#include "algos/schedule/builder.hpp"
#include "topology/layout.hpp"

#include <span>
#include <vector>

namespace stoker::algos {

// How a rank learns that it may write to another one: by a fence among all ranks; or from each target by itself, as
// from a lock that the target holds until it has started. Both end with a fence.
enum class Opening : std::uint8_t { fence, lock };
// The order of the puts: that of the ranks, or those to other nodes first.
enum class PutOrder : std::uint8_t { ranks, remote_first };

// All other ranks in that order. A rank begins with its successor, so that no rank is everybody's first target.
[[nodiscard]] std::vector<int> put_targets(const topology::Layout& layout, int rank, PutOrder order);

// The steps of rounds of puts: recvs, open(), puts, landed(); again from the recvs on, or from the puts on where their
// recvs are there already. Empty slices have no steps.
// A rank puts to another one once at most: a helper that writes through a window knows one place there.
class Puts {
public:
  Puts(Builder& builder, Opening opening) : builder_(builder), announced_(opening == Opening::lock) {}

  // `after`: the steps that free the target. Only landed() may wait for the steps that are returned: one or none.
  std::vector<StepId> receive(int source, Slice target, std::span<const StepId> after = {});
  // From here on all ranks' recvs so far have started. `after`: what they wait for.
  void open(std::span<const StepId> after = {});
  void put(int target, Slice source, Slice place, std::span<const StepId> after = {});
  // The fence when everybody's puts so far are there. `recvs`: those that have got their data by then.
  StepId landed(std::span<const StepId> recvs);

private:
  Builder& builder_;
  bool announced_;
  std::vector<StepId> fence_; // the latest
  std::vector<StepId> puts_;  // since then
};

} // namespace stoker::algos
