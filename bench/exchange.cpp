// SPDX-License-Identifier: BSD-3-Clause
// Buffers and data of an exchange: see exchange.hpp.
#include "bench/exchange.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace stoker::bench {

namespace {

// Byte `offset` of what `source` sends to `target`: differs between epochs, pairs and places.
std::byte pattern(int source, int target, int epoch, std::size_t offset) {
  const auto pair = static_cast<std::uint64_t>(source) * 1000003U + static_cast<std::uint64_t>(target) * 10007U +
                    static_cast<std::uint64_t>(epoch) * 101U;
  return static_cast<std::byte>(((pair + offset) * 0x9E3779B97F4A7C15U) >> 56U);
}

} // namespace

std::string name_of(Collective collective) { return collective == Collective::alltoall ? "alltoall" : "alltoallv"; }

void Exchange::Side::allocate(std::vector<int> block_counts, const std::string& name, Engine* mapped_from) {
  counts = std::move(block_counts);
  std::uint64_t total = 0;
  for (const int count : counts) {
    if (total > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      break;
    }
    displs.push_back(static_cast<int>(total));
    total += static_cast<std::uint64_t>(count);
  }
  if (total > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument("--bytes: what one rank " + name +
                                "s is more than MPI's int displacements can tell apart");
  }
  if (mapped_from != nullptr && total > 0) {
    mapped = mapped_from->allocate<std::byte>(total);
    bytes = {mapped.data(), mapped.size()};
  } else {
    heap.resize(total);
    bytes = heap;
  }
}

Exchange::Exchange(MPI_Comm comm, Collective collective, std::uint64_t bytes, Engine* mapped_from)
    : comm_(comm), collective_(collective), bytes_(bytes) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank_);
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument("--bytes: " + std::to_string(bytes) + " bytes per pair are more than MPI's int counts");
  }
  const std::vector<int> counts(static_cast<std::size_t>(ranks), static_cast<int>(bytes));
  send_.allocate(counts, "send", mapped_from);
  recv_.allocate(counts, "receive", mapped_from);
  fill(0);
}

Exchange::Exchange(MPI_Comm comm, std::vector<int> send_counts, Engine* mapped_from)
    : comm_(comm), collective_(Collective::alltoallv) {
  MPI_Comm_rank(comm, &rank_);
  std::vector<int> recv_counts(send_counts.size());
  MPI_Alltoall(send_counts.data(), 1, MPI_INT, recv_counts.data(), 1, MPI_INT, comm);
  send_.allocate(std::move(send_counts), "send", mapped_from);
  recv_.allocate(std::move(recv_counts), "receive", mapped_from);
  fill(0);
}

void Exchange::fill(int epoch) {
  for (int peer = 0; peer < ranks(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    const auto to_peer = send_.bytes.subspan(static_cast<std::size_t>(send_.displs[p]));
    for (std::size_t i = 0; i < static_cast<std::size_t>(send_.counts[p]); ++i) {
      to_peer[i] = pattern(rank_, peer, epoch, i);
    }
    const auto from_peer = recv_.bytes.subspan(static_cast<std::size_t>(recv_.displs[p]));
    for (std::size_t i = 0; i < static_cast<std::size_t>(recv_.counts[p]); ++i) {
      from_peer[i] = ~pattern(peer, rank_, epoch, i);
    }
  }
}

void Exchange::check(int epoch, const std::string& what) const {
  for (int peer = 0; peer < ranks(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    const auto from_peer = recv_.bytes.subspan(static_cast<std::size_t>(recv_.displs[p]));
    for (std::size_t i = 0; i < static_cast<std::size_t>(recv_.counts[p]); ++i) {
      if (from_peer[i] != pattern(peer, rank_, epoch, i)) {
        throw std::runtime_error("wrong data: " + what + ", " + name_of(collective_) + ", epoch " +
                                 std::to_string(epoch) + ": rank " + std::to_string(rank_) + ", byte " +
                                 std::to_string(i) + " of " + std::to_string(recv_.counts[p]) + " from rank " +
                                 std::to_string(peer));
      }
    }
  }
}

} // namespace stoker::bench
