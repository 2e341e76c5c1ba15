// SPDX-License-Identifier: BSD-3-Clause
// The second phase of lowering: see lower.hpp.
#include "engine/base/error.hpp"
#include "engine/execute/lower.hpp"

namespace stoker::engine {
namespace {

// The steps of a chain that begins with the step of that number plus 1.
template <class Visit>
void for_each_in_chain(LoweredStep* steps, std::uint32_t first, Visit visit) {
  for (std::uint32_t i = first; i != 0; i = steps[i - 1].next) {
    visit(steps[i - 1]);
  }
}

// Links the messages to and from one rank of another node.
void link_wire(Block& block, int rank, const PairInfo& mine, const PairInfo& peer) {
  auto* steps = in_block<LoweredStep>(&block, block.steps_at);
  int tag = peer.my_first_tag;
  for_each_in_chain(steps, in_block<std::uint32_t>(&block, block.first_send_at)[rank], [&](LoweredStep& step) {
    step.endpoint = peer.my_endpoint;
    step.tag = tag++;
    step.put = peer.my_put_displacement != 0;
    step.window_rank = peer.my_window_rank;
    step.displacement = peer.my_put_displacement;
  });
  tag = mine.my_first_tag;
  for_each_in_chain(steps, in_block<std::uint32_t>(&block, block.first_recv_at)[rank], [&](LoweredStep& step) {
    step.endpoint = peer.my_endpoint;
    step.tag = tag++;
  });
}

// Links the messages to and from one rank of this node, whose block is at `place`.
void link_channels(Block& block, const NodeMemory& memory, int rank, const SharedRef& place) {
  auto* steps = in_block<LoweredStep>(&block, block.steps_at);
  const Block& other = memory.block(place);
  const auto* other_steps = in_block<LoweredStep>(&other, other.steps_at);
  // The peer may be linking too: only what it wrote in place() is read here.
  std::uint32_t theirs = in_block<std::uint32_t>(&other, other.first_recv_at)[block.rank];
  for_each_in_chain(steps, in_block<std::uint32_t>(&block, block.first_send_at)[rank], [&](LoweredStep& step) {
    const LoweredStep& recv = other_steps[theirs - 1];
    step.ready = recv.ready;
    theirs = recv.next;
  });
  theirs = in_block<std::uint32_t>(&other, other.first_send_at)[block.rank];
  for_each_in_chain(steps, in_block<std::uint32_t>(&block, block.first_recv_at)[rank], [&](LoweredStep& step) {
    const LoweredStep& send = other_steps[theirs - 1];
    step.taken = send.taken;
    step.peer_block = place;
    step.peer_source = send.source;
    theirs = send.next;
  });
}

} // namespace

void link(Block& block, const NodeMemory& memory, const RankMap& map, std::span<const PairInfo> mine,
          std::span<const PairInfo> peers) {
  for (int r = 0; r < block.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (peers[i].my_send_digest != mine[i].my_recv_digest) {
      throw Error(Code::mismatch,
                  "rank {}: rank {} compiled a schedule that sends other messages than expected here; do all ranks use "
                  "the same algorithm and settings?",
                  block.rank, r);
    }
    if (map.arena_of[i] < 0) {
      link_wire(block, r, mine[i], peers[i]);
    } else {
      link_channels(block, memory, r, {static_cast<std::uint32_t>(map.arena_of[i]), 0, peers[i].my_block});
    }
  }
}

} // namespace stoker::engine
