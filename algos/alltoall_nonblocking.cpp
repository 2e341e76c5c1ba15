// SPDX-License-Identifier: BSD-3-Clause
// Direct nonblocking all-to-all (Kinkead et al., "Scaling All-to-all Operations Across Emerging Many-Core
// Supercomputers", 2025, Algorithm 2): every pair exchanges its block in one message and nothing waits for anything else.
// In step i a rank sends to the i-th rank after it and receives from the i-th before it, so that no receiver is
// everybody's first target. Empty blocks are not sent.
//
// In place, a block has to leave recvbuf before its successor may arrive there: it is set aside in scratch, and only the
// one send and the one receive that touch it wait for that.
#include "algos/algorithms.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace stoker::algos {

namespace {

// A block to send, and the step, if any, after which its place in recvbuf is free.
struct Outgoing {
  Slice block;
  std::vector<StepId> after;
};

} // namespace

void append_nonblocking(Builder& builder, const Exchange& exchange, std::span<const int> members) {
  const auto self = std::find(members.begin(), members.end(), exchange.rank);
  const auto me = static_cast<std::size_t>(self - members.begin());
  const std::size_t n = members.size();

  // Indexed like `members`, filled on first use so that the first send does not wait for all the copies.
  std::vector<Outgoing> outgoing(exchange.in_place ? n : 0);
  const auto set_aside = [&](std::size_t i) -> const Outgoing& {
    Outgoing& entry = outgoing[i];
    if (entry.block.length == 0) {
      const Slice block = exchange.outgoing(members[i]);
      entry.block = {Buffer::scratch, builder.scratch(block.length), block.length};
      entry.after = {builder.copy(entry.block, block)};
    }
    return entry;
  };

  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t from = (me + n - i) % n;
    const std::size_t to = (me + i) % n;
    if (const Slice block = exchange.incoming(members[from]); block.length > 0) {
      builder.recv(members[from], block, exchange.in_place ? set_aside(from).after : std::vector<StepId>{});
    }
    if (const Slice block = exchange.outgoing(members[to]); block.length > 0) {
      if (exchange.in_place) {
        const Outgoing& saved = set_aside(to);
        builder.send(members[to], saved.block, saved.after);
      } else {
        builder.send(members[to], block);
      }
    }
  }
  if (const Slice block = exchange.outgoing(exchange.rank); block.length > 0 && !exchange.in_place) {
    builder.copy(exchange.incoming(exchange.rank), block);
  }
}

Program compile_nonblocking(const Exchange& exchange) {
  Builder builder(exchange.rank, exchange.layout.ranks(), exchange.send_bytes(), exchange.recv_bytes());
  std::vector<int> everyone(static_cast<std::size_t>(exchange.layout.ranks()));
  std::iota(everyone.begin(), everyone.end(), 0);
  append_nonblocking(builder, exchange, everyone);
  return std::move(builder).finish();
}

} // namespace stoker::algos
