// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/arguments.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using algos::Number;
using algos::Pattern;

std::string at(const char* array, std::size_t index) { return std::string(array) + "[" + std::to_string(index) + "]"; }

// The arguments of one buffer, and what messages call them.
struct BufferArguments {
  const void* address = nullptr; // not written where it is sent
  std::size_t blocks = 1;
  bool counted = false;  // each block has a count and a displacement, in extents; else one count is all blocks'
  bool repeated = false; // the same block for every peer; else equal blocks lie one behind the other
  Numbers<MPI_Count> counts;
  Numbers<MPI_Aint> displs{};
  const MPI_Datatype* type = nullptr;
  const char* address_name = "";
  const char* counts_name = "";
  const char* displs_name = "";
  const char* type_name = "";
  bool by_index = false;                   // messages name the block's count
  const std::vector<int>* peers = nullptr; // blocks of MPI_PROC_NULL are empty, whatever their arguments
  MemoryKinds memory = MemoryKinds::any;

  [[nodiscard]] std::string count_name(std::size_t block) const {
    return counted || by_index ? at(counts_name, block) : std::string(counts_name);
  }
  [[nodiscard]] std::string place_name(std::size_t block) const {
    return counted ? at(displs_name, block) : count_name(block);
  }
  // Checks what can be wrong about a block without the others.
  [[nodiscard]] UserBlock checked(std::size_t block, const Datatype& datatype) const {
    const MPI_Count count = counts.at(counted ? block : 0);
    MPI_Aint displacement = 0;
    if (counted) {
      displacement = displs.at(block);
    } else if (!repeated && __builtin_mul_overflow(static_cast<MPI_Aint>(block), count, &displacement)) {
      throw Error(Code::argument, "{} is {}; all blocks together do not fit 64 bits", counts_name, count);
    }
    if (count < 0) {
      throw Error(Code::argument, "{} is {}; expected 0 or more", count_name(block), count);
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(count, static_cast<std::int64_t>(datatype.size()), &bytes) ||
        __builtin_mul_overflow(count, datatype.extent(), &bytes)) {
      throw Error(Code::argument, "{} times the datatype's size or extent does not fit 64 bits", count_name(block));
    }
    if (__builtin_mul_overflow(displacement, datatype.extent(), &bytes)) {
      throw Error(Code::argument, "{} times the datatype's extent does not fit 64 bits", place_name(block));
    }
    return {bytes, count};
  }
};

UserBuffer checked(const BufferArguments& arguments) {
  if (arguments.counted && arguments.blocks > 0 && !(arguments.counts.given() && arguments.displs.given())) {
    throw Error(Code::argument, "{} is null; expected {} entries",
                !arguments.counts.given() ? arguments.counts_name : arguments.displs_name, arguments.blocks);
  }
  Datatype type(*arguments.type, arguments.type_name);
  std::vector<UserBlock> blocks(arguments.blocks);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (arguments.peers == nullptr || (*arguments.peers)[b] != MPI_PROC_NULL) {
      blocks[b] = arguments.checked(b, type);
    }
  }
  UserBuffer buffer(const_cast<void*>(arguments.address), std::move(type), std::move(blocks), arguments.memory);
  if (buffer.address() == nullptr && buffer.bytes() > 0) {
    throw Error(Code::argument, "{} is null; expected room for {} bytes", arguments.address_name, buffer.bytes());
  }
  return buffer;
}

struct Interval {
  const std::byte* begin;
  const std::byte* end;
};

// The intervals that the blocks of a contiguous type cover, in order of place and without overlaps.
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

// Only told for contiguous types, where it is cheap to know.
void check_blocks_apart(const UserBuffer& buffer, Erroneous erroneous) {
  if (erroneous == Erroneous::taken || !buffer.type().contiguous()) {
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
      throw Error(Code::argument, "recvbuf: the blocks at {} and {} overlap; expected disjoint blocks",
                  at("rdispls", order[i - 1]), at("rdispls", order[i]));
    }
  }
}

