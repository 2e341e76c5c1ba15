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
  if (attempt([&] { reserve(bytes); }) && bytes > bytes_) { // the arena is exhausted
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
      eager_bytes_(program.lowered().eager_bytes), sizes_(sizes), send_readers_(send_readers),
      recv_readers_(recv_readers),
      send_memory_(plan.send_memory ? plan.send_memory : std::make_shared<EpochMemory>(engine.memory())),
      recv_memory_(plan.recv_memory ? plan.recv_memory : std::make_shared<EpochMemory>(engine.memory())),
      bounce_memory_(engine.memory()), outgoing_(plan.any_sizes ? static_cast<std::size_t>(plan.context->ranks()) : 0),
      incoming_(outgoing_.size()), received_(outgoing_.size()) {}

BufferDescriptor EpochBinding::reach(const BoundData& data, std::uint64_t bytes, const Readers& readers,
                                     EpochMemory& memory, bool copies, std::byte*& staged) const {
  staged = nullptr;
  BufferDescriptor descriptor{.path = Path::own};
  if (bytes == 0) {
    return descriptor;
  }
  const bool shared = readers.helper || readers.peers;
  if (!copies && data.bytes() > 0 && data.runs()) {
    descriptor.path = chosen_path(engine_, data, readers);
    if (descriptor.path != Path::staged) {
      descriptor.address = reinterpret_cast<std::uint64_t>(data.lowest());
      descriptor.bytes = data.span();
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
    descriptor.path = shared ? Path::attached : Path::own;
    descriptor.address = reinterpret_cast<std::uint64_t>(staged);
    descriptor.bytes = bytes;
  }
  return descriptor;
}

void EpochBinding::reserve(const Program& program) {
  const auto take = [](EpochMemory& memory, std::uint64_t bytes) {
    if (attempt([&] { memory.reserve(bytes); })) {
      throw exhausted(bytes);
    }
  };
  if (engine_.memory()->attach_works()) { // then anything can be reached, but not sent from there
    take(bounce_memory_, rebinding_.most_bounce_bytes(program));
    return;
  }
  take(*send_memory_, send_readers_.helper || send_readers_.peers ? sizes_.send : 0);
  take(*recv_memory_, recv_readers_.helper || recv_readers_.peers ? sizes_.recv : 0);
}

void EpochBinding::list_parts(const BoundData& data, Buffer buffer, bool staged, std::vector<algos::Slice>& parts) {
  for (std::size_t r = 0; r < parts.size(); ++r) {
    parts[r] = {buffer, staged ? data.packed_place(r) : data.place(r), data.part_bytes(r)};
  }
}

void EpochBinding::place(Program& program) {
  LoweredProgram& lowered = program.own_copy();
  Readers send_readers = send_readers_;
  const bool any_sizes = rebinding_.any_sizes();
  if (any_sizes) {
    sizes_ = {buffers_.send.bytes(), buffers_.recv.bytes()};
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
  const bool no_room = attempt([&] { bounce_memory_.reserve(rebinding_.bounce_bytes(program)); }).has_value();
  rebinding_.bounce(program, no_room ? 0 : bounce_memory_.offset());
}

// The messages of the epoch, with the sizes that the others expect, of buffers that nobody reaches.
void EpochBinding::withhold(Program& program) {
  for (const Buffer buffer : {Buffer::send, Buffer::recv}) {
    program.own_copy().buffers[static_cast<std::size_t>(buffer)] = {.path = Path::none};
  }
  send_staged_ = nullptr;
  recv_staged_ = nullptr;
  list_parts(buffers_.send, Buffer::send, true, outgoing_);
  list_parts(buffers_.recv, Buffer::recv, true, incoming_);
  rebinding_.resize(program, outgoing_, incoming_);
  rebinding_.bounce(program, 0);
}

void EpochBinding::bind(Program& program, EpochBuffers buffers) {
  buffers_ = std::move(buffers);
  failure_ = with_rank(program.lowered().rank, attempt([&] { place(program); }));
  if (failure_ && !rebinding_.any_sizes()) {
    throw *failure_;
  }
  if (failure_) {
    withhold(program);
  }
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
  if (failure_) {
    throw *std::exchange(failure_, std::nullopt);
  }
  if (recv_staged_ == nullptr || failed) {
    return;
  }
  if (rebinding_.any_sizes()) {
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
  const Readers readers = readers_of(*engine, *context, collective, executor, request->plan().vector_bytes, false);
  return with_binding(*engine, std::move(request), packed_sizes(collective, vector), readers, readers);
}

std::unique_ptr<Request> init_rebindable_exchange(const std::shared_ptr<Engine>& engine, RequestPlan plan) {
  const Readers readers = readers_of(*engine, *plan.context, Collective::alltoallv, plan.executor, 0, false);
  return with_binding(*engine, init_any_exchange(engine, std::move(plan)), {}, readers, {.helper = readers.helper});
}

} // namespace stoker::engine
