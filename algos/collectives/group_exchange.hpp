// SPDX-License-Identifier: BSD-3-Clause
// The flat exchanges among the members of a group. The simple algorithms consist of one; the aggregated ones use them
// within and between nodes, wherever the literature nests an all-to-all.
#pragma once

#include "algos/collectives/exchange.hpp"
#include "algos/schedule/builder.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stoker::algos {

// Bytes in one or several places, and the steps after which they may be read (or, at the receiving end, written).
struct Part {
  std::vector<Slice> slices;
  std::vector<StepId> after;

  void
  add(const Slice& slice); // nothing for a slice without bytes; joins it with the last one where they are evenly spaced
  void add(const Part& part);
  void add_after(std::span<const StepId> steps); // once, however often it is called in a row
  [[nodiscard]] std::uint64_t bytes() const;
};

// One exchange among `members`, as members[me] sees it. Every pair may exchange a different number of bytes, or none. A
// member's block for itself is not touched.
struct GroupExchange {
  std::span<const int> members; // ranks, each at most once
  std::size_t me = 0;
  std::vector<Part> outgoing; // by member
  std::vector<Part> incoming; // by member; as many bytes as that member's outgoing part for this one
  // Bytes between any two members. Asked for others than this one only by exchanges that forward.
  std::function<std::uint64_t(std::size_t source, std::size_t target)> bytes;
};

// By member: the step after which its part is in place; nothing for a member that sends nothing, and for oneself.
using Arrivals = std::vector<std::optional<StepId>>;

// Directly between every two members, in rounds: in round i a member sends to the i-th after it and receives from the
// i-th before it. `batch` rounds at a time: the next batch starts when the last one is done. 1 is pairwise exchange, as
// many as there are members is the nonblocking exchange.
Arrivals append_direct(Builder& builder, const GroupExchange& group, std::size_t batch);

// In ceil(log_radix(members)) phases of at most radix - 1 messages each, forwarding bundled parts: Bruck's exchange for
// radix 2. radix is at least 2.
Arrivals append_radix(Builder& builder, const GroupExchange& group, std::size_t radix);

// How a nested exchange is done.
struct FlatExchange {
  enum class Kind : std::uint8_t { direct, radix };
  Kind kind = Kind::direct;
  std::uint32_t parameter = 0; // batch, 0 for all at once; or radix, 0 for the square root of the number of members
  bool operator==(const FlatExchange&) const = default;

  [[nodiscard]] bool forwards() const { return kind == Kind::radix; }
};
Arrivals append_flat(Builder& builder, const GroupExchange& group, FlatExchange how);

// The radix that balances messages against bytes: ceil(sqrt(members)), at least 2.
[[nodiscard]] std::size_t balanced_radix(std::size_t members);

} // namespace stoker::algos
