// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/blocking.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/blocking_calls.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/data/arguments.hpp"
#include "engine/requests/init.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using Sizes = std::vector<std::uint64_t>;

constexpr std::uint64_t short_bytes = 64 * 1024; // of all blocks together: sizes are rounded generously up to here
constexpr std::uint64_t least_units = 64;

// Rounds a number of units, elements or bytes, up.
std::uint64_t rounded_up(std::uint64_t units, bool generously) {
  if (units <= least_units) {
    return units == 0 ? 0 : least_units;
  }
  const std::uint64_t step = std::bit_floor(units) / (generously ? 1 : 8);
  return (units + step - 1) / step * step;
}

// How the blocks of a call lie in the memory that its request is bound to.
struct Spacing {
  std::uint64_t block = 0;  // of each block where all are equal: its data
  std::uint64_t stride = 0; // and its place
};

// Moves the data of equal blocks from one behind the other to their places, and clears what follows each; and back.
void spread(std::byte* memory, std::uint64_t bytes, const Spacing& spacing) {
  if (spacing.block == spacing.stride) {
    return;
  }
  for (std::uint64_t b = bytes / spacing.stride; b-- > 0;) {
    std::byte* const place = memory + (b * spacing.stride);
    std::memmove(place, memory + (b * spacing.block), spacing.block);
    std::memset(place + spacing.block, 0, spacing.stride - spacing.block);
  }
}
void bring_together(std::byte* memory, std::uint64_t bytes, const Spacing& spacing) {
  if (spacing.block == spacing.stride) {
    return;
  }
  for (std::uint64_t b = 1; b < bytes / spacing.stride; ++b) {
    std::memmove(memory + (b * spacing.block), memory + (b * spacing.stride), spacing.block);
  }
}

class Call {
public:
  Call(std::shared_ptr<Engine> engine, const CommContext& context, const CollectiveCall& call)
      : engine_(std::move(engine)), context_(context), collective_(call.collective), call_(call),
        buffers_(checked_buffers(call, context.rank(), context.ranks())) {
    if (!is_mpi_s()) {
      work_out_sizes();
    }
  }

  void carry_out(BlockingCalls& kept) {
    if (is_mpi_s()) {
      return wait_for_mpi(*engine_, context_, call_);
    }
    if (collective_ != Collective::barrier && total_ == 0) {
      return; // on all ranks
    }
    BoundRequest* bound = kept.find(key_);
    if (bound == nullptr) {
      bound = &bind(kept);
    }
    if (bound->request == nullptr) {
      return wait_for_mpi(*engine_, context_, call_);
    }
    copy_in(*bound);
    if (buffers_.operation.user_defined()) {
      bound->request->use(std::move(buffers_.operation));
    }
    bound->request->start();
    bound->request->wait();
    copy_out(*bound);
  }

private:
  [[nodiscard]] bool is_mpi_s() const {
    return traits_of(collective_).sizes != algos::SizesKnownTo::all || buffers_.operation.slots();
  }
  [[nodiscard]] bool at_root() const { return context_.rank() == call_.root; }
  [[nodiscard]] std::uint64_t ranks() const { return static_cast<std::uint64_t>(context_.ranks()); }

  void work_out_sizes() {
    const Operation& operation = buffers_.operation;
    key_ = {.collective = collective_,
            .root = algos::has_root(collective_) ? call_.root : 0,
            .code = operation.code(),
            .user_defined = operation.user_defined(),
            .commutative = operation.commutative(),
            .element_bytes = algos::combines(collective_) ? operation.element_bytes() : 1,
            .sizes = sizes_of(buffers_)};
    Sizes& sizes = key_.sizes;
    const bool equal_blocks =
        sizes.size() == 1 && collective_ != Collective::reduce_scatter && collective_ != Collective::allgatherv;
    const std::uint64_t blocks = equal_blocks && algos::has_blocks(collective_) ? ranks() : 1;
    if (equal_blocks) {
      spacing_.block = sizes.front();
      if (!operation.user_defined()) {
        const std::uint64_t units = sizes.front() / key_.element_bytes;
        sizes.front() = rounded_up(units, sizes.front() * blocks <= short_bytes) * key_.element_bytes;
      }
      spacing_.stride = sizes.front();
    }
    total_ = blocks * std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    own_ = sizes.size() > 1 ? sizes[static_cast<std::size_t>(context_.rank())] : sizes.empty() ? 0 : sizes.front();
  }

  // What this rank's request reads and writes, in bytes of its memory.
  [[nodiscard]] BufferSizes memory_needed() const {
    switch (collective_) {
    case Collective::barrier:
      return {};
    case Collective::bcast:
      return {0, total_}; // one buffer
    case Collective::reduce:
      return {total_, at_root() ? total_ : 0};
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return {total_, own_};
    case Collective::allgather:
    case Collective::allgatherv:
      return {own_, total_};
    case Collective::gather:
      return {own_, at_root() ? total_ : 0};
    case Collective::scatter:
      return {at_root() ? total_ : 0, own_};
    default:
      return {total_, total_};
    }
  }

