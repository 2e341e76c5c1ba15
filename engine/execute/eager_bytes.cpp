// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/eager_bytes.hpp"

#include "engine/base/cache_line.hpp"
#include "engine/shared/block.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

// Where a rank has two slots from every other rank of its node, which take so much together.
std::uint64_t longest_in_slot(std::uint64_t all_slots, std::size_t ranks_of_node) {
  const std::uint64_t slots = 2 * std::max<std::uint64_t>(ranks_of_node, 2) - 2;
  return std::max<std::uint64_t>(all_slots / slots / cache_line * cache_line, cache_line) - sizeof(ChannelSlot);
}

} // namespace

std::uint64_t eager_bytes_of_exchange(std::uint64_t eager_bytes, std::size_t ranks_of_node, bool resizable) {
  constexpr std::uint64_t all_slots = 256U << 10U;
  constexpr std::uint64_t longest_resizable = 32U << 10U;
  return std::min({eager_bytes, longest_in_slot(all_slots, ranks_of_node), resizable ? longest_resizable : all_slots});
}

std::uint64_t eager_bytes_of_vector(std::uint64_t eager_bytes, std::size_t ranks_of_node, std::uint64_t vector_bytes) {
  constexpr std::uint64_t always = 8U << 10U;
  constexpr std::uint64_t all_slots = 1U << 20U;
  const std::uint64_t longest = vector_bytes > all_slots ? 0 : longest_in_slot(all_slots, ranks_of_node);
  return std::min(eager_bytes, std::max(always, longest));
}

std::uint64_t eager_bytes_of(bool exchange, std::uint64_t eager_bytes, std::size_t ranks_of_node,
                             std::uint64_t vector_bytes, bool resizable) {
  return exchange ? eager_bytes_of_exchange(eager_bytes, ranks_of_node, resizable)
                  : eager_bytes_of_vector(eager_bytes, ranks_of_node, vector_bytes);
}

std::uint64_t longest_piece(std::uint64_t eager_bytes, std::size_t ranks_of_node) {
  constexpr std::uint64_t longest = 16U << 10U;
  constexpr std::uint64_t shortest = 8U << 10U;
  constexpr std::uint64_t all_rings = 1U << 20U;
  const std::uint64_t rings = std::max<std::uint64_t>(ranks_of_node, 2) - 1;
  const std::uint64_t piece = std::min(longest, all_rings / rings / PieceRing::slots / cache_line * cache_line);
  return piece < shortest || piece > eager_bytes ? 0 : piece;
}

} // namespace stoker::engine
