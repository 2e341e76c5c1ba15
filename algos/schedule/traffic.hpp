// SPDX-License-Identifier: BSD-3-Clause
// The traffic of a schedule: messages and bytes, counted by distance.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "topology/layout.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stoker::algos {

enum class Level : std::uint8_t {
  self,    // copies within a rank
  domain,  // to another rank of the same domain
  node,    // to another domain of the same node
  network, // to another node
};
constexpr std::size_t level_count = 4;
[[nodiscard]] std::string_view name_of(Level level);
[[nodiscard]] Level level_between(const topology::Layout& layout, int a, int b);

struct Volume {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  Volume& operator+=(const Volume& other);
  bool operator==(const Volume&) const = default;
};

struct Traffic {
  std::array<Volume, level_count> sent; // a copy counts as sent, and not as received
  std::array<Volume, level_count> received;

  [[nodiscard]] const Volume& sent_at(Level level) const { return sent[static_cast<std::size_t>(level)]; }
  [[nodiscard]] const Volume& received_at(Level level) const { return received[static_cast<std::size_t>(level)]; }
  Traffic& operator+=(const Traffic& other);
  bool operator==(const Traffic&) const = default;
};

// The traffic of one rank's program.
[[nodiscard]] Traffic traffic_of(const Program& program, const topology::Layout& layout);
// The sum over each node's ranks. `programs` holds one for each rank, in rank order.
[[nodiscard]] std::vector<Traffic> traffic_by_node(std::span<const Program> programs, const topology::Layout& layout);

} // namespace stoker::algos
