// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/vector_arguments.hpp"

#include "engine/base/error.hpp"
#include "engine/data/arguments.hpp"

#include <numeric>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;

std::vector<std::uint64_t> block_sizes(const UserBuffer& buffer) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t b = 0; b < buffer.blocks().size(); ++b) {
    sizes.push_back(buffer.block_bytes(b));
  }
  return sizes;
}

void refuse_in_place(const void* address, const char* name, const char* expected) {
  if (address == MPI_IN_PLACE) {
    throw Error(Code::argument, std::string(name) + " is MPI_IN_PLACE; expected " + expected);
  }
}

class Checker {
public:
  Checker(Collective collective, const VectorArguments& arguments, int rank, int ranks)
      : collective_(collective), arguments_(arguments), ranks_(static_cast<std::size_t>(ranks)), rank_(rank) {
    if (algos::has_root(collective) && (arguments.root < 0 || arguments.root >= ranks)) {
      throw Error(Code::argument, "root is " + std::to_string(arguments.root) + "; expected 0 to " +
                                      std::to_string(ranks - 1) + ", a rank of comm");
    }
  }

  VectorBuffers check() {
    switch (collective_) {
    case Collective::bcast:
      broadcast();
      break;
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv:
      gather();
      break;
    case Collective::scatter:
    case Collective::scatterv:
      scatter();
      break;
    case Collective::barrier:
      result_.sizes.emplace();
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      reduce_scatter();
      break;
    default:
      reduce();
      break;
    }
    if (!result_.in_place && !result_.operation.slots()) { // slots lie elsewhere
      check_buffers_apart(result_.send, result_.recv);
    }
    return std::move(result_);
  }

private:
  [[nodiscard]] bool at_root() const { return rank_ == arguments_.root; }

  // Elements one behind the other, as bytes: programs see them as the operation does.
  [[nodiscard]] UserBuffer operand(const void* address, const char* name, MPI_Count count,
                                   const char* count_name) const {
    MPI_Count bytes = 0;
    if (count < 0) {
      throw Error(Code::argument, std::string(count_name) + " is " + std::to_string(count) + "; expected 0 or more");
    }
    if (__builtin_mul_overflow(count, static_cast<MPI_Count>(result_.operation.element_bytes()), &bytes)) {
      throw Error(Code::argument, std::string(count_name) + " times the datatype's size does not fit 64 bits");
    }
    return checked_equal_blocks({address, 1, &bytes, nullptr, MPI_BYTE, name, count_name, "", "datatype"});
  }

  void reduce() {
    result_.operation = Operation(arguments_.op, arguments_.recvtype);
    const bool receives = collective_ != Collective::reduce || at_root();
    const MPI_Count count = *arguments_.recvcounts;
    result_.in_place = receives && arguments_.sendbuf == MPI_IN_PLACE;
    if (receives) {
      refuse_in_place(arguments_.recvbuf, "recvbuf", "that in sendbuf only");
      result_.recv = operand(arguments_.recvbuf, "recvbuf", count, "count");
    }
    if (!result_.in_place) {
      refuse_in_place(arguments_.sendbuf, "sendbuf", "a buffer: only the root may have that");
      result_.send = operand(arguments_.sendbuf, "sendbuf", count, "count");
    }
    result_.sizes = block_sizes(result_.in_place ? result_.recv : result_.send);
    if (collective_ == Collective::exscan && rank_ == 0 && !result_.in_place) {
      result_.recv = {}; // stays as it is
    }
  }

  void reduce_scatter() {
    result_.operation = Operation(arguments_.op, arguments_.recvtype);
    const bool by_rank = collective_ == Collective::reduce_scatter;
    const char* name = by_rank ? "recvcounts" : "recvcount";
    if (arguments_.recvcounts == nullptr) {
      throw Error(Code::argument, std::string(name) + " is null; expected " + std::to_string(ranks_) + " entries");
    }
    MPI_Count total = 0;
    result_.sizes.emplace();
    for (std::size_t r = 0; r < ranks_; ++r) {
      const MPI_Count count = arguments_.recvcounts[by_rank ? r : 0];
      if (count < 0) {
        throw Error(Code::argument, name + (by_rank ? "[" + std::to_string(r) + "]" : std::string()) + " is " +
                                        std::to_string(count) + "; expected 0 or more");
      }
      if (__builtin_add_overflow(total, count, &total)) {
        throw Error(Code::argument, std::string(name) + ": all blocks together do not fit 64 bits");
      }
      if (by_rank || r == 0) {
        result_.sizes->push_back(static_cast<std::uint64_t>(count) * result_.operation.element_bytes());
      }
    }
    result_.in_place = arguments_.sendbuf == MPI_IN_PLACE;
    if (!result_.in_place) {
      result_.send = operand(arguments_.sendbuf, "sendbuf", total, name);
    }
    refuse_in_place(arguments_.recvbuf, "recvbuf", "that in sendbuf only");
    const MPI_Count own = arguments_.recvcounts[by_rank ? static_cast<std::size_t>(rank_) : 0];
    result_.recv = operand(arguments_.recvbuf, "recvbuf", result_.in_place ? total : own, name);
  }

