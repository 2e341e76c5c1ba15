// SPDX-License-Identifier: BSD-3-Clause
// Transfers: what this unit submits to its helper.
#include "engine/base/agreement.hpp"
#include "engine/global/global_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace stoker::engine {
namespace {

constexpr std::uint64_t at_once_bytes = 4096;    // nonblocking within the node: no more than a submission costs
constexpr std::uint64_t staging_bytes = 1 << 20; // of a transfer whose local buffer the helper cannot reach
constexpr std::size_t records_at_a_time = 64;    // taken from the arena
constexpr std::size_t detached_at_a_time = 1024; // transfers without handle under way

} // namespace

std::optional<BufferDescriptor> GlobalMemory::reachable(const void* local, std::uint64_t bytes) const {
  BufferDescriptor descriptor{.address = reinterpret_cast<std::uint64_t>(local)};
  if (memory_->arena().contains(local, bytes)) {
    descriptor.path = Path::mapped;
    descriptor.offset = memory_->arena().offset_of(local);
  } else if (helper_ != nullptr) {
    descriptor.path = Path::own;
  } else if (memory_->attach_works() && engine_->settings().access != AccessChoice::staged) {
    descriptor.path = Path::attached;
  } else {
    return std::nullopt;
  }
  return descriptor;
}

int GlobalMemory::endpoint_of(int unit) const {
  const topology::Layout& layout = engine_->layout();
  return layout.domain_ranks(layout.domain_of(unit)).front();
}

GlobalMemory::Transfer& GlobalMemory::take_transfer(OperationKind kind, const GlobalPointer& pointer,
                                                    const SegmentPart& part, std::uint64_t bytes, bool detached) {
  std::unique_lock lock(transfers_mutex_);
  while (detached && detached_ >= detached_at_a_time) {
    sweep_detached();
    if (detached_ >= detached_at_a_time) {
      Transfer& oldest = *std::ranges::find_if(transfers_, [](const Transfer& t) { return t.used && t.detached; });
      const std::uint64_t epoch = oldest.epoch;
      lock.unlock();
      wait_for(oldest, epoch);
      lock.lock();
    }
  }
  if (free_transfers_.empty()) {
    const std::uint64_t block =
        memory_->arena().allocate(records_at_a_time * sizeof(GlobalOperation), alignof(GlobalOperation));
    record_blocks_.push_back(block);
    for (std::size_t i = 0; i < records_at_a_time; ++i) {
      transfers_.emplace_back();
      transfers_.back().operation =
          new (memory_->arena().base() + block + (i * sizeof(GlobalOperation))) GlobalOperation;
      free_transfers_.push_back(&transfers_.back());
    }
  }
  Transfer& transfer = *free_transfers_.back();
  free_transfers_.pop_back();
  transfer.used = true;
  transfer.detached = detached;
  transfer.left = false;
  transfer.settled = false;
  transfer.copy_to = nullptr;
  transfer.staging = 0;
  ++transfer.epoch;
  detached_ += detached ? 1 : 0;

  OperationRequest& operation = transfer.request;
  operation.epoch = transfer.epoch;
  operation.kind = kind;
  operation.unit = pointer.unit;
  operation.endpoint = part.address != nullptr ? -1 : endpoint_of(pointer.unit);
  operation.arena = engine_->arena_of(pointer.unit);
  operation.place = part.place;
  operation.window = window_number_;
  // Atomics are messages always: the MPI library's are not atomic towards the processor's.
  operation.displacement = kind == OperationKind::put || kind == OperationKind::get ? part.displacement : 0;
  operation.bytes = bytes;
  operation.signals = false;
  transfer.operation->error = 0;
  transfer.operation->stage.store(OperationStage::submitted, std::memory_order_relaxed);
  return transfer;
}

bool GlobalMemory::fits_one_transfer(const void* local, std::uint64_t bytes) const {
  return bytes <= staging_bytes || reachable(local, bytes).has_value();
}

GlobalMemory::Transfer& GlobalMemory::take_transfer(OperationKind kind, const GlobalPointer& pointer,
                                                    const SegmentPart& part, void* local, std::uint64_t bytes,
                                                    bool detached) {
  const std::uint64_t staging = staging_for(local, bytes);
  try {
    Transfer& transfer = take_transfer(kind, pointer, part, bytes, detached);
    set_local(transfer, local, staging);
    return transfer;
  } catch (...) {
    if (staging != 0) {
      memory_->arena().deallocate(staging);
    }
    throw;
  }
}

