// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/arguments.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

std::string at(const char* array, std::size_t index) { return std::string(array) + "[" + std::to_string(index) + "]"; }

// Checks what of a block can be wrong without the others.
UserBlock checked_block(MPI_Count count, MPI_Aint displacement, const Datatype& type, const std::string& count_name,
                        const std::string& displacement_name) {
  if (count < 0) {
    throw Error(Code::argument, count_name + " is " + std::to_string(count) + "; expected 0 or more");
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(type.size()), &bytes) ||
      __builtin_mul_overflow(count, type.extent(), &bytes)) {
    throw Error(Code::argument, count_name + " times the datatype's size or extent does not fit 64 bits");
  }
  if (__builtin_mul_overflow(displacement, type.extent(), &bytes)) {
    throw Error(Code::argument, displacement_name + " times the datatype's extent does not fit 64 bits");
  }
  return {bytes, count};
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

UserBuffer checked_blocks(const BufferArguments& arguments) {
  if (arguments.blocks > 0 && (arguments.counts == nullptr || arguments.displs == nullptr)) {
    throw Error(Code::argument,
                std::string(arguments.counts == nullptr ? arguments.counts_name : arguments.displs_name) +
                    " is null; expected " + std::to_string(arguments.blocks) + " entries");
  }
  Datatype type(arguments.type, arguments.type_name);
  std::vector<UserBlock> blocks(arguments.blocks);
  for (std::size_t r = 0; r < blocks.size(); ++r) {
    blocks[r] = checked_block(arguments.counts[r], arguments.displs[r], type, at(arguments.counts_name, r),
                              at(arguments.displs_name, r));
  }
  UserBuffer buffer(const_cast<void*>(arguments.address), std::move(type), std::move(blocks)); // of sendbuf: only read
  check_address(buffer, arguments.address_name);
  return buffer;
}

UserBuffer checked_equal_blocks(const BufferArguments& arguments) {
  Datatype type(arguments.type, arguments.type_name);
  const MPI_Count count = *arguments.counts;
  std::vector<UserBlock> blocks(arguments.blocks);
  for (std::size_t r = 0; r < blocks.size(); ++r) {
    MPI_Aint displacement = 0;
    if (__builtin_mul_overflow(static_cast<MPI_Aint>(r), count, &displacement)) {
      throw Error(Code::argument, std::string(arguments.counts_name) + " is " + std::to_string(count) +
                                      "; all blocks together do not fit 64 bits");
    }
    blocks[r] = checked_block(count, displacement, type, arguments.counts_name, arguments.counts_name);
  }
  UserBuffer buffer(const_cast<void*>(arguments.address), std::move(type), std::move(blocks)); // likewise
  check_address(buffer, arguments.address_name);
  return buffer;
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

UserBuffer checked_send_buffer(const ExchangeArguments& arguments, std::size_t blocks) {
  return checked_blocks({arguments.sendbuf, blocks, arguments.sendcounts, arguments.sdispls, arguments.sendtype,
                         "sendbuf", "sendcounts", "sdispls", "sendtype"});
}

UserBuffer checked_recv_buffer(const ExchangeArguments& arguments, std::size_t blocks) {
  if (arguments.recvbuf == MPI_IN_PLACE) {
    throw Error(Code::argument, "recvbuf is MPI_IN_PLACE; expected that in sendbuf only");
  }
  UserBuffer buffer = checked_blocks({arguments.recvbuf, blocks, arguments.recvcounts, arguments.rdispls,
                                      arguments.recvtype, "recvbuf", "recvcounts", "rdispls", "recvtype"});
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
