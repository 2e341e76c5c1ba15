// SPDX-License-Identifier: BSD-3-Clause
#include "engine/arguments.hpp"

#include "engine/error.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

std::string at(const char* array, std::size_t index) { return std::string(array) + "[" + std::to_string(index) + "]"; }

std::vector<UserBlock> blocks_of(std::size_t size, const MPI_Count* counts, const MPI_Aint* displs,
                                 const Datatype& type, const char* counts_name, const char* displs_name) {
  if (size > 0 && (counts == nullptr || displs == nullptr)) {
    throw Error(Code::argument, std::string(counts == nullptr ? counts_name : displs_name) + " is null; expected " +
                                    std::to_string(size) + " entries");
  }
  std::vector<UserBlock> blocks(size);
  for (std::size_t r = 0; r < blocks.size(); ++r) {
    if (counts[r] < 0) {
      throw Error(Code::argument, at(counts_name, r) + " is " + std::to_string(counts[r]) + "; expected 0 or more");
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(displs[r], type.extent(), &bytes)) {
      throw Error(Code::argument, at(displs_name, r) + " times the datatype's extent does not fit 64 bits");
    }
    blocks[r] = {bytes, counts[r]};
  }
  return blocks;
}

// Blocks of a receive buffer that share bytes would be written in no particular order. Only told for contiguous types, where
// it is cheap to know.
void check_blocks_apart(const UserBuffer& buffer) {
  if (!buffer.type().contiguous()) {
    return;
  }
  std::vector<std::size_t> order;
  for (std::size_t r = 0; r < buffer.blocks().size(); ++r) {
    if (buffer.block_bytes(r) > 0) {
      order.push_back(r);
    }
  }
  const auto begin = [&](std::size_t r) { return buffer.blocks()[r].displacement; };
  const auto end = [&](std::size_t r) { return begin(r) + static_cast<std::int64_t>(buffer.block_bytes(r)); };
  std::ranges::sort(order, {}, begin);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (end(order[i - 1]) > begin(order[i])) {
      throw Error(Code::argument, "recvbuf: the blocks at " + at("rdispls", order[i - 1]) + " and " +
                                      at("rdispls", order[i]) + " overlap; expected disjoint blocks");
    }
  }
}

void check_address(const UserBuffer& buffer, const char* name) {
  if (buffer.address() == nullptr && buffer.bytes() > 0) {
    throw Error(Code::argument,
                std::string(name) + " is null; expected room for " + std::to_string(buffer.bytes()) + " bytes");
  }
}

struct Interval {
  const std::byte* begin;
  const std::byte* end;
};

// What the blocks of a contiguous type cover, in order of place and without overlaps.
std::vector<Interval> intervals_of(const UserBuffer& buffer) {
  std::vector<Interval> blocks;
  for (std::size_t b = 0; b < buffer.blocks().size(); ++b) {
    if (const std::uint64_t bytes = buffer.block_bytes(b); bytes > 0) {
      const std::byte* begin = buffer.address() + buffer.blocks()[b].displacement;
      blocks.push_back({begin, begin + bytes});
    }
  }
  std::ranges::sort(blocks, {}, &Interval::begin);
  std::vector<Interval> merged;
  for (const Interval& block : blocks) {
    if (!merged.empty() && block.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, block.end);
    } else {
      merged.push_back(block);
    }
  }
  return merged;
}

} // namespace

UserBuffer checked_send_buffer(const ExchangeArguments& arguments, std::size_t blocks) {
  Datatype type(arguments.sendtype, "sendtype");
  auto list = blocks_of(blocks, arguments.sendcounts, arguments.sdispls, type, "sendcounts", "sdispls");
  UserBuffer buffer(const_cast<void*>(arguments.sendbuf), std::move(type), std::move(list)); // only read
  check_address(buffer, "sendbuf");
  return buffer;
}

UserBuffer checked_recv_buffer(const ExchangeArguments& arguments, std::size_t blocks) {
  if (arguments.recvbuf == MPI_IN_PLACE) {
    throw Error(Code::argument, "recvbuf is MPI_IN_PLACE; expected that in sendbuf only");
  }
  Datatype type(arguments.recvtype, "recvtype");
  auto list = blocks_of(blocks, arguments.recvcounts, arguments.rdispls, type, "recvcounts", "rdispls");
  UserBuffer buffer(arguments.recvbuf, std::move(type), std::move(list));
  check_address(buffer, "recvbuf");
  check_blocks_apart(buffer);
  return buffer;
}

void check_buffers_apart(const UserBuffer& send, const UserBuffer& recv) {
  if (send.bytes() == 0 || recv.bytes() == 0 || !send.type().contiguous() || !recv.type().contiguous() ||
      send.address() + send.lower() >= recv.address() + recv.upper() ||
      recv.address() + recv.lower() >= send.address() + send.upper()) {
    return;
  }
  // Blocks of the two may lie between each other, as the edges and the halo of one array do.
  const std::vector<Interval> sent = intervals_of(send);
  const std::vector<Interval> received = intervals_of(recv);
  for (std::size_t s = 0, r = 0; s < sent.size() && r < received.size();) {
    if (sent[s].end <= received[r].begin) {
      ++s;
    } else if (received[r].end <= sent[s].begin) {
      ++r;
    } else {
      throw Error(Code::argument, "sendbuf and recvbuf overlap; expected disjoint blocks, or MPI_IN_PLACE on all ranks "
                                  "where the collective has such a form");
    }
  }
}

} // namespace stoker::engine
