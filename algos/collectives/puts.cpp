// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/puts.hpp"

#include "algos/schedule/append.hpp"

#include <algorithm>

namespace stoker::algos {

namespace {

std::vector<StepId> joined(std::span<const StepId> a, std::span<const StepId> b) {
  std::vector<StepId> both(a.begin(), a.end());
  append(both, b);
  return both;
}

} // namespace

std::vector<int> put_targets(const topology::Layout& layout, int rank, PutOrder order) {
  std::vector<int> targets;
  for (int distance = 1; distance < layout.ranks(); ++distance) {
    targets.push_back((rank + distance) % layout.ranks());
  }
  if (order == PutOrder::remote_first) {
    std::stable_partition(targets.begin(), targets.end(), [&](int target) { return !layout.same_node(rank, target); });
  }
  return targets;
}

std::vector<StepId> Puts::receive(int source, Slice target, std::span<const StepId> after) {
  if (target.bytes() == 0) {
    return {};
  }
  const std::span<const Slice> slices(&target, 1);
  return {announced_ ? builder_.announced_recv(source, slices, after) : builder_.recv(source, slices, after)};
}

void Puts::open(std::span<const StepId> after) {
  if (!announced_) { // behind the recvs, which have all started when it is done
    fence_ = {builder_.fence(joined(fence_, after))};
  }
}

void Puts::put(int target, Slice source, Slice place, std::span<const StepId> after) {
  if (place.bytes() > 0) {
    puts_.push_back(builder_.put(target, {&source, 1}, place, announced_, joined(fence_, after)));
  }
}

StepId Puts::landed(std::span<const StepId> recvs) {
  std::vector<StepId> before = joined(fence_, puts_);
  append(before, recvs);
  fence_ = {builder_.fence(before)};
  puts_.clear();
  return fence_.front();
}

} // namespace stoker::algos
