// SPDX-License-Identifier: BSD-3-Clause
// What can be said about the arguments of a call without asking other ranks.
#pragma once

#include "engine/data/collective_call.hpp"
#include "engine/data/datatype.hpp"
#include "engine/data/operation.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stoker::engine {

// Which buffers a rank has, as programs number them, and what it knows of sizes, in bytes of the program.
struct CallBuffers {
  UserBuffer send; // empty where a rank has none; one block for each peer in exchanges
  UserBuffer recv;
  bool in_place = false;
  bool overlapping = false; // the two share bytes, which are sent as they are when the call begins
  Operation operation;
  // The sizes of the vector, of every block, or of each rank's block; nothing at a rank that does not know them.
  std::optional<std::vector<std::uint64_t>> sizes;
  std::optional<std::uint64_t> own; // of this rank's block, where it says that apart from `sizes`
};

// Whether arguments that MPI calls erroneous, but which MPI libraries take, are refused: sendbuf and recvbuf that
// overlap, blocks to receive that do, and blocks to receive that are longer than what this rank sends.
enum class Erroneous : std::uint8_t { refused, taken };

// Throws Error(argument) that names the argument and what was expected: null where there is data, negative counts,
// places beyond 64 bits, overlap; Error(unsupported) for operations. `neighbors`: of neighborhood collectives. Not for
// collectives whose blocks have types of their own.
[[nodiscard]] CallBuffers checked_buffers(const CollectiveCall& call, int rank, int ranks,
                                          const Neighbors* neighbors = nullptr,
                                          Erroneous erroneous = Erroneous::refused);

// In bytes: of the vector, of each rank's block where all are equal, or of every block. At all ranks the same; only
// where all know the sizes. Throws Error(mismatch) where this rank's own block has another, but see below.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const CallBuffers& buffers, int rank, Erroneous erroneous);

} // namespace stoker::engine
