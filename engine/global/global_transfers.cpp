// SPDX-License-Identifier: BSD-3-Clause
// Transfers: what this unit submits to its helper, and waiting for it.
#include "engine/base/agreement.hpp"
#include "engine/global/global_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <unistd.h>

namespace stoker::engine {
namespace {

constexpr std::uint64_t at_once_bytes = 4096;    // nonblocking within the node: no more than a submission costs
constexpr std::uint64_t staging_bytes = 1 << 20; // of a transfer whose local buffer the helper cannot reach
constexpr std::size_t records_at_a_time = 64;    // taken from the arena
constexpr std::size_t detached_at_a_time = 1024; // transfers without handle under way

} // namespace

std::optional<BufferDescriptor> GlobalMemory::reachable(const void* local, std::uint64_t bytes) const {
  BufferDescriptor descriptor{.pid = getpid(), .address = reinterpret_cast<std::uint64_t>(local), .bytes = bytes};
  if (memory_->arena().contains(local, bytes)) {
    descriptor.path = Path::mapped;
    descriptor.offset = memory_->arena().offset_of(local);
  } else if (helper_ != nullptr) {
    descriptor.path = Path::own;
  } else if (memory_->attach_works() && engine_->settings().access != AccessChoice::staged) {
    descriptor.path = Path::cma;
  } else {
    return std::nullopt;
  }
  return descriptor;
}

GlobalMemory::Slot& GlobalMemory::take_slot(OperationKind kind, const GlobalPointer& pointer, const SegmentPart& part,
                                            std::uint64_t bytes, bool detached) {
  std::unique_lock lock(slots_mutex_);
  while (detached && detached_ >= detached_at_a_time) {
    sweep_detached();
    if (detached_ >= detached_at_a_time) {
      Slot& oldest = *std::ranges::find_if(slots_, [](const Slot& s) { return s.used && s.detached; });
      const std::uint64_t epoch = oldest.epoch;
      lock.unlock();
      wait_for(oldest, epoch);
      lock.lock();
    }
  }
  if (free_slots_.empty()) {
    const std::uint64_t block =
        memory_->arena().allocate(records_at_a_time * sizeof(GlobalOperation), alignof(GlobalOperation));
    record_blocks_.push_back(block);
    for (std::size_t i = 0; i < records_at_a_time; ++i) {
      slots_.emplace_back();
      slots_.back().operation = new (memory_->arena().base() + block + (i * sizeof(GlobalOperation))) GlobalOperation;
      free_slots_.push_back(&slots_.back());
    }
  }
  Slot& slot = *free_slots_.back();
  free_slots_.pop_back();
  slot.used = true;
  slot.detached = detached;
  slot.settled = false;
  slot.copy_to = nullptr;
  slot.staging = 0;
  slot.epoch = ++slot.operation->epoch;
  detached_ += detached ? 1 : 0;
  lock.unlock();

  GlobalOperation& operation = *slot.operation;
  const topology::Layout& layout = engine_->layout();
  operation.kind = kind;
  operation.unit = pointer.unit;
  operation.endpoint = part.address != nullptr ? -1 : layout.domain_ranks(layout.domain_of(pointer.unit)).front();
  operation.arena = engine_->arena_of(pointer.unit);
  operation.place = part.place;
  operation.window = window_number_;
  // Atomics are messages always: the MPI library's are not atomic towards the processor's.
  operation.displacement = kind == OperationKind::put || kind == OperationKind::get ? part.displacement : 0;
  operation.bytes = bytes;
  operation.signals = false;
  operation.error = 0;
  return slot;
}

void GlobalMemory::set_local(Slot& slot, void* local, std::uint64_t staging) {
  GlobalOperation& operation = *slot.operation;
  if (staging == 0 && operation.bytes > GlobalOperation::inline_bytes) {
    operation.local = *reachable(local, operation.bytes);
    return;
  }
  slot.staging = staging;
  const std::uint64_t copy =
      staging != 0 ? staging : memory_->arena().offset_of(static_cast<const std::byte*>(operation.inline_data));
  operation.local = {.path = Path::staged, .offset = copy, .bytes = operation.bytes};
  if (operation.kind == OperationKind::get) {
    slot.copy_to = local;
  } else {
    std::memcpy(memory_->arena().base() + copy, local, operation.bytes);
  }
}

std::uint64_t GlobalMemory::staging_for(const void* local, std::uint64_t bytes) {
  return bytes <= GlobalOperation::inline_bytes || reachable(local, bytes) ? 0 : memory_->arena().allocate(bytes);
}

void GlobalMemory::submit(Slot& slot) {
  Plea plea; // until it is in the ring
  engine_->submit(
      {.block = memory_->arena().offset_of(slot.operation), .epoch = slot.epoch, .what = Submitted::operation}, plea);
}

void GlobalMemory::wait_for(Slot& slot, std::uint64_t epoch) {
  Plea plea;
  const auto plead = [&] {
    if (carrier_->paused.load(std::memory_order_relaxed) != 0) {
      plea.make(*carrier_);
    }
  };
  wait_with(Waiter([&] { return slot.operation->completed.reached(epoch); },
                   [&] { return helper_ != nullptr && helper_->round(); },
                   {.asks_mpi = helper_ != nullptr, .can_sleep = helper_ == nullptr}, plead,
                   [&](std::uint64_t /*waited_ns*/) { look_for_carrier(slot); }));
}

void GlobalMemory::execute(Slot& slot, std::uint64_t* displacement) {
  if (helper_ != nullptr) { // this thread does the work, so nobody is woken
    const Helper::Assist in_its_place(*helper_);
    submit(slot);
    wait_for(slot, slot.epoch);
  } else {
    submit(slot);
    carrier_->helper.ring();
    wait_for(slot, slot.epoch);
  }
  if (displacement != nullptr) {
    *displacement = slot.operation->displacement; // before another thread takes the slot
  }
  release(slot);
}

void GlobalMemory::settle(Slot& slot) {
  if (slot.settled) {
    return;
  }
  slot.settled = true;
  const GlobalOperation& operation = *slot.operation;
  slot.code = static_cast<Code>(operation.error); // ordered by `completed`
  if (slot.code != Code::success && operation.kind == OperationKind::expose) {
    slot.text = operation.error_text;
  } else if (slot.code != Code::success) {
    slot.text = fmt::format("{}the transfer {} unit {} failed: {}", self(),
                            operation.kind == OperationKind::get ? "from" : "to", operation.unit, operation.error_text);
  } else if (slot.copy_to != nullptr) {
    std::memcpy(slot.copy_to, memory_->arena().base() + operation.local.offset, operation.bytes);
  }
  if (slot.staging != 0) {
    memory_->arena().deallocate(slot.staging);
  }
  slot.plea.withdraw();
}

void GlobalMemory::free_slot(Slot& slot) {
  slot.used = false;
  detached_ -= slot.detached ? 1 : 0;
  if (!slot.lost) {
    free_slots_.push_back(&slot);
  }
}

void GlobalMemory::sweep_detached() {
  for (Slot& slot : slots_) {
    if (!slot.used || !slot.detached || slot.lost || !slot.operation->completed.reached(slot.epoch)) {
      continue;
    }
    settle(slot);
    if (slot.code != Code::success) {
      detached_errors_.try_emplace(slot.operation->unit, slot.code, slot.text);
    }
    free_slot(slot);
  }
}

void GlobalMemory::transfer(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes) {
  const SegmentPart part = located(pointer, bytes, kind == OperationKind::put ? "target" : "source");
  check_local(local, bytes, "local");
  if (bytes == 0) {
    return;
  }
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
    const std::uint64_t staging = staging_for(from, piece);
    Slot& slot = take_slot(kind, pointer, part.at(done), piece, false);
    slot.operation->type = type;
    slot.operation->op = op;
    set_local(slot, from, staging);
    execute(slot);
  }
}

