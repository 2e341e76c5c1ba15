// SPDX-License-Identifier: BSD-3-Clause
// Which messages within a node, and which pieces of them, go through the slots of channels, by their length and the
// room that there is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker::engine {

// The longest message for a channel's slot, where a rank may have a channel from every other one of its node, and
// `eager_bytes` is the longest of any request. The slots of a rank fit 256 KiB in exchanges. There each block is
// copied once more than it would be without, so from some 128 KiB on nothing is gained. Where sizes change from epoch
// to epoch, slots have that length whatever is sent, so they are shorter: 32 KiB at most. In other collectives they
// fit 1 MiB for each stage, as far as messages of 8 KiB allow. These always have slots, and longer ones only if the
// whole vector has no more than 1 MiB: algorithms that cut it into segments have a channel for each.
[[nodiscard]] std::uint64_t eager_bytes_of_exchange(std::uint64_t eager_bytes, std::size_t ranks_of_node,
                                                    bool resizable = false);
[[nodiscard]] std::uint64_t eager_bytes_of_vector(std::uint64_t eager_bytes, std::size_t ranks_of_node,
                                                  std::uint64_t vector_bytes);
// The one or the other.
[[nodiscard]] std::uint64_t eager_bytes_of(bool exchange, std::uint64_t eager_bytes, std::size_t ranks_of_node,
                                           std::uint64_t vector_bytes, bool resizable);

// The longest piece of a message that has no slot, where a rank may have rings of pieces from every other one of its
// node: 16 KiB, but rings take no more than 1 MiB of a rank for each stage. 0: pieces would be too short, or are longer
// than `eager_bytes`, the most that may go through shared memory at once.
[[nodiscard]] std::uint64_t longest_piece(std::uint64_t eager_bytes, std::size_t ranks_of_node);

} // namespace stoker::engine
