// SPDX-License-Identifier: BSD-3-Clause
// Buffers and data of an exchange: see exchange.hpp.
#include "bench/lib/exchange.hpp"

#include <algorithm>
#include <cstring>
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

// Element `index` of a rank's operand: small whole numbers, whose sums are exact in any order.
double operand_of(int rank, int epoch, std::size_t index) {
  return static_cast<double>(std::to_integer<int>(pattern(rank, root_rank, epoch, index)));
}

// All of `to`, from `from`, in whole words as far as they go.
void write_complement(std::span<const std::byte> from, std::span<std::byte> to) {
  const std::size_t words = to.size() / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, &from[i * sizeof word], sizeof word);
    word = ~word;
    std::memcpy(&to[i * sizeof word], &word, sizeof word);
  }
  for (std::size_t i = words * sizeof(std::uint64_t); i < to.size(); ++i) {
    to[i] = ~from[i];
  }
}

double sum_of(int ranks, int epoch, std::size_t index) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    sum += operand_of(rank, epoch, index);
  }
  return sum;
}

} // namespace

const std::string& name_of(Collective collective) { return collective_names.at(static_cast<std::size_t>(collective)); }

Collective collective_of(const std::string& name) {
  const auto found = std::find(collective_names.begin(), collective_names.end(), name);
  if (found == collective_names.end()) {
    throw std::invalid_argument("no such collective: " + name);
  }
  return static_cast<Collective>(found - collective_names.begin());
}

void Exchange::Side::allocate(std::vector<int> block_counts, const std::string& name, const Place& place) {
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
  if (place.mapped_from != nullptr && total > 0) {
    mapped = place.mapped_from->allocate<std::byte>(total);
    bytes = {mapped.data(), mapped.size()};
  } else if (place.device != nullptr && total > 0) {
    device = DeviceArray(place.device, total);
    bytes = device.copy();
  } else {
    heap.resize(total);
    bytes = heap;
  }
}

Exchange::Exchange(MPI_Comm comm, Collective collective, std::uint64_t bytes, const Place& place)
    : comm_(comm), collective_(collective), bytes_(bytes), on_device_(place.device != nullptr) {
  MPI_Comm_size(comm, &ranks_);
  MPI_Comm_rank(comm, &rank_);
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument("--bytes: " + std::to_string(bytes) + " bytes are more than MPI's int counts");
  }
  if (has_vector(collective)) {
    allocate_vector(place);
  } else {
    const std::vector<int> counts(static_cast<std::size_t>(ranks_), static_cast<int>(bytes));
    send_.allocate(counts, "send", place);
    recv_.allocate(counts, "receive", place);
  }
  fill(0);
}

void Exchange::allocate_vector(const Place& place) {
  if (collective_ != Collective::bcast && *bytes_ % sizeof(double) != 0) {
    throw std::invalid_argument("--bytes: " + std::to_string(*bytes_) + " bytes are no whole number of doubles");
  }
  if (collective_ != Collective::bcast || rank_ == root_rank) {
    send_.allocate({count()}, "send", place);
  }
  if (collective_ == Collective::allreduce || (collective_ == Collective::reduce) == (rank_ == root_rank)) {
    recv_.allocate({count()}, "receive", place);
  }
}

Exchange::Exchange(MPI_Comm comm, std::vector<int> send_counts, const Place& place)
    : comm_(comm), collective_(Collective::alltoallv), on_device_(place.device != nullptr) {
  MPI_Comm_size(comm, &ranks_);
  MPI_Comm_rank(comm, &rank_);
  std::vector<int> recv_counts(send_counts.size());
  MPI_Alltoall(send_counts.data(), 1, MPI_INT, recv_counts.data(), 1, MPI_INT, comm);
  send_.allocate(std::move(send_counts), "send", place);
  recv_.allocate(std::move(recv_counts), "receive", place);
  fill(0);
}

void Exchange::fill(int epoch) {
  has_vector(collective_) ? fill_vector(epoch) : fill_blocks(epoch);
  if (on_device_) {
    send_.device.upload();
    recv_.device.upload();
  } else {
    complement_.resize(send_.bytes.size());
    write_complement(send_.bytes, complement_);
  }
}

void Exchange::fill_blocks(int epoch) {
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

void Exchange::fill_vector(int epoch) {
  if (collective_ == Collective::bcast) {
    for (std::size_t i = 0; i < send_.bytes.size(); ++i) {
      send_.bytes[i] = pattern(root_rank, root_rank, epoch, i);
    }
    for (std::size_t i = 0; i < recv_.bytes.size(); ++i) {
      recv_.bytes[i] = ~pattern(root_rank, root_rank, epoch, i);
    }
    return;
  }
  for (std::size_t i = 0; i < operand().size(); ++i) {
    operand()[i] = operand_of(rank_, epoch, i);
  }
  std::fill(recv_.bytes.begin(), recv_.bytes.end(), std::byte{0xFF}); // no number
}

void Exchange::write_again() const { write_complement(complement_, send_.bytes); }

void Exchange::check(int epoch, const std::string& what) const {
  if (on_device_) {
    recv_.device.download();
  }
  if (has_vector(collective_)) {
    check_vector(epoch, what);
    return;
  }
  for (int peer = 0; peer < ranks(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    const auto from_peer = recv_.bytes.subspan(static_cast<std::size_t>(recv_.displs[p]));
    for (std::size_t i = 0; i < static_cast<std::size_t>(recv_.counts[p]); ++i) {
      if (from_peer[i] != pattern(peer, rank_, epoch, i)) {
        wrong_data(epoch, what,
                   "byte " + std::to_string(i) + " of " + std::to_string(recv_.counts[p]) + " from rank " +
                       std::to_string(peer));
      }
    }
  }
}

void Exchange::check_vector(int epoch, const std::string& what) const {
  if (collective_ == Collective::bcast) {
    for (std::size_t i = 0; i < recv_.bytes.size(); ++i) {
      if (recv_.bytes[i] != pattern(root_rank, root_rank, epoch, i)) {
        wrong_data(epoch, what, "byte " + std::to_string(i) + " of " + std::to_string(count()));
      }
    }
    return;
  }
  const std::span<const double> sums = result();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (const double expected = sum_of(ranks_, epoch, i); sums[i] != expected) {
      wrong_data(epoch, what,
                 "element " + std::to_string(i) + " of " + std::to_string(elements()) + " is " +
                     std::to_string(sums[i]) + ", not " + std::to_string(expected));
    }
  }
}

void Exchange::wrong_data(int epoch, const std::string& what, const std::string& where) const {
  throw std::runtime_error("wrong data: " + what + ", " + name_of(collective_) + ", epoch " + std::to_string(epoch) +
                           ": rank " + std::to_string(rank_) + ", " + where);
}

} // namespace stoker::bench
