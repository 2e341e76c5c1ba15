// SPDX-License-Identifier: BSD-3-Clause
// Namugwanya, "Analyzing Persistent Alltoallv RMA Implementations for High-Performance MPI Communication", 2026,
// algorithms 1 (fence), 2 (fence, hierarchy) and 3 (lock). What differs: each rank begins with its successor, so that
// no rank is everybody's first target, and copies the block that it has for itself.
#include "algos/collectives/alltoall_rma.hpp"

#include "algos/collectives/ends.hpp"
#include "algos/schedule/append.hpp"

#include <utility>
#include <vector>

namespace stoker::algos {

Program compile_rma(const Exchange& exchange, Opening opening, PutOrder order) {
  Builder builder(exchange.rank, exchange.layout.ranks(), exchange.send_bytes(), exchange.recv_bytes());
  Ends ends(builder, exchange, Ends::SetAside::each);
  const std::vector<int> peers = put_targets(exchange.layout, exchange.rank, order);
  std::vector<Part> outgoing;
  std::vector<Part> incoming;
  std::vector<StepId> set_aside; // in place: a peer may overwrite a block once it is set aside
  for (const int peer : peers) {
    outgoing.push_back(ends.outgoing(peer));
    incoming.push_back(ends.incoming(peer));
    append(set_aside, incoming.back().after);
  }
  const bool announced = opening == Opening::lock;
  std::vector<StepId> all;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (const Part& part = incoming[i]; !part.slices.empty()) {
      all.push_back(announced ? builder.announced_recv(peers[i], part.slices, part.after)
                              : builder.recv(peers[i], part.slices, part.after));
    }
  }
  std::vector<StepId> open; // behind the recvs, which have all started when it is done
  if (!announced) {
    open = {builder.fence(set_aside)};
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!outgoing[i].slices.empty()) {
      std::vector<StepId> after = outgoing[i].after;
      append(after, open);
      all.push_back(builder.put(peers[i], outgoing[i].slices, exchange.remote(peers[i]), announced, after));
    }
  }
  ends.copy_own();
  append(all, open);
  builder.fence(all);
  return std::move(builder).finish();
}

} // namespace stoker::algos
