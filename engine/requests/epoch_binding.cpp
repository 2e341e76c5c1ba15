// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/epoch_binding.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/requests/distributed_vector.hpp"
#include "engine/requests/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Buffer;
using algos::Collective;

Error exhausted(std::uint64_t bytes) {
  return {Code::resource, "no " + std::to_string(bytes) +
                              " bytes of shared memory are left for the data of a call; expected a larger arena_bytes"};
}

// Moves the data of blocks from one behind the other to their places, and clears what follows each; and back.
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
  for (std::uint64_t b = 1; spacing.block != spacing.stride && b < bytes / spacing.stride; ++b) {
    std::memmove(memory + (b * spacing.block), memory + (b * spacing.stride), spacing.block);
  }
}

} // namespace

std::byte* EpochMemory::at_least(std::uint64_t bytes) {
  if (bytes > bytes_ && attempt([&] { reserve(bytes); })) { // the arena is exhausted
    keep(bytes, 0, std::make_unique_for_overwrite<std::byte[]>(bytes));
  }
  return offset_ != 0 ? memory_->arena().base() + offset_ : own_.get();
}

void EpochMemory::reserve(std::uint64_t bytes) {
  if (bytes > bytes_ || (bytes > 0 && offset_ == 0)) {
    keep(bytes, memory_->arena().allocate(bytes, cache_line), nullptr);
  }
}

void EpochMemory::keep(std::uint64_t bytes, std::uint64_t offset, std::unique_ptr<std::byte[]> own) {
  release();
  bytes_ = bytes;
  offset_ = offset;
  own_ = std::move(own);
}

void EpochMemory::release() {
  if (offset_ != 0) {
    memory_->arena().deallocate(offset_);
  }
  offset_ = 0;
  own_.reset();
  bytes_ = 0;
}

EpochBinding::EpochBinding(const Engine& engine, const Program& program, const RequestPlan& plan,
                           const BufferSizes& sizes, const Readers& send_readers, const Readers& recv_readers)
    : engine_(engine),
      rebinding_(program, plan.any_sizes, plan.executor == Executor::inline_ || engine.helper() != nullptr),
      eager_bytes_(eager_bytes_of(engine, *plan.context, plan.choice.algorithm->collective)), sizes_(sizes),
      send_readers_(send_readers), recv_readers_(recv_readers), ranks_(static_cast<std::size_t>(plan.context->ranks())),
      send_memory_(plan.send_memory ? plan.send_memory : std::make_shared<EpochMemory>(engine.memory())),
      recv_memory_(plan.recv_memory ? plan.recv_memory : std::make_shared<EpochMemory>(engine.memory())),
      bounce_memory_(engine.memory()) {}

BufferDescriptor EpochBinding::reach(const BoundData& data, std::uint64_t bytes, const Readers& readers,
                                     EpochMemory& memory, bool copies, std::byte*& staged) const {
  staged = nullptr;
  BufferDescriptor descriptor{.path = Path::own};
  if (bytes == 0) {
    return descriptor;
  }
  const bool shared = readers.helper || readers.peers;
  if (!copies && data.bytes() > 0 && data.runs()) {
    descriptor.path = chosen_path(engine_, data.lowest(), data.span(), data.bytes(), readers);
    if (descriptor.path != Path::staged) {
      descriptor.address = reinterpret_cast<std::uint64_t>(data.lowest());
      if (descriptor.path == Path::mapped) {
        descriptor.offset = engine_.memory()->arena().offset_of(data.lowest());
      }
      return descriptor;
    }
  }
  staged = memory.at_least(bytes);
  descriptor.path = Path::staged;
  descriptor.offset = memory.offset();
  if (memory.offset() == 0) {
    if (shared && !engine_.memory()->attach_works()) {
      throw exhausted(bytes);
    }
    descriptor.path = shared ? Path::cma : Path::own;
    descriptor.address = reinterpret_cast<std::uint64_t>(staged);
  }
  return descriptor;
}

void EpochBinding::reserve(const Program& program) {
  if (engine_.memory()->attach_works()) { // then anything can be reached, but not sent from there
    (void)bounce_memory(rebinding_.most_bounce_bytes(program));
    return;
  }
  const auto take = [](EpochMemory& memory, std::uint64_t bytes, const Readers& readers) {
    if ((readers.helper || readers.peers) && attempt([&] { memory.reserve(bytes); })) {
      throw exhausted(bytes);
    }
  };
  take(*send_memory_, sizes_.send, send_readers_);
  take(*recv_memory_, sizes_.recv, recv_readers_);
}

std::uint64_t EpochBinding::bounce_memory(std::uint64_t bytes) {
  if (bytes > 0 && (bounce_memory_.at_least(bytes), bounce_memory_.offset() == 0)) {
    throw exhausted(bytes);
  }
  return bounce_memory_.offset();
}

void EpochBinding::list_parts(const BoundData& data, Buffer buffer, bool staged, std::vector<algos::Slice>& parts) {
  for (std::size_t r = 0; r < parts.size(); ++r) {
    parts[r] = {buffer, staged ? data.packed_place(r) : data.place(r), data.part_bytes(r)};
  }
}

