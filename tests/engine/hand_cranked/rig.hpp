// SPDX-License-Identifier: BSD-3-Clause
// All ranks of a collective request in one process, from lowering on: arenas, blocks, executors and the network between the
// nodes are real but for the network, and nothing moves unless the test turns a crank.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "algos/verify/verifier.hpp"
#include "engine/execute/lower.hpp"
#include "engine/execute/progress.hpp"
#include "engine/shared/node_memory.hpp"
#include "in_process_network.hpp"
#include "topology/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace stoker::engine {

struct RigOptions {
  topology::Layout layout = topology::Layout::uniform(4, 2);
  Path path = Path::mapped;         // of all buffers
  std::uint64_t eager_bytes = 64;   // in a channel's slot
  std::uint64_t piece_bytes = 0;    // of messages between nodes
  std::uint64_t buffered_bytes = 0; // by the network
  bool inlined = false;             // every rank executes its own steps; else each node's lowest rank those of its node
  bool timed = false;
};

// What the ranks do, what they start from and what they must end with. Combined bytes are the exclusive or of their inputs.
struct WholeCollective {
  std::vector<algos::Program> programs;
  std::vector<algos::Contents> contents;
  algos::Terms terms;
};

class Rig {
public:
  Rig(const RigOptions& options, const WholeCollective& collective);
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig();

  [[nodiscard]] int ranks() const { return options_.layout.ranks(); }
  [[nodiscard]] int carrier(int rank) const; // whose process executes the rank's steps
  [[nodiscard]] std::vector<int> carriers() const;
  [[nodiscard]] Block& block(int rank) const;
  [[nodiscard]] NodeMemory& memory(int rank) const { return *at(rank).memory; }
  [[nodiscard]] std::uint64_t block_offset(int rank) const { return at(rank).block; }
  [[nodiscard]] Task& task(int rank) { return *at(rank).task; } // in the carrier's process

  // Cranks. start: fills the rank's buffers, poisons what is to be written, and begins its next epoch.
  void start(int rank);
  bool poll(int carrier) { return at(carrier).progress->poll(); }
  bool assist(int rank); // as a rank in Wait does
  // Whether the rank's epoch is complete.
  [[nodiscard]] bool done(int rank) const;
  // Checks what the epoch has left in its buffers.
  void finish(int rank);

  // Ends the epochs of all ranks without a look at their data.
  void give_up();

  // Any of these at random, until every rank has finished so many epochs; each begins the next one as soon as it may.
  void run(std::mt19937& random, std::uint64_t epochs);
  // Until nothing moves and nothing is on its way; in a fixed order.
  void run_dry();
  // Whether every block may be given back, and the network is empty.
  void expect_at_rest() const;

  InProcessNetwork network;

private:
  struct Rank {
    std::shared_ptr<NodeMemory> memory;
    RankMap map;
    std::list<std::vector<std::byte>> heap;
    std::vector<std::uint64_t> places; // in the arena
    std::byte* send = nullptr;
    std::byte* recv = nullptr;
    std::uint64_t block = 0;
    std::vector<PairInfo> pairs;
    std::unique_ptr<Task> task;         // in the carrier's process
    std::unique_ptr<Program> own_view;  // in its own, for assisting
    std::unique_ptr<Progress> progress; // of a carrier
    std::uint64_t epoch = 0;
    bool active = false;
  };

  [[nodiscard]] Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void create_memories();
  void place_all();
  [[nodiscard]] BufferDescriptor allocate(Rank& rank, std::uint64_t bytes, std::byte*& buffer) const;
  [[nodiscard]] std::byte value(algos::Token token, std::uint64_t epoch) const;

  RigOptions options_;
  const WholeCollective& collective_;
  std::vector<Rank> ranks_;
};

} // namespace stoker::engine