// Only told for contiguous types: data of others are copied before and after the exchange anyway.
bool share_bytes(const UserBuffer& send, const UserBuffer& recv) {
  if (send.bytes() == 0 || recv.bytes() == 0 || !send.type().contiguous() || !recv.type().contiguous() ||
      send.address() + send.lower() >= recv.address() + recv.upper() ||
      recv.address() + recv.lower() >= send.address() + send.upper()) {
    return false;
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
      return true;
    }
  }
  return false;
}

void refuse_in_place(const void* address, const char* name, const char* expected) {
  if (address == MPI_IN_PLACE) {
    throw Error(Code::argument, "{} is MPI_IN_PLACE; expected {}", name, expected);
  }
}

class Checker {
public:
  Checker(const CollectiveCall& call, int rank, int ranks, const Neighbors* neighbors, Erroneous erroneous)
      : call_(call), traits_(traits_of(call.collective)), neighborhood_(traits_.pattern == Pattern::neighborhood),
        neighbors_(neighbors), ranks_(static_cast<std::size_t>(ranks)), rank_(rank), erroneous_(erroneous) {
    if (traits_.has_root && (call.root < 0 || call.root >= ranks)) {
      throw Error(Code::argument, "root is {}; expected 0 to {}, a rank of comm", call.root, ranks - 1);
    }
  }

  CallBuffers check() {
    const Collective collective = call_.collective;
    if (traits_.pattern != Pattern::distributed_vector) {
      exchange();
    } else if (collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_block) {
      reduce_scatter();
    } else if (traits_.combines) {
      reduce();
    } else if (collective == Collective::barrier) {
      result_.sizes.emplace();
    } else if (collective == Collective::bcast) {
      broadcast();
    } else if (traits_.recv.blocks == Number::each) {
      gather();
    } else {
      scatter();
    }
    expect_what_is_sent();
    result_.overlapping = !result_.in_place && !result_.operation.cells() && // cells lie elsewhere
                          share_bytes(result_.send, result_.recv);
    if (result_.overlapping && erroneous_ == Erroneous::refused) {
      throw Error(Code::argument, "sendbuf and recvbuf overlap; expected disjoint blocks, or MPI_IN_PLACE on all ranks "
                                  "where the collective has such a form");
    }
    return std::move(result_);
  }

private:
  [[nodiscard]] bool at_root() const { return rank_ == call_.root; }

  // Elements one behind the other, as bytes: programs see them as the operation does.
  [[nodiscard]] UserBuffer operand(const void* address, const char* name, MPI_Count count,
                                   const char* count_name) const {
    MPI_Count bytes = 0;
    if (count < 0) {
      throw Error(Code::argument, "{} is {}; expected 0 or more", count_name, count);
    }
    if (__builtin_mul_overflow(count, static_cast<MPI_Count>(result_.operation.element_bytes()), &bytes)) {
      throw Error(Code::argument, "{} times the datatype's size does not fit 64 bits", count_name);
    }
    const MPI_Datatype byte = MPI_BYTE;
    return checked({.address = address,
                    .counts = &bytes,
                    .type = &byte,
                    .address_name = name,
                    .counts_name = count_name,
                    .type_name = "datatype",
                    .memory = call_.memory});
  }

  // A buffer of blocks and its arguments, as the traits describe them.
  [[nodiscard]] BufferArguments blocks_to_send() const {
    return described({.address = call_.sendbuf,
                      .counts = call_.sendcounts,
                      .displs = call_.sdispls,
                      .type = call_.sendtypes,
                      .address_name = "sendbuf",
                      .counts_name = "sendcounts",
                      .displs_name = "sdispls",
                      .type_name = "sendtype",
                      .peers = neighborhood_ ? &neighbors_->targets : nullptr,
                      .memory = call_.memory},
                     traits_.send, "sendcount");
  }
  [[nodiscard]] BufferArguments blocks_to_receive() const {
    return described({.address = call_.recvbuf,
                      .counts = call_.recvcounts,
                      .displs = call_.rdispls,
                      .type = call_.recvtypes,
                      .address_name = "recvbuf",
                      .counts_name = "recvcounts",
                      .displs_name = "rdispls",
                      .type_name = "recvtype",
                      .peers = neighborhood_ ? &neighbors_->sources : nullptr,
                      .memory = call_.memory},
                     traits_.recv, "recvcount");
  }
  [[nodiscard]] BufferArguments described(BufferArguments arguments, const algos::BufferTraits& traits,
                                          const char* count_name) const {
    arguments.counted = traits.counts == Number::each;
    if (traits_.pattern == Pattern::distributed_vector) {
      arguments.blocks = traits.blocks == Number::each ? ranks_ : 1;
      arguments.counts_name = arguments.counted ? arguments.counts_name : count_name;
      arguments.displs_name = "displs";
    } else {
      arguments.blocks = neighborhood_ ? arguments.peers->size() : ranks_;
      arguments.repeated = traits.blocks == Number::one;
      arguments.by_index = true;
    }
    return arguments;
  }