void GlobalMemory::set_local(Transfer& transfer, void* local, std::uint64_t staging) {
  OperationRequest& operation = transfer.request;
  if (staging == 0 && operation.bytes > GlobalOperation::inline_bytes) {
    operation.local = *reachable(local, operation.bytes);
    return;
  }
  transfer.staging = staging;
  const std::uint64_t copy =
      staging != 0 ? staging
                   : memory_->arena().offset_of(static_cast<const std::byte*>(transfer.operation->inline_data));
  operation.local = {.path = Path::staged, .offset = copy};
  if (operation.kind == OperationKind::get) {
    transfer.copy_to = local;
  } else {
    std::memcpy(memory_->arena().base() + copy, local, operation.bytes);
  }
}

std::uint64_t GlobalMemory::staging_for(const void* local, std::uint64_t bytes) {
  return bytes <= GlobalOperation::inline_bytes || reachable(local, bytes) ? 0 : memory_->arena().allocate(bytes);
}

void GlobalMemory::push(Transfer& transfer) {
  write_request(transfer.request, *transfer.operation);
  const auto failed = attempt([&] {
    Plea plea; // until it is in the ring
    engine_->submit({.block = memory_->arena().offset_of(transfer.operation),
                     .epoch = transfer.epoch,
                     .what = Submitted::operation},
                    plea);
  });
  if (failed) { // there is no helper any more, nor anybody who uses the record
    lose(transfer, *failed);
  }
}

void GlobalMemory::submit(Transfer& transfer) {
  push(transfer);
  memory_->root(memory_->self()).ring.call();
}

void GlobalMemory::start(Transfer& transfer) {
  if (helper_ != nullptr) {
    // This thread sends it now: a helper that has to be woken first may find its core taken.
    const Helper::Assist in_its_place(*helper_);
    submit(transfer);
    helper_->round();
  } else {
    submit(transfer);
    carrier_->helper.ring();
  }
}

// A helper that serves other nodes looks at the ring after every nap.
void GlobalMemory::leave(Transfer& transfer) {
  transfer.left = true;
  push(transfer);
  if (left_.fetch_add(1, std::memory_order_relaxed) + 1 < SubmissionRing::capacity / 2) {
    return;
  }
  call_helper();
  if (helper_ != nullptr) {
    const Helper::Assist in_its_place(*helper_);
    while (memory_->root(memory_->self()).ring.called()) { // there may be more
      helper_->round();
    }
  }
}

void GlobalMemory::call_helper() {
  left_.store(0, std::memory_order_relaxed);
  memory_->root(memory_->self()).ring.call();
  if (helper_ == nullptr) {
    carrier_->helper.ring();
  }
}

void GlobalMemory::execute(Transfer& transfer, std::uint64_t* displacement) {
  {
    std::optional<Helper::Assist> in_its_place; // this thread does the work, so nobody is woken
    if (helper_ != nullptr) {
      in_its_place.emplace(*helper_);
    }
    push(transfer);
    wait_for(transfer, transfer.epoch);
  }
  if (displacement != nullptr) {
    *displacement = transfer.operation->displacement; // before another thread takes it
  }
  release(transfer);
}

void GlobalMemory::settle(Transfer& transfer) {
  if (transfer.settled) {
    return;
  }
  transfer.settled = true;
  const GlobalOperation& outcome = *transfer.operation; // ordered by `completed`
  const OperationRequest& operation = transfer.request;
  const std::string text(outcome.error_text, strnlen(outcome.error_text, sizeof outcome.error_text));
  transfer.code = static_cast<Code>(outcome.error);
  if (transfer.code != Code::success && operation.kind == OperationKind::expose) {
    transfer.text = text;
  } else if (transfer.code != Code::success) {
    transfer.text = fmt::format("{}the transfer {} unit {} failed: {}", self(),
                                operation.kind == OperationKind::get ? "from" : "to", operation.unit, text);
  } else if (transfer.copy_to != nullptr) {
    std::memcpy(transfer.copy_to, memory_->arena().base() + operation.local.offset, operation.bytes);
  }
  if (transfer.staging != 0) {
    memory_->arena().deallocate(transfer.staging);
  }
  transfer.plea.withdraw();
}

