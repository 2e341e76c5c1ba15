// SPDX-License-Identifier: BSD-3-Clause
// All ranks of a collective request in one process, from lowering on: arenas, blocks, executors and the network between
// the nodes are real but for the network, and nothing moves unless the test turns a crank.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "algos/verify/verifier.hpp"
#include "engine/execute/lower.hpp"
#include "engine/execute/progress.hpp"
#include "engine/helper/helper.hpp"
#include "engine/shared/node_memory.hpp"
#include "in_process_network.hpp"
#include "topology/layout.hpp"
#include "topology/machine.hpp"

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
  Path path = Path::mapped;           // of all buffers
  std::uint64_t eager_bytes = 64;     // in a channel's slot
  std::uint64_t node_piece_bytes = 0; // of longer ones
  std::uint64_t piece_bytes = 0;      // of messages between nodes
  std::uint64_t buffered_bytes = 0;   // by the network
  bool inlined = false;               // every rank executes its own steps; else the helper of each node's lowest rank
  std::size_t batch = 16;             // submissions that a helper takes from a rank in one round
  bool timed = false;
  int tags = 1000;                                     // of each rank
  std::uint32_t most_messages = engine::most_messages; // that a rank has under way
};

// What the ranks do, what they start from and what they must end with. Combined bytes are the exclusive or of their
// inputs.
struct WholeCollective {
  std::vector<algos::Program> programs;
  std::vector<algos::Contents> contents;
  algos::Terms terms;
};
// Every rank sends `bytes` to every rank, each in one message.
[[nodiscard]] WholeCollective whole_alltoall(const topology::Layout& layout, std::uint64_t bytes);

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
  // Whether buffers are attached to, as was asked for: emulated processors lack the system call.
  [[nodiscard]] bool attaches() const { return options_.path == Path::attached; }
  // The sender's word of its only message within the node.
  [[nodiscard]] TakenWord& taken(int rank) const { return *in_block<TakenWord>(&block(rank), block(rank).taken_at); }
  [[nodiscard]] std::uint64_t block_offset(int rank) const { return at(rank).block; }
  [[nodiscard]] Helper& helper(int carrier) const { return *at(carrier).helper; }
  [[nodiscard]] TagSpace& tags(int rank) const { return *at(rank).tags; }

  // Cranks. start: fills the rank's buffers, poisons what is to be written, begins its next epoch, and submits it.
  // poll: a round of the carrier's helper, or of the rank's own.
  void start(int rank);
  bool poll(int carrier);
  bool assist(int rank);  // as a rank in Wait does
  bool test(int carrier); // as a carrier in Test does
  // Whether the rank's epoch is complete.
  [[nodiscard]] bool done(int rank) const;
  // Ends the epoch, and checks what it has left in the rank's buffers.
  void finish(int rank);
  [[nodiscard]] bool right(int rank) const; // whether that is still there

  // Inlined: the rank's request is broken, and freed.
  void forget(int rank);

  // Ends the epochs of all ranks without a look at their data.
  void give_up();

  // Any of these at random, until every rank has finished so many epochs; each begins the next one as soon as it may.
  void run(std::mt19937& random, std::uint64_t epochs);
  // Until nothing moves and nothing is on its way; in a fixed order.
  void run_dry();
  // Gives the blocks back.
  void free_blocks();
  // Whether every block may be given back, and the network is empty.
  void expect_at_rest() const;

  InProcessNetwork network;

private:
  struct Rank {
    std::shared_ptr<NodeMemory> memory;
    std::unique_ptr<TagSpace> tags;
    RankMap map;
    std::list<std::vector<std::byte>> heap;
    std::vector<std::uint64_t> places; // in the arena
    std::byte* send = nullptr;
    std::byte* recv = nullptr;
    std::uint64_t block = 0;
    std::vector<PairInfo> pairs;
    std::unique_ptr<Task> task;     // as the rank's own process sees it
    std::unique_ptr<Helper> helper; // of a carrier, without a thread; or else, inlined:
    std::unique_ptr<Progress> progress;
    std::uint64_t epoch = 0;
    bool active = false;
  };

  [[nodiscard]] Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void create_memories();
  void place_all();
  void create_executors();
  [[nodiscard]] BufferDescriptor allocate(Rank& rank, std::uint64_t bytes, std::byte*& buffer) const;
  // The byte of the rank's receive buffer after its epoch.
  [[nodiscard]] std::byte expected(int rank, std::size_t byte) const;
  [[nodiscard]] std::byte value(algos::Token token, std::uint64_t epoch) const;

  topology::Machine machine_{"core:2 pu:1"};
  RigOptions options_;
  const WholeCollective& collective_;
  std::vector<Rank> ranks_;
};

} // namespace stoker::engine
