// SPDX-License-Identifier: BSD-3-Clause
// The problem an all-to-all algorithm solves, seen from one rank. MPI_Alltoall is the uniform case of MPI_Alltoallv, so
// one definition serves both.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stoker::algos {

// How many bytes each rank sends to each other one. Either one size for all pairs, or the rows (what a rank sends) and
// columns (what a rank receives) of the ranks that this rank knows about: an algorithm states in its registry row
// whether it needs its own (Knowledge::own), its whole node's (Knowledge::node) or everybody's (Knowledge::all).
class BlockSizes {
public:
  static BlockSizes uniform(int ranks, std::uint64_t bytes);
  static BlockSizes table(int ranks);

  // sizes[d]: bytes that `rank` sends to d; sizes[s]: bytes that `rank` receives from s. In bytes, `ranks` of them.
  void set_row(int rank, std::vector<std::uint64_t> sizes);
  void set_column(int rank, std::vector<std::uint64_t> sizes);

  // Throws std::logic_error when neither the row of `source` nor the column of `target` is known.
  [[nodiscard]] std::uint64_t operator()(int source, int target) const {
    return uniform_ ? *uniform_ : from_table(source, target);
  }
  // The one size for all pairs, if there is one.
  [[nodiscard]] std::optional<std::uint64_t> uniform_size() const { return uniform_; }
  [[nodiscard]] int ranks() const { return ranks_; }

private:
  [[nodiscard]] std::uint64_t from_table(int source, int target) const;

  int ranks_ = 0;
  std::optional<std::uint64_t> uniform_;
  std::vector<std::vector<std::uint64_t>> rows_; // empty where unknown
  std::vector<std::vector<std::uint64_t>> columns_;
};

// Byte offsets of `ranks` blocks of `bytes`, one behind the other.
[[nodiscard]] std::vector<std::uint64_t> equal_offsets(int ranks, std::uint64_t bytes);

struct Exchange {
  const topology::Layout& layout;
  int rank = 0;
  const BlockSizes& sizes;
  std::vector<std::uint64_t> send_offsets; // byte offset in sendbuf of the block for each rank; empty when in_place
  std::vector<std::uint64_t> recv_offsets; // byte offset in recvbuf of the block from each rank
  bool in_place = false;                   // the blocks to send lie in recvbuf, at recv_offsets
  std::vector<std::uint64_t> put_offsets =
      {}; // byte offset in each rank's recvbuf of this rank's block; for algorithms that put

  // The place of this rank's block for `peer`, and the place for the block from `peer`.
  [[nodiscard]] Slice outgoing(int peer) const;
  [[nodiscard]] Slice incoming(int peer) const;
  // The place of this rank's block at `peer`. Throws std::logic_error if it is not known.
  [[nodiscard]] Slice remote(int peer) const;
  // The ends of the blocks in sendbuf (0 in place) and recvbuf. Bytes before and between blocks may be gaps.
  [[nodiscard]] std::uint64_t send_bytes() const;
  [[nodiscard]] std::uint64_t recv_bytes() const;
};

} // namespace stoker::algos
