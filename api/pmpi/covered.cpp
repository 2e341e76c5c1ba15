// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/covered.hpp"

#include "api/pmpi/operators.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/statistics.hpp"
#include "engine/base/agreement.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace stoker::pmpi {
namespace {

using algos::Collective;
using engine::PeerBlock;

MPI_Count size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  engine::check_mpi(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
  return size;
}

MPI_Count extent_of(MPI_Datatype type) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  engine::check_mpi(MPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
  return extent;
}

// Of all blocks, where every rank knows that; the same on all ranks.
std::optional<std::uint64_t> known_bytes(const CollectiveCall& call, const Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const bool at_root = communicator.rank() == call.root;
  const auto bytes = [](const Numbers<MPI_Count>& counts, const MPI_Datatype* type, std::size_t blocks,
                        std::size_t copies) {
    MPI_Count sum = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      sum += counts[b];
    }
    return static_cast<std::uint64_t>(sum * size_of(*type)) * copies;
  };
  switch (call.family) {
  case Family::allreduce:
  case Family::bcast:
  case Family::exscan:
  case Family::reduce:
  case Family::scan:
    return bytes(call.recvcounts, call.recvtypes, 1, 1);
  case Family::reduce_scatter:
  case Family::allgatherv:
    return bytes(call.recvcounts, call.recvtypes, ranks, 1);
  case Family::reduce_scatter_block:
  case Family::allgather:
  case Family::alltoall:
    return bytes(call.recvcounts, call.recvtypes, 1, ranks);
  case Family::gather:
    return at_root ? bytes(call.recvcounts, call.recvtypes, 1, ranks)
                   : bytes(call.sendcounts, call.sendtypes, 1, ranks);
  case Family::scatter:
    return at_root ? bytes(call.sendcounts, call.sendtypes, 1, ranks)
                   : bytes(call.recvcounts, call.recvtypes, 1, ranks);
  case Family::barrier:
    return 0;
  default:
    return std::nullopt;
  }
}

// What MPI refuses without a word to other ranks. Its errors are those that the application expects.
bool is_mistake(const CollectiveCall& call, const Communicator& communicator) {
  const bool gathers = call.family == Family::gather || call.family == Family::gatherv;
  const bool scatters = call.family == Family::scatter || call.family == Family::scatterv;
  const bool has_root = gathers || scatters || call.family == Family::bcast || call.family == Family::reduce;
  if ((has_root && (call.root < 0 || call.root >= communicator.size())) ||
      (combines(call.family) && call.op == MPI_OP_NULL)) {
    return true;
  }
  const bool at_root = communicator.rank() == call.root;
  const CountsOf counts =
      counts_of(call.family, {.ranks = static_cast<std::size_t>(communicator.size()), .at_root = at_root});
  const auto is_wrong = [](const Numbers<MPI_Count>& numbers, std::size_t count, const MPI_Datatype* type) {
    for (std::size_t i = 0; numbers.given() && i < count; ++i) {
      if (numbers[i] < 0) {
        return true;
      }
    }
    return type != nullptr && *type == MPI_DATATYPE_NULL;
  };
  const bool sends = call.sendbuf != MPI_IN_PLACE && (!scatters || at_root);
  const bool receives = call.recvbuf != MPI_IN_PLACE && (!gathers || at_root);
  const bool each_its_type = call.family == Family::alltoallw || call.family == Family::neighbor_alltoallw;
  return !each_its_type && ((sends && is_wrong(call.sendcounts, counts.send, call.sendtypes)) ||
                            (receives && is_wrong(call.recvcounts, counts.recv, call.recvtypes)));
}

std::optional<Reason> reason_against(Form form, const CollectiveCall& call, const Communicator& communicator) {
  if (communicator.calls() == nullptr) {
    return communicator.reason();
  }
  if (form == Form::nonblocking && !communicator.calls()->starts_locally()) {
    return Reason::thread_level;
  }
  if (is_mistake(call, communicator)) {
    return Reason::unsupported;
  }
  if (communicator.off()) {
    return Reason::off_by_info;
  }
  if (combines(call.family) && !is_predefined(call.op)) {
    return Reason::operation;
  }
  if (call.sendbuf == MPI_IN_PLACE && (call.family == Family::alltoallv || call.family == Family::alltoallw)) {
    return Reason::in_place;
  }
  const auto bytes = known_bytes(call, communicator);
  if (bytes && *bytes < settings().pmpi_least_bytes) {
    return Reason::too_small;
  }
  return std::nullopt;
}

std::optional<Collective> collective_of(Family family) {
  switch (family) {
  case Family::gatherv: // whose sizes not all ranks know
  case Family::scatterv:
  case Family::alltoallv:
    return std::nullopt;
  default:
    return is_neighborhood(family) ? std::nullopt : algos::find_collective(name_of(family));
  }
}

// As wide as the engine takes them: the application's own array where it is. Null stays null.
template <class Wide>
const Wide* widened(const Numbers<Wide>& numbers, std::size_t count, std::vector<Wide>& storage) {
  if (numbers.narrow != nullptr) {
    storage.assign(numbers.narrow, numbers.narrow + count);
    return storage.data();
  }
  return numbers.wide;
}

