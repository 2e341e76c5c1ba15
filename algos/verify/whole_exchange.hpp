// SPDX-License-Identifier: BSD-3-Clause
// An all-to-all exchange as all its ranks together see it: what the verifier, the accounting and the printing of whole
// schedules start from. A rank of a real exchange never has this; it has an Exchange.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/verify/verifier.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace stoker::algos {

struct WholeExchange {
  using Table = std::vector<std::vector<std::uint64_t>>;

  topology::Layout layout;
  Table sizes;        // [source][target]: bytes
  Table send_offsets; // [source][target]: byte offset in the source's sendbuf; no rows in place
  Table recv_offsets; // [target][source]: byte offset in the target's recvbuf
  bool in_place = false;

  // MPI_Alltoall: `bytes` for each pair, blocks in rank order without gaps.
  static WholeExchange uniform(topology::Layout layout, std::uint64_t bytes, bool in_place = false);
  // Blocks in rank order, each `gap` bytes behind the end of the one before, the first `gap` bytes from the start. In
  // place, sizes must be symmetric.
  static WholeExchange ragged(topology::Layout layout, Table sizes, std::uint64_t gap = 0, bool in_place = false);

  // Throws std::invalid_argument when tables have the wrong shape, or sizes differ where they may not.
  void check() const;

  // The program of each rank. A rank gets to see the sizes that the algorithm says it needs, and no others. An
  // algorithm for alltoall needs equal sizes.
  [[nodiscard]] std::vector<Program> compile(const Choice& choice) const;
  // The same one by one, quickest in the order of the ranks. Not to be called after this exchange is gone.
  [[nodiscard]] std::function<Program(int rank)> program_of(const Choice& choice) const;
  // The contents of each rank's buffers: before the exchange, and as they must be after it.
  [[nodiscard]] std::vector<Contents> contents() const;
};

} // namespace stoker::algos
