// SPDX-License-Identifier: BSD-3-Clause
// The second phase of lowering: see lower.hpp.
#include "engine/base/error.hpp"
#include "engine/execute/lower.hpp"
#include "engine/execute/lowered_program.hpp"
#include "engine/shared/seal.hpp"

#include <vector>

namespace stoker::engine {
namespace {

// The first message of the chain to or from one rank of the node: 1 + the step, 0 for none.
std::uint32_t first_of_chain(const Block& block, std::uint64_t list_at, std::uint32_t arena) {
  return copy_once(in_block<std::uint32_t>(&block, list_at)[arena]);
}

// The steps of a chain that begins with the step of that number plus 1.
template <class Visit>
void for_each_in_chain(LoweredProgram& program, std::uint32_t first, Visit visit) {
  for (std::uint32_t i = first; i != 0; i = program.step_list.at(i - 1).next) {
    visit(program.step_list.at(i - 1));
  }
}

// `Step`: LoweredStep or WireMessage. Its tag says which of the peer's messages it is.
template <class Step>
void link_to_peer(Step& step, bool outgoing, std::span<const PairInfo> mine, std::span<const PairInfo> peers) {
  const auto rank = static_cast<std::size_t>(step.peer);
  const PairInfo& peer = peers[rank];
  step.endpoint = peer.my_endpoint;
  step.tag += outgoing ? peer.my_first_tag : mine[rank].my_first_tag;
  if (outgoing) {
    step.put = peer.my_put_displacement != 0;
    step.window_rank = peer.my_window_rank;
    step.displacement = peer.my_put_displacement;
  }
}

// Links all messages to and from other nodes.
void link_wire(LoweredProgram& program, const NodeMemory& memory, Block& block, std::span<const PairInfo> mine,
               std::span<const PairInfo> peers) {
  for (LoweredStep& step : program.step_list) {
    if (step.op == Op::send_wire || step.op == Op::recv_wire) {
      link_to_peer(step, step.op == Op::send_wire, mine, peers);
    }
  }
  for (auto i = static_cast<std::uint32_t>(program.step_list.size()); i < program.steps; ++i) {
    WireMessage message;
    if (!read_message(program, block, i, message)) {
      memory.refuse(program.arena, Damage::request);
    }
    link_to_peer(message, message.outgoing, mine, peers);
    write_message(program, block, i, message);
  }
}

// The block of a rank of this node. It may be linking too: only what it wrote in place() is read here. What it names
// must lie within the block.
class Peer {
public:
  Peer(const NodeMemory& memory, const SharedRef& place)
      : memory_(memory), place_(place), header_(memory.header(place)), block_(*memory.at<Block>(place)) {}

  [[nodiscard]] std::uint32_t arena() const { return place_.arena; }
  [[nodiscard]] std::uint32_t first_recv(std::uint32_t from) const {
    return first_of_chain(block_, header_.first_recv_at, from);
  }
  [[nodiscard]] std::uint32_t first_send(std::uint32_t to) const {
    return first_of_chain(block_, header_.first_send_at, to);
  }
  // A copy of a step of a chain, and of its channel.
  [[nodiscard]] LoweredStep step(std::uint32_t number) const {
    require(number - 1 < header_.steps - header_.messages);
    return copy_once(in_block<LoweredStep>(&block_, header_.steps_at)[number - 1]);
  }
  [[nodiscard]] Channel channel(const LoweredStep& step) const {
    require(step.channel < header_.channels);
    return copy_once(in_block<Channel>(&block_, header_.channels_at)[step.channel]);
  }
  // A place of so many bytes in the block that a channel names.
  [[nodiscard]] SharedRef own_place(const SharedRef& ref, std::uint64_t bytes) const {
    const std::uint64_t in_block = ref.offset - place_.offset;
    require(ref.arena == place_.arena && in_block < header_.bytes && bytes <= header_.bytes - in_block &&
            ref.offset % cache_line == 0);
    return ref;
  }
  // What the send step sends; `bytes`: as many as are expected, where sizes do not change.
  void describe_source(const LoweredStep& send, std::uint64_t bytes, Channel& recv) const {
    const algos::Range range = send.source;
    require(range.begin <= header_.slices && range.count <= header_.slices - range.begin);
    std::vector<algos::Slice> slices(range.count);
    std::uint64_t sent = 0;
    for (std::uint32_t i = 0; i < range.count; ++i) {
      slices[i] = copy_once(in_block<algos::Slice>(&block_, header_.slices_at)[range.begin + i]);
      sent += slices[i].bytes();
    }
    require(header_.any_sizes != 0 || sent == bytes);
    const auto offset_of = [&](std::uint64_t in_block) { return place_.offset + in_block; };
    recv.peer_block = place_;
    recv.peer_slices = offset_of(header_.slices_at + (range.begin * sizeof(algos::Slice)));
    recv.peer_slice_count = range.count;
    recv.peer_seal = header_.any_sizes != 0 ? offset_of(header_.slice_seals_at + (range.begin * sizeof(std::uint64_t)))
                                            : checksum_of(slices.data(), range.count);
  }

private:
  void require(bool holds) const {
    if (!holds) {
      memory_.refuse(place_.arena, Damage::request);
    }
  }
  const NodeMemory& memory_;
  SharedRef place_;
  BlockHeader header_;
  const Block& block_;
};

// Links the messages to and from one rank of this node.
void link_channels(LoweredProgram& program, const Block& block, const Peer& peer) {
  std::uint32_t theirs = peer.first_recv(program.arena);
  for_each_in_chain(program, first_of_chain(block, program.first_send_at, peer.arena()), [&](const LoweredStep& step) {
    const LoweredStep recv = peer.step(theirs);
    Channel& channel = program.channel_list.at(step.channel);
    channel.combined = recv.message != algos::Operand::none ? 1 : 0;
    channel.ready = peer.own_place(peer.channel(recv).ready, bytes_of_slots(channel));
    theirs = recv.next;
  });
  theirs = peer.first_send(program.arena);
  for_each_in_chain(program, first_of_chain(block, program.first_recv_at, peer.arena()), [&](const LoweredStep& step) {
    const LoweredStep send = peer.step(theirs);
    Channel& channel = program.channel_list.at(step.channel);
    channel.taken = peer.own_place(peer.channel(send).taken, sizeof(TakenWord));
    peer.describe_source(send, step.bytes, channel);
    theirs = send.next;
  });
}

} // namespace

void link(std::uint64_t block, const NodeMemory& memory, const RankMap& map, std::span<const PairInfo> mine,
          std::span<const PairInfo> peers) {
  const SharedRef own{memory.self(), 0, block};
  LoweredProgram program = read_program(own, memory);
  Block& shared = *memory.at<Block>(own);
  for (int r = 0; r < program.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (peers[i].my_send_digest != mine[i].my_recv_digest) {
      throw Error(Code::mismatch,
                  "rank {}: rank {} compiled a schedule that sends other messages than expected here; do all ranks use "
                  "the same algorithm and settings?",
                  program.rank, r);
    }
    if (map.arena_of[i] >= 0) {
      link_channels(program, shared, {memory, {static_cast<std::uint32_t>(map.arena_of[i]), 0, peers[i].my_block}});
    }
  }
  link_wire(program, memory, shared, mine, peers);
  write_links(program, shared);
}

} // namespace stoker::engine