// Blocks for, or from, other ranks.
class Blocks {
public:
  // Zero-sized ones are left out, as they are at the other end.
  void add(int peer, const void* buffer, MPI_Count offset, MPI_Count count, MPI_Datatype type) {
    if (peer != MPI_PROC_NULL && count != 0 && size_of(type) != 0) {
      blocks_.push_back({peer, const_cast<std::byte*>(static_cast<const std::byte*>(buffer) + offset), count, type});
    }
  }
  [[nodiscard]] std::vector<PeerBlock> take() { return std::move(blocks_); }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const PeerBlock& block : blocks_) {
      sum += static_cast<std::uint64_t>(block.count) * static_cast<std::uint64_t>(size_of(block.type));
    }
    return sum;
  }

private:
  std::vector<PeerBlock> blocks_;
};

// One side of an exchange: the i-th block of a buffer.
struct Side {
  const void* buffer;
  const Numbers<MPI_Count>& counts;
  const Numbers<MPI_Aint>& displs;
  const MPI_Datatype* types;
  bool each_its_count; // and displacement, if given
  bool each_its_type;  // and displacements are bytes
  bool one_for_all;    // the same block for everybody

  void add(Blocks& blocks, int peer, std::size_t i) const {
    const MPI_Datatype type = types[each_its_type ? i : 0];
    const MPI_Count count = counts[each_its_count ? i : 0];
    MPI_Count offset = 0;
    if (each_its_type) {
      offset = displs[i];
    } else if (!one_for_all) {
      const MPI_Count elements = displs.given() ? MPI_Count{displs[i]} : static_cast<MPI_Count>(i) * count;
      offset = elements * extent_of(type);
    }
    blocks.add(peer, buffer, offset, count, type);
  }
};

} // namespace

Communicator* covering(Form form, const CollectiveCall& call) {
  if (depth > 0) {
    count_fallback(form, call.family, Reason::nested);
    return nullptr;
  }
  Communicator* const communicator = communicator_of(call.comm);
  if (communicator == nullptr) {
    count_fallback(form, call.family, Reason::unwatched);
    return nullptr;
  }
  if (const auto reason = reason_against(form, call, *communicator)) {
    count_fallback(form, call.family, *reason);
    return nullptr;
  }
  return communicator;
}

CallArguments::CallArguments(const CollectiveCall& call, Communicator& communicator)
    : call_(call), communicator_(communicator) {
  const bool sends_many = call.family == Family::alltoallv || call.family == Family::alltoallw ||
                          call.family == Family::scatterv || call.family == Family::neighbor_alltoallv ||
                          call.family == Family::neighbor_alltoallw;
  const bool receives_many = call.family == Family::allgatherv || call.family == Family::alltoallv ||
                             call.family == Family::alltoallw || call.family == Family::gatherv ||
                             call.family == Family::reduce_scatter || call.family == Family::neighbor_allgatherv ||
                             call.family == Family::neighbor_alltoallv || call.family == Family::neighbor_alltoallw;
  const auto keep_count = [&](Numbers<MPI_Count>& counts, std::size_t which) {
    if (counts.narrow != nullptr) {
      narrow_counts_[which] = *counts.narrow;
      counts.narrow = &narrow_counts_[which];
    } else if (counts.wide != nullptr) {
      wide_counts_[which] = *counts.wide;
      counts.wide = &wide_counts_[which];
    }
  };
  if (!sends_many) {
    keep_count(call_.sendcounts, 0);
  }
  if (!receives_many) {
    keep_count(call_.recvcounts, 1);
  }
  const auto keep_type = [&](const MPI_Datatype*& type, std::size_t which) {
    if (type != nullptr) {
      types_[which] = *type;
      type = &types_[which];
    }
  };
  if (call.family != Family::alltoallw && call.family != Family::neighbor_alltoallw) {
    keep_type(call_.sendtypes, 0);
    keep_type(call_.recvtypes, 1);
  }
  keep_types();
}

void CallArguments::keep_types() {
  const Significant read = significant(call_);
  const auto keep = [](std::optional<KeptTypes>& kept, const MPI_Datatype* types, std::size_t count) {
    if (!std::all_of(types, types + count, needs_no_keeping)) {
      kept.emplace(types, count, true);
    }
  };
  if (read.send && call_.sendtypes != nullptr) {
    keep(kept_sendtypes_, call_.sendtypes, types_of(call_.family, read.counts.send));
  }
  if (read.recv && call_.recvtypes != nullptr) {
    keep(kept_recvtypes_, call_.recvtypes, types_of(call_.family, read.counts.recv));
  }
}

void CallArguments::record(Form form, const engine::NonblockingCall& finished) const {
  const auto report = finished.report();
  pmpi::record({.site = call_.site,
                .communicator = communicator_.id(),
                .family = call_.family,
                .form = form,
                .bytes = bytes_,
                .by_mpi = report.by_mpi,
                .exchange_seconds = report.exchange_seconds,
                .exposed_seconds = report.exposed_seconds,
                .algorithm = report.algorithm});
}

