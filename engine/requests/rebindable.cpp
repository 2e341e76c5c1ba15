// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/rebindable.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/requests/distributed_vector.hpp"
#include "engine/requests/exchange.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <unistd.h>

namespace stoker::engine {
namespace {

using algos::Buffer;
using algos::Collective;

constexpr auto send_index = static_cast<std::size_t>(Buffer::send);
constexpr auto recv_index = static_cast<std::size_t>(Buffer::recv);

LoweredStep* steps_of(Block& block) { return in_block<LoweredStep>(&block, block.steps_at); }
algos::Slice* slices_of(Block& block) { return in_block<algos::Slice>(&block, block.slices_at); }

// Of a wire step without a second operand: what is sent, or received.
const algos::Range& message_of(const LoweredStep& step) { return step.op == Op::send_wire ? step.source : step.target; }

std::uint64_t in_lines(std::uint64_t bytes) { return (bytes + cache_line - 1) & ~(cache_line - 1); }

Error exhausted(std::uint64_t bytes) {
  return {Code::resource, "no " + std::to_string(bytes) +
                              " bytes of shared memory are left for the data of a call; expected a larger arena_bytes"};
}

} // namespace

std::byte* EpochMemory::at_least(std::uint64_t bytes) {
  if (bytes > bytes_) {
    release();
    try {
      offset_ = memory_->arena().allocate(bytes, cache_line);
    } catch (const Error&) { // exhausted
      own_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    }
    bytes_ = bytes;
  }
  return offset_ != 0 ? memory_->arena().base() + offset_ : own_.get();
}

void EpochMemory::release() {
  if (offset_ != 0) {
    memory_->arena().deallocate(offset_);
  }
  offset_ = 0;
  own_.reset();
  bytes_ = 0;
}

RebindableRequest::RebindableRequest(std::shared_ptr<Engine> engine, std::unique_ptr<Request> request,
                                     const BufferSizes& sizes, const Readers& send_readers, const Readers& recv_readers)
    : engine_(std::move(engine)), request_(std::move(request)), any_sizes_(request_->plan().any_sizes), sizes_(sizes),
      send_readers_(send_readers), recv_readers_(recv_readers), pid_(static_cast<std::int32_t>(getpid())),
      send_memory_(engine_->memory()), recv_memory_(engine_->memory()), bounce_memory_(engine_->memory()) {
  request_->bind([&](Block& block) { note_steps(block); });
}

void RebindableRequest::note_steps(Block& block) {
  const bool endpoint_is_self = request_->plan().executor == Executor::inline_ || engine_->helper() != nullptr;
  const LoweredStep* steps = steps_of(block);
  for (std::uint32_t i = 0; i < block.steps; ++i) {
    const LoweredStep& step = steps[i];
    const bool wire = step.op == Op::send_wire || step.op == Op::recv_wire;
    if (wire && !endpoint_is_self && step.bounce == 0 && message_of(step).count > 0) {
      const Buffer buffer = slices_of(block)[message_of(step).begin].buffer;
      if (buffer != Buffer::scratch) {
        bounced_.push_back({i, static_cast<std::size_t>(buffer)});
      }
    }
    if (any_sizes_ && step.op == Op::copy) {
      own_copy_ = i;
    } else if (any_sizes_) {
      resized_.push_back({.step = i,
                          .part = static_cast<std::size_t>(step.peer),
                          .outgoing = step.op == Op::send_node || step.op == Op::send_wire,
                          .in_node = !wire});
    }
  }
  const auto* roots = in_block<std::uint32_t>(&block, block.roots_at);
  wire_roots_.assign(roots + block.local_roots, roots + block.local_roots + block.wire_roots);
}

BufferDescriptor RebindableRequest::reach(const BoundData& data, std::uint64_t bytes, const Readers& readers,
                                          EpochMemory& memory, bool as_it_lies, std::byte*& staged) const {
  staged = nullptr;
  BufferDescriptor descriptor{.path = Path::own, .pid = pid_, .bytes = bytes};
  if (bytes == 0) {
    return descriptor;
  }
  const bool shared = readers.helper || readers.peers;
  if (as_it_lies && data.bytes() > 0 && data.runs()) {
    descriptor.path = chosen_path(*engine_, data.lowest(), data.span(), data.bytes(), readers);
    if (descriptor.path != Path::staged) {
      descriptor.address = reinterpret_cast<std::uint64_t>(data.lowest());
      descriptor.bytes = data.span();
      if (descriptor.path == Path::mapped) {
        descriptor.offset = engine_->memory()->arena().offset_of(data.lowest());
      }
      return descriptor;
    }
  }
  staged = memory.at_least(bytes);
  descriptor.path = Path::staged;
  descriptor.offset = memory.offset();
  if (memory.offset() == 0) {
    if (shared && !engine_->memory()->attach_works()) {
      throw exhausted(bytes);
    }
    descriptor.path = shared ? Path::cma : Path::own;
    descriptor.address = reinterpret_cast<std::uint64_t>(staged);
  }
  return descriptor;
}

void RebindableRequest::reserve() {
  if (engine_->memory()->attach_works()) { // then anything can be reached, but not sent from there
    std::uint64_t bytes = 0;
    request_->bind([&](Block& block) {
      for (const Bounced& message : bounced_) {
        bytes += in_lines(steps_of(block)[message.step].bytes);
      }
    });
    take_bounce_memory(bytes);
    return;
  }
  const auto take = [](EpochMemory& memory, std::uint64_t bytes, const Readers& readers) {
    if (bytes > 0 && (readers.helper || readers.peers) && (memory.at_least(bytes), memory.offset() == 0)) {
      throw exhausted(bytes);
    }
  };
  take(send_memory_, sizes_.send, send_readers_);
  take(recv_memory_, sizes_.recv, recv_readers_);
}

void RebindableRequest::take_bounce_memory(std::uint64_t bytes) {
  if (bytes > 0 && (bounce_memory_.at_least(bytes), bounce_memory_.offset() == 0)) {
    throw exhausted(bytes);
  }
}

void RebindableRequest::start(Buffers buffers) {
  buffers_ = std::move(buffers);
  Readers send_readers = send_readers_;
  if (any_sizes_) {
    sizes_ = {buffers_.send.bytes(), buffers_.recv.bytes()};
    send_readers.peers = std::ranges::any_of(resized_, [&](const Resized& message) {
      return message.outgoing && message.in_node &&
             buffers_.send.part_bytes(message.part) > engine_->settings().eager_bytes;
    });
  }
  const BufferDescriptor send =
      reach(buffers_.send, sizes_.send, send_readers, send_memory_, !buffers_.set_aside, send_staged_);
  const BufferDescriptor recv = reach(buffers_.recv, sizes_.recv, recv_readers_, recv_memory_, true, recv_staged_);
  request_->bind([&](Block& block) {
    block.buffers[send_index] = send;
    block.buffers[recv_index] = recv;
    if (any_sizes_) {
      resize(block);
    }
    set_bounces(block);
  });
  const MPI_Comm comm = engine_->network();
  if (send_staged_ != nullptr) {
    buffers_.send.pack(send_staged_, comm);
  }
  if (recv_staged_ != nullptr && buffers_.in_place) {
    buffers_.recv.pack(recv_staged_, comm);
  }
  request_->start();
}

void RebindableRequest::finish() {
  const Buffers buffers = std::exchange(buffers_, {});
  request_->finish();
  if (recv_staged_ != nullptr) {
    buffers.recv.unpack(recv_staged_, engine_->network());
  }
}

// Both ends of a message know its size, so they do the same: within the node even empty ones travel, since the words of a channel
// count epochs; between nodes there is none for no bytes.
void RebindableRequest::resize(Block& block) const {
  LoweredStep* const steps = steps_of(block);
  algos::Slice* const slices = slices_of(block);
  const auto place_of = [](const BoundData& data, std::size_t part, bool staged) {
    return staged ? data.packed_place(part) : data.place(part);
  };
  const auto outgoing = [&](std::size_t part) {
    return algos::Slice{Buffer::send, place_of(buffers_.send, part, send_staged_ != nullptr),
                        buffers_.send.part_bytes(part)};
  };
  const auto incoming = [&](std::size_t part) {
    return algos::Slice{Buffer::recv, place_of(buffers_.recv, part, recv_staged_ != nullptr),
                        buffers_.recv.part_bytes(part)};
  };
  for (const Resized& message : resized_) {
    LoweredStep& step = steps[message.step];
    const algos::Slice slice = message.outgoing ? outgoing(message.part) : incoming(message.part);
    slices[message.outgoing ? step.source.begin : step.target.begin] = slice;
    step.bytes = slice.length;
    step.eager = message.in_node && slice.length <= engine_->settings().eager_bytes;
  }
  const auto own = static_cast<std::size_t>(block.rank);
  slices[steps[own_copy_].source.begin] = outgoing(own);
  slices[steps[own_copy_].target.begin] = incoming(own);
  steps[own_copy_].bytes = buffers_.send.part_bytes(own);
  auto* const roots = in_block<std::uint32_t>(&block, block.roots_at) + block.local_roots;
  const auto end =
      std::ranges::copy_if(wire_roots_, roots, [&](std::uint32_t step) { return steps[step].bytes > 0; }).out;
  block.wire_roots = static_cast<std::uint32_t>(end - roots);
  block.left_out = static_cast<std::uint32_t>(wire_roots_.size()) - block.wire_roots;
}

void RebindableRequest::set_bounces(Block& block) {
  LoweredStep* const steps = steps_of(block);
  const auto bounces = [&](const Bounced& message) { return block.buffers[message.buffer].path == Path::cma; };
  std::uint64_t bytes = 0;
  for (const Bounced& message : bounced_) {
    steps[message.step].bounce = 0;
    bytes += bounces(message) ? in_lines(steps[message.step].bytes) : 0;
  }
  if (bytes == 0) {
    return;
  }
  take_bounce_memory(bytes);
  std::uint64_t place = bounce_memory_.offset();
  for (const Bounced& message : bounced_) {
    if (bounces(message)) {
      steps[message.step].bounce = place;
      place += in_lines(steps[message.step].bytes);
    }
  }
}

namespace {

// Collective.
std::unique_ptr<RebindableRequest> ready(const CommContext& context, std::unique_ptr<RebindableRequest> request) {
  agree(context.comm(), with_rank(context.rank(), attempt([&] { request->reserve(); })));
  return request;
}

} // namespace

std::unique_ptr<RebindableRequest> make_rebindable(const std::shared_ptr<Engine>& engine, Collective collective,
                                                   RequestPlan plan, const std::vector<std::uint64_t>& sizes) {
  const std::shared_ptr<CommContext> context = plan.context;
  const auto ranks = static_cast<std::uint64_t>(context->ranks());
  const bool in_place = plan.in_place;
  const Executor executor = plan.executor;
  if (collective == Collective::alltoall) {
    const std::uint64_t block = sizes.front();
    std::unique_ptr<Request> request = init_rebindable_alltoall(engine, std::move(plan), block);
    const bool bundles =
        context->layout().nodes() > 1 || algos::knowledge_of(request->plan().choice) != algos::Knowledge::own;
    const Readers readers = readers_of(*engine, *context, executor, block, bundles);
    return ready(*context, std::make_unique<RebindableRequest>(engine, std::move(request),
                                                               BufferSizes{in_place ? 0 : ranks * block, ranks * block},
                                                               readers, Readers{.helper = readers.helper}));
  }
  algos::DistributedVector vector{
      .layout = context->layout(), .rank = context->rank(), .root = plan.root, .sizes = sizes, .in_place = in_place};
  if (sizes.size() == 1 && algos::has_blocks(collective)) {
    vector.sizes.resize(ranks, sizes.front());
  }
  std::unique_ptr<Request> request = init_rebindable_distributed_vector(engine, collective, std::move(plan), sizes);
  const std::uint64_t longest = std::accumulate(vector.sizes.begin(), vector.sizes.end(), std::uint64_t{0});
  const Readers readers = readers_of(*engine, *context, executor, longest, false);
  return ready(*context, std::make_unique<RebindableRequest>(engine, std::move(request),
                                                             packed_sizes(collective, vector), readers, readers));
}

std::unique_ptr<RebindableRequest> make_rebindable_exchange(const std::shared_ptr<Engine>& engine, RequestPlan plan) {
  const Readers readers = readers_of(*engine, *plan.context, plan.executor, 0, false);
  return std::make_unique<RebindableRequest>(engine, init_any_exchange(engine, std::move(plan)), BufferSizes{}, readers,
                                             Readers{.helper = readers.helper});
}

} // namespace stoker::engine