  void broadcast() {
    refuse_in_place(arguments_.recvbuf, "buffer", "a buffer: bcast has no such form");
    UserBuffer buffer = checked_equal_blocks({arguments_.recvbuf, 1, arguments_.recvcounts, nullptr,
                                              arguments_.recvtype, "buffer", "count", "", "datatype"});
    result_.sizes = block_sizes(buffer);
    (at_root() ? result_.send : result_.recv) = std::move(buffer);
  }

  // Of all ranks.
  [[nodiscard]] UserBuffer all_blocks(const BufferArguments& arguments, bool by_rank) {
    UserBuffer buffer = by_rank ? checked_blocks(arguments) : checked_equal_blocks(arguments);
    result_.sizes = block_sizes(buffer);
    if (!by_rank) {
      result_.sizes->resize(1);
    }
    return buffer;
  }

  void gather() {
    const bool by_rank = collective_ == Collective::gatherv || collective_ == Collective::allgatherv;
    const bool receives = !algos::has_root(collective_) || at_root();
    result_.in_place = receives && arguments_.sendbuf == MPI_IN_PLACE;
    if (receives) {
      refuse_in_place(arguments_.recvbuf, "recvbuf", "that in sendbuf only");
      result_.recv =
          all_blocks({arguments_.recvbuf, ranks_, arguments_.recvcounts, arguments_.rdispls, arguments_.recvtype,
                      "recvbuf", by_rank ? "recvcounts" : "recvcount", by_rank ? "displs" : "", "recvtype"},
                     by_rank);
      check_blocks_apart(result_.recv);
    }
    if (!result_.in_place) {
      refuse_in_place(arguments_.sendbuf, "sendbuf", "a buffer: only the root may have that");
      result_.send = checked_equal_blocks({arguments_.sendbuf, 1, arguments_.sendcounts, nullptr, arguments_.sendtype,
                                           "sendbuf", "sendcount", "", "sendtype"});
      result_.own = result_.send.bytes();
    }
  }

  void scatter() {
    const bool by_rank = collective_ == Collective::scatterv;
    result_.in_place = at_root() && arguments_.recvbuf == MPI_IN_PLACE;
    if (at_root()) {
      refuse_in_place(arguments_.sendbuf, "sendbuf", "that in recvbuf of the root only");
      result_.send =
          all_blocks({arguments_.sendbuf, ranks_, arguments_.sendcounts, arguments_.sdispls, arguments_.sendtype,
                      "sendbuf", by_rank ? "sendcounts" : "sendcount", by_rank ? "displs" : "", "sendtype"},
                     by_rank);
    }
    if (!result_.in_place) {
      refuse_in_place(arguments_.recvbuf, "recvbuf", "a buffer: only the root may have that");
      result_.recv = checked_equal_blocks({arguments_.recvbuf, 1, arguments_.recvcounts, nullptr, arguments_.recvtype,
                                           "recvbuf", "recvcount", "", "recvtype"});
      result_.own = result_.recv.bytes();
    }
  }

  Collective collective_;
  const VectorArguments& arguments_;
  std::size_t ranks_;
  int rank_;
  VectorBuffers result_;
};

} // namespace

VectorBuffers checked_buffers(Collective collective, const VectorArguments& arguments, int rank, int ranks) {
  return Checker(collective, arguments, rank, ranks).check();
}

std::vector<std::uint64_t> sizes_of(const VectorBuffers& buffers) {
  if (buffers.sizes && buffers.own && buffers.sizes->size() == 1 && buffers.sizes->front() != *buffers.own) {
    throw Error(Code::mismatch, "this rank's block has " + std::to_string(*buffers.own) + " bytes, and each of all " +
                                    std::to_string(buffers.sizes->front()) + "; expected equal sizes at both ends");
  }
  return buffers.sizes ? *buffers.sizes : std::vector{*buffers.own};
}

bool one_vector(Collective collective) {
  return collective == Collective::bcast ||
         (algos::combines(collective) && collective != Collective::reduce_scatter_block);
}

} // namespace stoker::engine