std::unique_ptr<engine::NonblockingCall> CallArguments::start(engine::Executor executor) {
  return collective_of(call_.family) ? start_vector(executor) : start_exchange(executor);
}

engine::MpiStart CallArguments::mpi_start() {
  return [this](MPI_Comm comm, MPI_Request* request) {
    CollectiveCall call = call_;
    if (kept_sendtypes_) {
      call.sendtypes = kept_sendtypes_->data();
    }
    if (kept_recvtypes_) {
      call.recvtypes = kept_recvtypes_->data();
    }
    return start_mpi(call, comm, request, narrow_arrays_);
  };
}

std::unique_ptr<engine::NonblockingCall> CallArguments::start_vector(engine::Executor executor) {
  const CountsOf counts = counts_of(call_.family, {.ranks = static_cast<std::size_t>(communicator_.size()),
                                                   .targets = 0,
                                                   .sources = 0,
                                                   .at_root = communicator_.rank() == call_.root});
  bytes_ = *known_bytes(call_, communicator_);
  const bool at_root = communicator_.rank() == call_.root;
  send_.emplace(call_.sendbuf, call_.sendtypes, call_.family != Family::scatter || at_root);
  recv_.emplace(call_.recvbuf, call_.recvtypes, call_.family != Family::gather || at_root);
  return communicator_.calls()->start(*collective_of(call_.family),
                                      {.sendbuf = send_->address(),
                                       .sendcounts = widened(call_.sendcounts, counts.send, wide_sendcounts_),
                                       .sdispls = widened(call_.sdispls, counts.send, wide_sdispls_),
                                       .sendtype = send_->type(),
                                       .recvbuf = recv_->address(),
                                       .recvcounts = widened(call_.recvcounts, counts.recv, wide_recvcounts_),
                                       .rdispls = widened(call_.rdispls, counts.recv, wide_rdispls_),
                                       .recvtype = recv_->type(),
                                       .op = call_.op,
                                       .root = call_.root,
                                       .comm = communicator_.handle(),
                                       .info = communicator_.info().get()},
                                      executor, mpi_start());
}

std::unique_ptr<engine::NonblockingCall> CallArguments::start_exchange(engine::Executor executor) {
  const Family family = call_.family;
  const bool by_type = family == Family::alltoallw || family == Family::neighbor_alltoallw;
  const Side send{.buffer = call_.sendbuf,
                  .counts = call_.sendcounts,
                  .displs = call_.sdispls,
                  .types = call_.sendtypes,
                  .each_its_count = family != Family::gatherv && family != Family::neighbor_allgather &&
                                    family != Family::neighbor_allgatherv && family != Family::neighbor_alltoall,
                  .each_its_type = by_type,
                  .one_for_all = family == Family::gatherv || family == Family::neighbor_allgather ||
                                 family == Family::neighbor_allgatherv};
  const Side recv{.buffer = call_.recvbuf,
                  .counts = call_.recvcounts,
                  .displs = call_.rdispls,
                  .types = call_.recvtypes,
                  .each_its_count = family != Family::scatterv && family != Family::neighbor_allgather &&
                                    family != Family::neighbor_alltoall,
                  .each_its_type = by_type,
                  .one_for_all = family == Family::scatterv};
  Blocks sends;
  Blocks recvs;
  const int ranks = communicator_.size();
  const int rank = communicator_.rank();
  if (is_neighborhood(family)) {
    const engine::Neighbors& neighbors = communicator_.neighbors();
    for (std::size_t i = 0; i < neighbors.targets.size(); ++i) {
      send.add(sends, neighbors.targets[i], i);
    }
    for (const std::size_t i : neighbors.arrival_order) {
      recv.add(recvs, neighbors.sources[i], i);
    }
  } else {
    const bool at_root = rank == call_.root;
    const bool rooted = family == Family::gatherv || family == Family::scatterv;
    const bool own_in_place = call_.sendbuf == MPI_IN_PLACE || call_.recvbuf == MPI_IN_PLACE;
    for (int i = 0; i < ranks; ++i) { // the next rank first, so that not all ranks begin with the same one
      const int to = (rank + 1 + i) % ranks;
      const int from = (rank - 1 - i + 2 * ranks) % ranks;
      const bool in_place = own_in_place && to == rank;
      if (!in_place && (family == Family::gatherv ? to == call_.root : !rooted || at_root)) {
        send.add(sends, to, static_cast<std::size_t>(to));
      }
      const bool from_in_place = own_in_place && from == rank;
      if (!from_in_place && (family == Family::scatterv ? from == call_.root : !rooted || at_root)) {
        recv.add(recvs, from, static_cast<std::size_t>(from));
      }
    }
  }
  bytes_ = sends.bytes();
  return communicator_.calls()->exchange(name_of(family), sends.take(), recvs.take(), executor, mpi_start());
}

} // namespace stoker::pmpi
