// SPDX-License-Identifier: BSD-3-Clause
// Lowering: turns a rank's program into a block in its arena. A send/recv pair inside a node becomes a channel in
// shared memory, a pair across nodes an MPI message between the processes that drive the two ranks (their endpoints).
//
// Two phases, since each side has to know where the other put its words: `place` writes the block, the ranks exchange
// PairInfo, `link` fills in what the peers told.
#pragma once

#include "engine/execute/tag_space.hpp"
#include "engine/shared/block.hpp"
#include "engine/shared/node_memory.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stoker::engine {

// Where the ranks of the request's communicator are, seen from this rank.
struct RankMap {
  std::vector<int> arena_of;        // per rank: index of its arena in this node; -1: on another node
  int endpoint = 0;                 // of this rank: rank in the network communicator that sends and receives for it
  std::uint32_t endpoint_arena = 0; // of that process, which is on this node
  std::vector<int> node_of;         // per rank
  TagSpace* tags = nullptr;         // of this rank
  int carrier = -1;                 // rank in the request's communicator whose process is the endpoint; -1: none
};

// An exchange of thousands of messages has no more than so many of each rank under way at a time: the MPI library keeps
// something for each. See step_order.hpp.
inline constexpr std::uint32_t most_messages = 256;

struct PlacementOptions {
  BufferDescriptor send;
  BufferDescriptor recv;
  std::uint64_t eager_bytes = 0; // messages within the node up to this go through the channel's slot
  std::uint64_t piece_bytes = 0; // of longer ones, where both ranks move them (piece_messages.hpp); 0: nowhere
  bool timed = false;
  bool exclusive = false;      // executed inline; has to be for ReduceOp::user
  bool buffers_change = false; // `send` and `recv` may change before each epoch
  bool resizable = false;      // so are the sizes of messages: room in the node for any that may be eager
  OperationCode operation;     // of steps that combine operands
  std::uint32_t most_messages = engine::most_messages; // at a time; at least 2
  // The buffer that a window of the carriers exposes, and where it begins there.
  struct Exposed {
    algos::Buffer buffer = algos::Buffer::recv;
    std::uint64_t begin = 0;
  };
  std::optional<Exposed> exposed;
  std::uint64_t scratch = 0;       // offset in the arena where scratch is; 0: in the block
  std::uint64_t window_number = 0; // of that window in the carrier's process
  // Puts go through a window of the request's own; for programs without sends.
  bool window = false;
};

// A message that bounces takes a multiple of this in the rank's arena. Large jobs have many short messages.
inline constexpr std::uint64_t bounce_alignment = 16;

// What a rank ("I") tells each other rank of the communicator ("you") about the messages between the two.
struct PairInfo {
  std::uint64_t my_block = 0;            // offset in my arena
  std::uint64_t my_send_digest = 0;      // of the sizes of the messages from me to you
  std::uint64_t my_recv_digest = 0;      // of those that I expect from you
  std::int32_t my_endpoint = 0;          //
  std::int32_t my_first_tag = 0;         // your messages to me have this and the following tags
  std::uint64_t my_put_displacement = 0; // your message to me may be put there; 0: nowhere
  std::int32_t my_window_rank = -1;      // rank in the window's communicator that exposes that place
};

// Writes the block and returns its offset in the arena; fills `pairs`, one for each rank. Throws Error(resource) when
// the arena or the tags are exhausted; nothing is left behind then.
[[nodiscard]] std::uint64_t place(const algos::Program& program, NodeMemory& memory, const RankMap& map,
                                  const PlacementOptions& options, std::span<PairInfo> pairs);

// `block`: its offset in this rank's arena; `peers[r]`: what rank r told this one. Throws Error(mismatch) when a rank
// will not send what this one expects.
void link(std::uint64_t block, const NodeMemory& memory, const RankMap& map, std::span<const PairInfo> mine,
          std::span<const PairInfo> peers);

// Whether every other process has touched the block for the last time (see ownership.hpp), so that its memory may be
// given back. `block`: its header, as its rank has it. `submitted`: whether epochs went through the ring of a helper.
[[nodiscard]] bool reclaimable(const NodeMemory& memory, const BlockHeader& block, std::uint64_t last_epoch,
                               bool submitted);

// Gives back what place() took.
void reclaim(NodeMemory& memory, TagSpace& tags, const BlockHeader& block);

} // namespace stoker::engine