void EpochBinding::bind(Program& program, EpochBuffers buffers) {
  LoweredProgram& lowered = program.own_copy();
  buffers_ = std::move(buffers);
  Readers send_readers = send_readers_;
  const bool any_sizes = rebinding_.any_sizes();
  if (any_sizes) {
    sizes_ = {buffers_.send.bytes(), buffers_.recv.bytes()};
    outgoing_.resize(ranks_);
    incoming_.resize(ranks_);
    list_parts(buffers_.send, Buffer::send, true, outgoing_);
    send_readers.peers = rebinding_.sends_long_in_node(outgoing_, eager_bytes_);
  }
  lowered.buffers[static_cast<std::size_t>(Buffer::send)] =
      reach(buffers_.send, sizes_.send, send_readers, *send_memory_, buffers_.copies_send, send_staged_);
  lowered.buffers[static_cast<std::size_t>(Buffer::recv)] =
      reach(buffers_.recv, sizes_.recv, recv_readers_, *recv_memory_, buffers_.copies_recv, recv_staged_);
  if (any_sizes) {
    list_parts(buffers_.send, Buffer::send, send_staged_ != nullptr, outgoing_);
    list_parts(buffers_.recv, Buffer::recv, recv_staged_ != nullptr, incoming_);
    rebinding_.resize(program, outgoing_, incoming_);
  }
  rebinding_.bounce(program, bounce_memory(rebinding_.bounce_bytes(program)));
  program.publish_epoch();
  const MPI_Comm comm = engine_.network();
  if (send_staged_ != nullptr) {
    buffers_.send.pack(send_staged_, comm);
    spread(send_staged_, sizes_.send, buffers_.send_spacing);
  }
  if (recv_staged_ != nullptr && buffers_.in_place) {
    buffers_.recv.pack(recv_staged_, comm);
    spread(recv_staged_, sizes_.recv, buffers_.recv_spacing);
  }
}

void EpochBinding::unbind(const Program& program, bool failed) {
  const EpochBuffers buffers = std::exchange(buffers_, {});
  if (recv_staged_ == nullptr || failed) {
    return;
  }
  if (rebinding_.any_sizes()) {
    received_.resize(ranks_);
    rebinding_.note_received(program, incoming_, received_);
    buffers.recv.unpack_beginnings(recv_staged_, received_, engine_.network());
  } else {
    bring_together(recv_staged_, sizes_.recv, buffers.recv_spacing);
    buffers.recv.unpack(recv_staged_, engine_.network());
  }
}

namespace {

// Collective: the request takes the buffers of every epoch.
std::unique_ptr<Request> with_binding(const Engine& engine, std::unique_ptr<Request> request, const BufferSizes& sizes,
                                      const Readers& send_readers, const Readers& recv_readers) {
  const CommContext& context = *request->plan().context;
  agree(context.comm(),
        with_rank(context.rank(), attempt([&] { request->take_binding(engine, sizes, send_readers, recv_readers); })));
  return request;
}

} // namespace

std::unique_ptr<Request> init_rebindable(const std::shared_ptr<Engine>& engine, Collective collective, RequestPlan plan,
                                         const std::vector<std::uint64_t>& sizes) {
  const std::shared_ptr<CommContext> context = plan.context;
  const auto ranks = static_cast<std::uint64_t>(context->ranks());
  const bool in_place = plan.in_place;
  const Executor executor = plan.executor;
  if (collective == Collective::alltoall) {
    const std::uint64_t block = sizes.front();
    std::unique_ptr<Request> request = init_rebindable_alltoall(engine, std::move(plan), block);
    const bool bundles =
        context->layout().nodes() > 1 || algos::knowledge_of(request->plan().choice) != algos::Knowledge::own;
    const Readers readers = readers_of(*engine, *context, collective, executor, block, bundles);
    return with_binding(*engine, std::move(request), {in_place ? 0 : ranks * block, ranks * block}, readers,
                        {.helper = readers.helper});
  }
  algos::DistributedVector vector{
      .layout = context->layout(), .rank = context->rank(), .root = plan.root, .sizes = sizes, .in_place = in_place};
  if (sizes.size() == 1 && algos::has_blocks(collective)) {
    vector.sizes.resize(ranks, sizes.front());
  }
  std::unique_ptr<Request> request = init_rebindable_distributed_vector(engine, collective, std::move(plan), sizes);
  const std::uint64_t longest = std::accumulate(vector.sizes.begin(), vector.sizes.end(), std::uint64_t{0});
  const Readers readers = readers_of(*engine, *context, collective, executor, longest, false);
  return with_binding(*engine, std::move(request), packed_sizes(collective, vector), readers, readers);
}

std::unique_ptr<Request> init_rebindable_exchange(const std::shared_ptr<Engine>& engine, RequestPlan plan) {
  const Readers readers = readers_of(*engine, *plan.context, Collective::alltoallv, plan.executor, 0, false);
  auto request = init_any_exchange(engine, std::move(plan));
  request->take_binding(*engine, {}, readers, {.helper = readers.helper});
  return request;
}

} // namespace stoker::engine