  // Collective. The result has no request if none could be made.
  BoundRequest& bind(BlockingCalls& kept) {
    // Init waits inside MPI, where inline requests make no progress. The barrier makes sure that no rank waits for them
    // on its way here.
    wait_for_mpi(*engine_, context_, {});
    BoundRequest bound;
    bound.key = key_;
    bound.memory = memory_needed();
    try {
      agree(context_.comm(), with_rank(context_.rank(), attempt([&] {
                                         bound.send = kept.send.at_least(bound.memory.send);
                                         bound.recv = kept.recv.at_least(bound.memory.recv);
                                       })));
      bound.request = make_request_of(bound);
    } catch (const Error& error) { // on all ranks
      if (error.code() != Code::resource) {
        throw;
      }
      engine_->log().warn("rank {}: blocking {} is left to the MPI library: {}", context_.rank(),
                          algos::name_of(collective_), error.what());
    }
    return kept.add(std::move(bound));
  }

  [[nodiscard]] std::unique_ptr<Request> make_request_of(const BoundRequest& bound) const {
    const bool combines = algos::combines(collective_);
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> displs;
    MPI_Aint end = 0;
    for (const std::uint64_t size : key_.sizes) {
      counts.push_back(static_cast<MPI_Count>(size / key_.element_bytes));
      displs.push_back(end);
      end += static_cast<MPI_Aint>(size);
    }
    const auto own = static_cast<MPI_Count>(own_);
    const MPI_Datatype type = combines ? *call_.recvtypes : MPI_BYTE;
    return init(engine_,
                {.collective = collective_,
                 .sendbuf = bound.send,
                 .sendcounts = collective_ == Collective::allgatherv ? &own : counts.data(),
                 .sendtypes = &type,
                 .recvbuf = bound.recv,
                 .recvcounts = counts.data(),
                 .rdispls = displs.data(),
                 .recvtypes = &type,
                 .op = call_.op,
                 .root = call_.root,
                 .comm = call_.comm},
                MPI_INFO_NULL);
  }

  void copy_in(const BoundRequest& bound) const {
    const MPI_Comm comm = engine_->network();
    if (collective_ == Collective::bcast) {
      if (at_root()) {
        buffers_.send.pack(bound.recv, comm);
        spread(bound.recv, bound.memory.recv, spacing_);
      }
    } else if (buffers_.in_place && !algos::combines(collective_) && collective_ != Collective::scatter) {
      const auto own = static_cast<std::size_t>(context_.rank());
      const UserBuffer block(buffers_.recv.address(), Datatype(*call_.recvtypes, "recvtype"),
                             {buffers_.recv.blocks()[own]});
      block.pack(bound.send, comm);
      spread(bound.send, bound.memory.send, spacing_);
    } else {
      (buffers_.in_place && algos::combines(collective_) ? buffers_.recv : buffers_.send).pack(bound.send, comm);
      spread(bound.send, bound.memory.send, spacing_);
    }
  }

  void copy_out(const BoundRequest& bound) const {
    const bool keeps = (collective_ == Collective::exscan && context_.rank() == 0) ||
                       (collective_ == Collective::bcast && at_root()) ||
                       (collective_ == Collective::scatter && buffers_.in_place);
    if (keeps || bound.memory.recv == 0) {
      return;
    }
    bring_together(bound.recv, bound.memory.recv, spacing_);
    const bool first_block_only = buffers_.in_place && (collective_ == Collective::reduce_scatter ||
                                                        collective_ == Collective::reduce_scatter_block);
    if (first_block_only) {
      std::memcpy(buffers_.recv.address(), bound.recv, spacing_.stride == 0 ? own_ : spacing_.block);
    } else {
      buffers_.recv.unpack(bound.recv, engine_->network());
    }
  }

  std::shared_ptr<Engine> engine_;
  const CommContext& context_;
  Collective collective_;
  const CollectiveCall& call_;
  CallBuffers buffers_;
  BlockingKey key_;
  Spacing spacing_;
  std::uint64_t total_ = 0; // of all blocks, as the request sees them
  std::uint64_t own_ = 0;   // of this rank's
};

} // namespace

void call_blocking(const std::shared_ptr<Engine>& engine, const CollectiveCall& call) {
  const std::shared_ptr<CommContext> context = engine->context(call.comm);
  const auto kept = context->attachments().get<BlockingCalls>(engine->memory());
  std::optional<Call> bound;
  if (const auto wrong = attempt([&] { bound.emplace(engine, *context, call); })) {
    throw *with_rank(context->rank(), wrong);
  }
  bound->carry_out(*kept);
}

} // namespace stoker::engine