  void exchange() {
    result_.in_place = call_.sendbuf == MPI_IN_PLACE;
    if (neighborhood_ && result_.in_place) {
      throw Error(Code::argument,
                  "sendbuf is MPI_IN_PLACE; expected a buffer: neighborhood collectives have no such form");
    }
    refuse_in_place(call_.recvbuf, "recvbuf", "that in sendbuf only");
    result_.recv = checked(blocks_to_receive());
    check_blocks_apart(result_.recv, erroneous_);
    if (!result_.in_place) {
      result_.send = checked(blocks_to_send());
    }
    if (traits_.sizes == algos::SizesKnownTo::all) {
      result_.sizes = {result_.recv.block_bytes(0)};
      result_.own = (result_.in_place ? result_.recv : result_.send).block_bytes(0);
    }
  }

  void reduce() {
    result_.operation = Operation(call_.op, *call_.recvtypes);
    const bool has_result = call_.collective != Collective::reduce || at_root();
    const MPI_Count count = call_.recvcounts.at(0);
    result_.in_place = has_result && call_.sendbuf == MPI_IN_PLACE;
    const bool stays_as_it_is = call_.collective == Collective::exscan && rank_ == 0 && !result_.in_place;
    if (has_result) {
      refuse_in_place(call_.recvbuf, "recvbuf", "that in sendbuf only");
    }
    if (has_result && !stays_as_it_is) {
      result_.recv = operand(call_.recvbuf, "recvbuf", count, "count");
    }
    if (!result_.in_place) {
      refuse_in_place(call_.sendbuf, "sendbuf", "a buffer: only the root may have that");
      result_.send = operand(call_.sendbuf, "sendbuf", count, "count");
    }
    result_.sizes = (result_.in_place ? result_.recv : result_.send).block_sizes();
  }

  void reduce_scatter() {
    result_.operation = Operation(call_.op, *call_.recvtypes);
    const bool by_rank = call_.collective == Collective::reduce_scatter;
    const char* name = by_rank ? "recvcounts" : "recvcount";
    if (!call_.recvcounts.given()) {
      throw Error(Code::argument, "{} is null; expected {} entries", name, ranks_);
    }
    MPI_Count total = 0;
    result_.sizes.emplace();
    for (std::size_t r = 0; r < ranks_; ++r) {
      const MPI_Count count = call_.recvcounts.at(by_rank ? r : 0);
      if (count < 0) {
        throw Error(Code::argument, "{}{} is {}; expected 0 or more", name,
                    by_rank ? "[" + std::to_string(r) + "]" : std::string(), count);
      }
      if (__builtin_add_overflow(total, count, &total)) {
        throw Error(Code::argument, "{}: all blocks together do not fit 64 bits", name);
      }
      if (by_rank || r == 0) {
        result_.sizes->push_back(static_cast<std::uint64_t>(count) * result_.operation.element_bytes());
      }
    }
    result_.in_place = call_.sendbuf == MPI_IN_PLACE;
    if (!result_.in_place) {
      result_.send = operand(call_.sendbuf, "sendbuf", total, name);
    }
    refuse_in_place(call_.recvbuf, "recvbuf", "that in sendbuf only");
    const MPI_Count own = call_.recvcounts.at(by_rank ? static_cast<std::size_t>(rank_) : 0);
    result_.recv = operand(call_.recvbuf, "recvbuf", result_.in_place ? total : own, name);
  }

