// SPDX-License-Identifier: BSD-3-Clause
// The two ends of an exchange at one rank.
#include "algos/collectives/ends.hpp"

namespace stoker::algos {

Ends::Ends(Builder& builder, const Exchange& exchange, SetAside how)
    : builder_(builder), exchange_(exchange), how_(how),
      aside_(exchange.in_place ? static_cast<std::size_t>(exchange.layout.ranks()) : 0) {
  if (!exchange.in_place || how == SetAside::each) {
    return;
  }
  Part blocks;
  for (int peer = 0; peer < exchange.layout.ranks(); ++peer) {
    if (peer != exchange.rank) {
      blocks.add(exchange.outgoing(peer));
    }
  }
  if (blocks.slices.empty()) {
    return;
  }
  const Slice all{Buffer::scratch, builder.scratch(blocks.bytes()), blocks.bytes()};
  const StepId copy = builder.copy({&all, 1}, blocks.slices);
  std::uint64_t place = all.offset;
  for (int peer = 0; peer < exchange.layout.ranks(); ++peer) {
    if (const std::uint64_t bytes = exchange.outgoing(peer).length; peer != exchange.rank && bytes > 0) {
      aside_[peer] = {{{Buffer::scratch, place, bytes}}, {copy}};
      place += bytes;
    }
  }
}

void Ends::add_outgoing(int peer, Part& part) {
  if (exchange_.in_place) {
    part.add(aside(peer));
  } else {
    part.add(exchange_.outgoing(peer));
  }
}

void Ends::add_incoming(int peer, Part& part) {
  const Slice block = exchange_.incoming(peer);
  part.add(block);
  if (exchange_.in_place && block.length > 0) {
    part.add_after(aside(peer).after);
  }
}

Part Ends::outgoing(int peer) {
  Part part;
  add_outgoing(peer, part);
  return part;
}

Part Ends::incoming(int peer) {
  Part part;
  add_incoming(peer, part);
  return part;
}

void Ends::copy_own() {
  if (const Slice block = exchange_.outgoing(exchange_.rank); block.length > 0 && !exchange_.in_place) {
    builder_.copy(exchange_.incoming(exchange_.rank), block);
  }
}

const Part& Ends::aside(int peer) {
  Part& part = aside_[peer];
  if (how_ == SetAside::each && part.slices.empty()) {
    if (const Slice block = exchange_.outgoing(peer); block.length > 0) {
      const Slice place{Buffer::scratch, builder_.scratch(block.length), block.length};
      part = {{place}, {builder_.copy(place, block)}};
    }
  }
  return part;
}

GroupExchange Ends::among(std::span<const int> members) {
  GroupExchange group;
  group.members = members;
  group.incoming.reserve(members.size());
  group.outgoing.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool self = members[i] == exchange_.rank;
    group.me = self ? i : group.me;
    group.incoming.push_back(self ? Part{} : incoming(members[i]));
    group.outgoing.push_back(self ? Part{} : outgoing(members[i]));
  }
  group.bytes = [this, members](std::size_t a, std::size_t b) { return exchange_.sizes(members[a], members[b]); };
  return group;
}

} // namespace stoker::algos
