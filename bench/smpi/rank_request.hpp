// SPDX-License-Identifier: BSD-3-Clause
// One rank's part of a collective as the engine's inline executor runs it. Each rank is a node of its own: all of its
// messages are MPI's, and its arena is nobody else's.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "engine/execute/lower.hpp"
#include "engine/execute/progress.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/transport/transport.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace stoker::bench {

class RankRequest {
public:
  // Collective. All arguments outlive the request; `memory` is as one_rank_memory() makes it. What is combined is added
  // up, in elements of std::uint32_t.
  RankRequest(const algos::Program& program, std::span<std::byte> send, std::span<std::byte> recv,
              engine::NodeMemory& memory, const engine::Network& network, MPI_Comm comm);
  RankRequest(const RankRequest&) = delete;
  RankRequest& operator=(const RankRequest&) = delete;
  ~RankRequest();

  // Start and Wait. Throws what the engine would return as an error.
  void run();

private:
  engine::NodeMemory& memory_;
  std::optional<engine::TagSpace> tags_;
  std::uint64_t block_ = 0;
  std::optional<engine::Task> task_;
  std::optional<engine::Progress> progress_;
  std::uint64_t epoch_ = 0;
};

[[nodiscard]] std::unique_ptr<engine::NodeMemory> one_rank_memory();

} // namespace stoker::bench
