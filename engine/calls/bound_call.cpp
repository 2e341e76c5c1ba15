// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/bound_call.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/base/type_size.hpp"
#include "engine/data/bound_data.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Collective;

// One side of an exchange block by block: a block for, or from, each of its peers.
class Side {
public:
  Side(const void* buffer, const Numbers<MPI_Count>& counts, const Numbers<MPI_Aint>& displs, const MPI_Datatype* types,
       const algos::BufferTraits& traits, bool own_types)
      : buffer_(static_cast<const std::byte*>(buffer)), counts_(counts), displs_(displs), types_(types),
        traits_(traits), own_types_(own_types) {}

  // Empty blocks are left out, as they are at the other end.
  void add(int peer, std::size_t block) {
    const bool counted = traits_.counts == algos::Number::each;
    const MPI_Datatype type = types_[own_types_ ? block : 0];
    const MPI_Count count = peer == MPI_PROC_NULL ? 0 : counts_.at(counted ? block : 0);
    if (count == 0) {
      return;
    }
    MPI_Count size = 0;
    MPI_Count lower = 0;
    MPI_Count extent = 1; // displacements are bytes where blocks have types of their own
    check_mpi(get_size(type, &size), "MPI_Type_size");
    if (!own_types_) {
      check_mpi(get_extent(type, &lower, &extent), "MPI_Type_get_extent");
    }
    if (size == 0) {
      return;
    }
    const MPI_Count place = counted                                 ? MPI_Count{displs_.at(block)}
                            : traits_.blocks == algos::Number::each ? static_cast<MPI_Count>(block) * count
                                                                    : 0;
    blocks_.push_back({peer, const_cast<std::byte*>(buffer_ + place * extent), count, type});
  }
  [[nodiscard]] const std::vector<PeerBlock>& blocks() const { return blocks_; }

private:
  const std::byte* buffer_;
  const Numbers<MPI_Count>& counts_;
  const Numbers<MPI_Aint>& displs_;
  const MPI_Datatype* types_;
  const algos::BufferTraits& traits_;
  bool own_types_;
  std::vector<PeerBlock> blocks_;
};

// Adds this rank's blocks in the order in which they go out and come in.
void add_blocks(const Neighbors& neighbors, Collective collective, Side& send, Side& recv) {
  for (std::size_t i = 0; i < neighbors.targets.size(); ++i) {
    send.add(neighbors.targets[i], i);
  }
  for (std::size_t k = 0; k < neighbors.sources.size(); ++k) {
    const std::size_t i = neighbors.arriving(k, collective);
    recv.add(neighbors.sources[i], i);
  }
}
void add_blocks(const CollectiveCall& call, const CommContext& context, Side& send, Side& recv) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const int ranks = context.ranks();
  const int rank = context.rank();
  const auto takes_part = [&](const algos::BufferTraits& side, const algos::BufferTraits& other, int peer) {
    return !(call.in_place() && peer == rank) && (!side.root_only || rank == call.root) &&
           (!other.root_only || peer == call.root);
  };
  for (int i = 0; i < ranks; ++i) { // the next rank first, so that not all ranks begin with the same one
    const int to = (rank + 1 + i) % ranks;
    const int from = (rank - 1 - i + 2 * ranks) % ranks;
    if (takes_part(traits.send, traits.recv, to)) {
      send.add(to, static_cast<std::size_t>(to));
    }
    if (takes_part(traits.recv, traits.send, from)) {
      recv.add(from, static_cast<std::size_t>(from));
    }
  }
}

} // namespace

// The send and recv buffers as programs take them: those of rooted collectives differ at a root that is in place.
EpochBuffers bound_buffers(const CollectiveCall& call, CallBuffers buffers, int rank) {
  const Collective collective = call.collective;
  EpochBuffers bound;
  bound.copies_send = buffers.overlapping;
  const bool in_place_at_root = buffers.in_place && algos::has_root(collective);
  if (in_place_at_root && collective == Collective::reduce) {
    bound.send = BoundData(
        UserBuffer(buffers.recv.address(), Datatype(MPI_BYTE, "datatype"), buffers.recv.blocks(), call.memory));
    bound.copies_send = true;
  } else if (in_place_at_root && collective == Collective::gather) {
    bound.send = BoundData(UserBuffer(buffers.recv.address(), Datatype(*call.recvtypes, "recvtype"),
                                      {buffers.recv.blocks()[static_cast<std::size_t>(rank)]}, call.memory));
    bound.copies_send = true;
  } else {
    bound.send = BoundData(std::move(buffers.send));
  }
  bound.recv = BoundData(std::move(buffers.recv));
  bound.in_place = buffers.in_place && !in_place_at_root;
  return bound;
}

EpochBuffers bound_blocks(const CollectiveCall& call, const CommContext& context, const Neighbors* neighbors) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  Side send(call.sendbuf, call.sendcounts, call.sdispls, call.sendtypes, traits.send, traits.own_types);
  Side recv(call.recvbuf, call.recvcounts, call.rdispls, call.recvtypes, traits.recv, traits.own_types);
  neighbors != nullptr ? add_blocks(*neighbors, call.collective, send, recv) : add_blocks(call, context, send, recv);
  const auto ranks = static_cast<std::size_t>(context.ranks());
  EpochBuffers bound;
  bound.send = BoundData(send.blocks(), ranks, call.memory);
  bound.recv = BoundData(recv.blocks(), ranks, call.memory);
  const auto own = static_cast<std::size_t>(context.rank());
  if (bound.send.part_bytes(own) > bound.recv.part_bytes(own)) {
    throw Error(Code::mismatch, "this rank sends itself {} bytes, and receives {}; expected as many",
                bound.send.part_bytes(own), bound.recv.part_bytes(own));
  }
  return bound;
}

} // namespace stoker::engine