  void broadcast() {
    refuse_in_place(call_.recvbuf, "buffer", "a buffer: bcast has no such form");
    UserBuffer buffer = checked({.address = call_.recvbuf,
                                 .counts = call_.recvcounts,
                                 .type = call_.recvtypes,
                                 .address_name = "buffer",
                                 .counts_name = "count",
                                 .type_name = "datatype",
                                 .memory = call_.memory});
    result_.sizes = buffer.block_sizes();
    (at_root() ? result_.send : result_.recv) = std::move(buffer);
  }

  // The blocks of all ranks.
  [[nodiscard]] UserBuffer all_blocks(const BufferArguments& arguments) {
    UserBuffer buffer = checked(arguments);
    result_.sizes = buffer.block_sizes();
    if (!arguments.counted) {
      result_.sizes->resize(1);
    }
    return buffer;
  }

  // In a collective of equal blocks, each of them at this rank: MPI libraries receive what is sent, if that is less than
  // what is expected.
  void expect_what_is_sent() {
    if (erroneous_ == Erroneous::refused || !result_.sizes || result_.sizes->size() != 1 || !result_.own) {
      return;
    }
    const bool scatters = call_.collective == algos::Collective::scatter;
    const std::uint64_t sent = scatters ? result_.sizes->front() : *result_.own;
    const std::uint64_t expected = scatters ? *result_.own : result_.sizes->front();
    const std::uint64_t element = result_.recv.type().size();
    if (sent >= expected || sent % element != 0) {
      return;
    }
    std::vector<UserBlock> blocks = result_.recv.blocks();
    for (UserBlock& block : blocks) {
      block.count = static_cast<MPI_Count>(sent / element);
    }
    std::byte* const address = result_.recv.address();
    result_.recv = UserBuffer(address, result_.recv.take_type(), std::move(blocks), call_.memory);
    result_.sizes->front() = sent;
    result_.own = sent;
  }

  void gather() {
    const bool receives = !traits_.has_root || at_root();
    result_.in_place = receives && call_.sendbuf == MPI_IN_PLACE;
    if (receives) {
      refuse_in_place(call_.recvbuf, "recvbuf", "that in sendbuf only");
      result_.recv = all_blocks(blocks_to_receive());
      check_blocks_apart(result_.recv, erroneous_);
    }
    if (!result_.in_place) {
      refuse_in_place(call_.sendbuf, "sendbuf", "a buffer: only the root may have that");
      result_.send = checked(blocks_to_send());
      result_.own = result_.send.bytes();
    }
  }

  void scatter() {
    result_.in_place = at_root() && call_.recvbuf == MPI_IN_PLACE;
    if (at_root()) {
      refuse_in_place(call_.sendbuf, "sendbuf", "that in recvbuf of the root only");
      result_.send = all_blocks(blocks_to_send());
    }
    if (!result_.in_place) {
      refuse_in_place(call_.recvbuf, "recvbuf", "a buffer: only the root may have that");
      result_.recv = checked(blocks_to_receive());
      result_.own = result_.recv.bytes();
    }
  }

  const CollectiveCall& call_;
  const algos::CollectiveTraits& traits_;
  bool neighborhood_;
  const Neighbors* neighbors_;
  std::size_t ranks_;
  int rank_;
  Erroneous erroneous_;
  CallBuffers result_;
};

} // namespace

CallBuffers checked_buffers(const CollectiveCall& call, int rank, int ranks, const Neighbors* neighbors,
                            Erroneous erroneous) {
  return Checker(call, rank, ranks, neighbors, erroneous).check();
}

// A block that all ranks know to be longer than this rank's own is taken: its end is what no rank has set.
std::vector<std::uint64_t> sizes_of(const CallBuffers& buffers, int rank, Erroneous erroneous) {
  if (!buffers.sizes) {
    return {*buffers.own};
  }
  const std::vector<std::uint64_t>& sizes = *buffers.sizes;
  if (!buffers.own) { // a barrier has no sizes at all
    return sizes;
  }
  if (const std::uint64_t expected = sizes[sizes.size() == 1 ? 0 : static_cast<std::size_t>(rank)];
      *buffers.own != expected && (erroneous == Erroneous::refused || sizes.size() == 1 || *buffers.own > expected)) {
    throw Error(Code::mismatch,
                "this rank's block has {} bytes, but {} for all ranks; expected equal sizes at both ends", *buffers.own,
                expected);
  }
  return sizes;
}

} // namespace stoker::engine