GlobalMemory::Slot* GlobalMemory::begin(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes,
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
  if (bytes == 0 ||
      (!reached && bytes > staging_bytes)) { // the latter through a buffer of bounded size, by this thread
    transfer(kind, pointer, local, bytes);
    if (signal) {
      put(signal->word, &signal->value, sizeof signal->value);
    }
    return nullptr;
  }
  counters_.add(near ? TransferCounters::node_transfers : TransferCounters::wire_transfers, 1);
  counters_.add(near ? TransferCounters::node_bytes : TransferCounters::wire_bytes, bytes);
  const std::uint64_t staging = staging_for(local, bytes);
  Slot& slot = take_slot(kind, pointer, part, bytes, detached);
  GlobalOperation& operation = *slot.operation;
  operation.signals = signal.has_value();
  operation.signal_place = word.place;
  operation.signal_value = signal ? signal->value : 0;
  set_local(slot, local, staging);
  if (helper_ != nullptr && !near) {
    // This thread sends it now: a helper that has to be woken first may find its core taken.
    const Helper::Assist in_its_place(*helper_);
    submit(slot);
    helper_->round();
  } else {
    submit(slot);
    carrier_->helper.ring();
  }
  return &slot;
}

// A helper goes on if a target's process is gone. Without the helper nothing goes on.
void GlobalMemory::look_for_carrier(Slot& slot) {
  const int carrier = engine_->carrier();
  const std::uint32_t arena = engine_->arena_of(carrier);
  memory_->watch().look(now_ns());
  if (!memory_->watch().gone(arena)) {
    return;
  }
  const std::lock_guard lock(slots_mutex_);
  slot.lost = true;
  slot.code = Code::peer_lost;
  slot.text = fmt::format("{}the process of unit {} (pid {}), whose helper carries this unit's transfers, is gone; the "
                          "transfer cannot complete",
                          self(), carrier, memory_->pid(arena));
  throw Error(slot.code, slot.text);
}

