// SPDX-License-Identifier: BSD-3-Clause
// What an engine keeps for a communicator on which requests are initialised: a private duplicate for the messages of
// init, and the places of its ranks.
#pragma once

#include "engine/base/attachments.hpp"
#include "engine/base/own_comm.hpp"
#include "topology/layout.hpp"

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace stoker::engine {

// Returns the engine rank of each rank of comm. Throws Error(unsupported) for an intercommunicator, Error(argument) if
// a rank is none of the engine's.
[[nodiscard]] std::vector<int> translate(MPI_Comm comm, MPI_Group engine_group);

class CommContext {
public:
  static constexpr int most_comms = 2;                    // that it takes from the MPI library
  static constexpr std::size_t least_shared_bytes = 4096; // of a table of its ranks that the node shares

  // Collective over comm. `engine_ranks`: what translate() returns. `engine_layout`: of all the engine's ranks.
  // `together`: makes its communicators, and has made what the caller needs; on all of these the ranks agree here.
  // Throws Error on all ranks.
  CommContext(MPI_Comm comm, std::vector<int> engine_ranks, const topology::Layout& engine_layout,
              CommsTogether& together);
  CommContext(const CommContext&) = delete;
  CommContext& operator=(const CommContext&) = delete;
  ~CommContext() { free(); }

  // Collective. Called when the communicator is freed or the engine destroyed. Requests need only what remains.
  void free();

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  // This rank's node, ranks in order.
  [[nodiscard]] MPI_Comm node() const { return layout_.nodes() > 1 ? node_ : comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return layout_.ranks(); }
  [[nodiscard]] const topology::Layout& layout() const { return layout_; }
  [[nodiscard]] int engine_rank(int rank) const { return engine_ranks_ ? engine_ranks_.get()[rank] : rank; }
  [[nodiscard]] std::span<const int> node_ranks() const { return layout_.node_ranks(layout_.node_of(rank_)); }
  [[nodiscard]] int rank_of(int engine_rank) const; // -1: none
  // Until free().
  [[nodiscard]] Attachments& attachments() { return attachments_; }

private:
  topology::Layout layout_;
  std::shared_ptr<const int> engine_ranks_; // by rank; null: they are the engine's first
  Attachments attachments_;                 // requests among them keep this context: a circle until free()
  OwnedComm comm_;
  OwnedComm node_; // where there are several
  int rank_ = 0;
};

} // namespace stoker::engine