void GlobalMemory::free_transfer(Transfer& transfer) {
  transfer.used = false;
  detached_ -= transfer.detached ? 1 : 0;
  if (!transfer.lost) {
    free_transfers_.push_back(&transfer);
  }
}

void GlobalMemory::sweep_detached() {
  for (Transfer& transfer : transfers_) {
    if (!transfer.used || !transfer.detached || transfer.lost ||
        !transfer.operation->completed.reached(transfer.epoch)) {
      continue;
    }
    settle(transfer);
    if (transfer.code != Code::success) {
      detached_errors_.try_emplace(transfer.request.unit, transfer.code, transfer.text);
    }
    free_transfer(transfer);
  }
}

void GlobalMemory::blocking_transfer(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes) {
  const SegmentPart part = located(pointer, bytes, kind == OperationKind::put ? "target" : "source");
  check_local(local, bytes, "local");
  if (bytes == 0) {
    return;
  }
  check_on_host(local, bytes, "local");
  counters_.add(TransferCounters::wire_transfers, 1);
  counters_.add(TransferCounters::wire_bytes, bytes);
  in_pieces(kind, pointer, part, local, bytes);
}

void GlobalMemory::in_pieces(OperationKind kind, const GlobalPointer& pointer, SegmentPart part, void* local,
                             std::uint64_t bytes, ElementType type, AtomicOp op) {
  const std::uint64_t step = reachable(local, bytes) ? bytes : std::min(bytes, staging_bytes);
  for (std::uint64_t done = 0; done < bytes; done += step) {
    auto* const from = static_cast<std::byte*>(local) + done;
    const std::uint64_t piece = std::min(step, bytes - done);
    Transfer& transfer = take_transfer(kind, pointer, part.at(done), from, piece, false);
    transfer.request.type = type;
    transfer.request.op = op;
    execute(transfer);
  }
}

GlobalMemory::Transfer* GlobalMemory::begin(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes,
                                            bool detached, const std::optional<Signal>& signal) {
  const SegmentPart part = located(pointer, bytes, kind == OperationKind::put ? "target" : "source");
  check_local(local, bytes, "local");
  SegmentPart word;
  if (signal) {
    word = located_element(signal->word, 1, ElementType::uint64, "signal");
    if (signal->word.unit != pointer.unit) {
      throw Error(Code::argument, "{}signal is {}; expected a word of the target's unit, {}", self(),
                  text_of(signal->word), pointer.unit);
    }
  }
  const bool near = part.address != nullptr;
  const bool reached = reachable(local, bytes).has_value();
  if (near && (bytes <= at_once_bytes || carrier_ == nullptr || !reached)) {
    if (bytes > 0) {
      kind == OperationKind::put ? put(pointer, local, bytes) : get(local, pointer, bytes);
    }
    if (signal) {
      reinterpret_cast<std::atomic<std::uint64_t>*>(word.address)->store(signal->value, std::memory_order_release);
    }
    return nullptr;
  }
  if (bytes == 0 || !fits_one_transfer(local, bytes)) { // the latter through a buffer of bounded size, by this thread
    blocking_transfer(kind, pointer, local, bytes);
    if (signal) {
      put(signal->word, &signal->value, sizeof signal->value);
    }
    return nullptr;
  }
  check_on_host(local, bytes, "local");
  counters_.add(near ? TransferCounters::node_transfers : TransferCounters::wire_transfers, 1);
  counters_.add(near ? TransferCounters::node_bytes : TransferCounters::wire_bytes, bytes);
  Transfer& transfer = take_transfer(kind, pointer, part, local, bytes, detached);
  OperationRequest& operation = transfer.request;
  operation.signals = signal.has_value();
  operation.signal_place = word.place;
  operation.signal_value = signal ? signal->value : 0;
  if (near) { // copied beside this thread
    submit(transfer);
    carrier_->helper.ring();
  } else {
    start(transfer);
  }
  return &transfer;
}

} // namespace stoker::engine