bool GlobalMemory::test(Slot& slot) {
  if (closed_ || slot.lost || slot.operation->completed.reached(slot.epoch)) {
    return true;
  }
  constexpr unsigned tests_per_look = 4096;
  if (++slot.tests % tests_per_look == 0) {
    if (attempt([&] { look_for_carrier(slot); })) { // for release() to say
      return true;
    }
  }
  if (carrier_->paused.load(std::memory_order_relaxed) != 0) {
    const std::lock_guard lock(slots_mutex_);
    slot.plea.make(*carrier_);
  }
  return slot.operation->completed.reached(slot.epoch);
}

void GlobalMemory::wait(Slot& slot) {
  if (!closed_ && !slot.lost) {
    wait_for(slot, slot.epoch);
  }
}

void GlobalMemory::release(Slot& slot) {
  const std::lock_guard lock(slots_mutex_);
  if (slot.lost) {
    free_slot(slot);
    throw Error(slot.code, slot.text);
  }
  settle(slot);
  free_slot(slot);
  if (slot.code != Code::success) {
    throw Error(slot.code, slot.text);
  }
}

void GlobalMemory::complete(int unit) {
  std::vector<std::pair<Slot*, std::uint64_t>> under_way;
  {
    const std::lock_guard lock(slots_mutex_);
    for (Slot& slot : slots_) {
      if (slot.used && !slot.lost && (unit < 0 || slot.operation->unit == unit)) {
        under_way.emplace_back(&slot, slot.epoch);
      }
    }
  }
  std::optional<Error> lost;
  for (const auto& each : under_way) {
    // Its thread may release it meanwhile: the record's later epochs are later.
    const auto failed = attempt([&] { wait_for(*each.first, each.second); });
    lost = lost ? lost : failed;
  }
  const std::lock_guard lock(slots_mutex_);
  for (const auto& [slot, epoch] : under_way) {
    if (slot->used && slot->epoch == epoch && !slot->lost) {
      settle(*slot);
    }
  }
  sweep_detached();
  if (lost) {
    throw Error(*lost);
  }
}

void GlobalMemory::flush(int unit) {
  check_open();
  if (unit < -1 || unit >= ranks_) {
    throw Error(Code::argument, "{}unit is {}; expected 0 to {}", self(), unit, ranks_ - 1);
  }
  complete(unit);
  const std::lock_guard lock(slots_mutex_);
  const auto found = unit < 0 ? detached_errors_.begin() : detached_errors_.find(unit);
  if (found != detached_errors_.end()) {
    const Error error = found->second;
    unit < 0 ? detached_errors_.clear() : static_cast<void>(detached_errors_.erase(found));
    throw Error(error);
  }
}

} // namespace stoker::engine
