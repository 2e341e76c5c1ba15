// SPDX-License-Identifier: BSD-3-Clause
// Buffers and data of an exchange: see exchange.hpp.
#include "bench/exchange.hpp"

#include <limits>
#include <stdexcept>

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

Exchange::Exchange(MPI_Comm comm, Collective collective, std::uint64_t bytes, Engine* mapped_from)
    : comm_(comm), collective_(collective), bytes_(bytes) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank_);
  const std::uint64_t total = bytes * static_cast<std::uint64_t>(ranks);
  if (total > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument("--bytes: " + std::to_string(bytes) + " bytes per pair of " + std::to_string(ranks) +
                                " ranks are more than MPI's int displacements can tell apart");
  }
  for (int peer = 0; peer < ranks; ++peer) {
    counts_.push_back(static_cast<int>(bytes));
    displs_.push_back(peer * static_cast<int>(bytes));
  }
  if (mapped_from != nullptr) {
    mapped_send_ = mapped_from->allocate<std::byte>(total);
    mapped_recv_ = mapped_from->allocate<std::byte>(total);
    send_ = {mapped_send_.data(), mapped_send_.size()};
    recv_ = {mapped_recv_.data(), mapped_recv_.size()};
  } else {
    heap_send_.resize(total);
    heap_recv_.resize(total);
    send_ = heap_send_;
    recv_ = heap_recv_;
  }
  fill(0);
}

void Exchange::fill(int epoch) {
  for (int peer = 0; peer < ranks(); ++peer) {
    const std::size_t block = static_cast<std::size_t>(peer) * bytes_;
    for (std::size_t i = 0; i < bytes_; ++i) {
      send_[block + i] = pattern(rank_, peer, epoch, i);
      recv_[block + i] = ~pattern(peer, rank_, epoch, i);
    }
  }
}

void Exchange::check(int epoch, const std::string& what) const {
  for (int peer = 0; peer < ranks(); ++peer) {
    const std::size_t block = static_cast<std::size_t>(peer) * bytes_;
    for (std::size_t i = 0; i < bytes_; ++i) {
      if (recv_[block + i] != pattern(peer, rank_, epoch, i)) {
        throw std::runtime_error("wrong data: " + what + ", " + name_of(collective_) + " of " + std::to_string(bytes_) +
                                 " bytes per pair, epoch " + std::to_string(epoch) + ": rank " + std::to_string(rank_) +
                                 ", byte " + std::to_string(i) + " from rank " + std::to_string(peer));
      }
    }
  }
}

} // namespace stoker::bench
