// SPDX-License-Identifier: BSD-3-Clause
// Atomics, and words that units signal each other by.
#include "engine/base/error.hpp"
#include "engine/global/global_memory.hpp"

#include <spdlog/logger.h>

#include <array>
#include <cstring>
#include <optional>

namespace stoker::engine {

std::optional<SegmentPart> GlobalMemory::update_near(const GlobalPointer& target, const Update& update) {
  const SegmentPart part = located_element(target, 1, update.type);
  const std::uint64_t bytes = size_of(update.type);
  const auto* const operand = static_cast<const std::byte*>(update.operand);
  auto* const result = static_cast<std::byte*>(update.result);
  if (update.kind == OperationKind::compare_and_swap) {
    check_local(update.operand, bytes, "expected");
    check_local(update.desired, bytes, "desired");
  } else {
    check_local(update.operand, update.op == AtomicOp::no_op ? 0 : bytes, "operand");
  }
  check_local(result, bytes, "result");
  counters_.add(part.address != nullptr ? TransferCounters::node_atomics : TransferCounters::wire_atomics, 1);
  if (part.address == nullptr) {
    return part;
  }
  if (update.kind == OperationKind::compare_and_swap) {
    engine::compare_and_swap(part.address, update.type, operand, static_cast<const std::byte*>(update.desired), result);
  } else {
    engine::fetch_and_op(part.address, update.type, update.op, operand, result);
  }
  return std::nullopt;
}

GlobalMemory::Transfer& GlobalMemory::take_update(const GlobalPointer& target, const SegmentPart& part,
                                                  const Update& update, bool detached) {
  const std::uint64_t bytes = size_of(update.type);
  Transfer& transfer = take_transfer(update.kind, target, part, bytes, detached);
  GlobalOperation& record = *transfer.operation;
  transfer.request.type = update.type;
  transfer.request.op = update.op;
  if (update.operand != nullptr) {
    std::memcpy(record.inline_data, update.operand, bytes);
  }
  if (update.desired != nullptr) {
    std::memcpy(record.inline_data + bytes, update.desired, bytes);
  }
  transfer.request.local = {.path = Path::staged,
                            .offset = memory_->arena().offset_of(static_cast<const std::byte*>(record.inline_data))};
  transfer.copy_to = update.result;
  return transfer;
}

void GlobalMemory::update(const GlobalPointer& target, const Update& update) {
  if (const auto part = update_near(target, update)) {
    execute(take_update(target, *part, update, false));
  }
}

GlobalMemory::Transfer* GlobalMemory::begin_update(const GlobalPointer& target, const Update& update, bool detached) {
  const auto part = update_near(target, update);
  if (!part) {
    return nullptr;
  }
  Transfer& transfer = take_update(target, *part, update, detached);
  leave(transfer);
  return &transfer;
}

void GlobalMemory::fetch_and_op(GlobalPointer target, ElementType type, AtomicOp op, const void* operand,
                                void* result) {
  update(target, {.kind = OperationKind::fetch_and_op, .type = type, .op = op, .operand = operand, .result = result});
}

GlobalMemory::Transfer* GlobalMemory::begin_fetch_and_op(GlobalPointer target, ElementType type, AtomicOp op,
                                                         const void* operand, void* result, bool detached) {
  return begin_update(
      target, {.kind = OperationKind::fetch_and_op, .type = type, .op = op, .operand = operand, .result = result},
      detached);
}

void GlobalMemory::compare_and_swap(GlobalPointer target, ElementType type, const void* expected, const void* desired,
                                    void* result) {
  update(target, {.kind = OperationKind::compare_and_swap,
                  .type = type,
                  .operand = expected,
                  .desired = desired,
                  .result = result});
}

GlobalMemory::Transfer* GlobalMemory::begin_compare_and_swap(GlobalPointer target, ElementType type,
                                                             const void* expected, const void* desired, void* result,
                                                             bool detached) {
  return begin_update(target,
                      {.kind = OperationKind::compare_and_swap,
                       .type = type,
                       .operand = expected,
                       .desired = desired,
                       .result = result},
                      detached);
}

SegmentPart GlobalMemory::checked_accumulate(const GlobalPointer& target, ElementType type, AtomicOp op,
                                             const void* operands, std::uint64_t count) const {
  const SegmentPart part = located_element(target, count, type);
  const std::uint64_t bytes = op == AtomicOp::no_op ? 0 : count * size_of(type);
  check_local(operands, bytes, "operands");
  check_on_host(operands, bytes, "operands"); // in any case: this process or its helper reads them
  return part;
}

void GlobalMemory::accumulate(GlobalPointer target, ElementType type, AtomicOp op, const void* operands,
                              std::uint64_t count) {
  const SegmentPart part = checked_accumulate(target, type, op, operands, count);
  if (count == 0 || op == AtomicOp::no_op) {
    return;
  }
  if (part.address != nullptr) {
    counters_.add(TransferCounters::node_atomics, count);
    engine::accumulate(part.address, type, op, static_cast<const std::byte*>(operands), count);
    return;
  }
  counters_.add(TransferCounters::wire_atomics, count);
  in_pieces(OperationKind::accumulate, target, part, const_cast<void*>(operands), count * size_of(type), type, op);
}

GlobalMemory::Transfer* GlobalMemory::begin_accumulate(GlobalPointer target, ElementType type, AtomicOp op,
                                                       const void* operands, std::uint64_t count, bool detached) {
  const SegmentPart part = checked_accumulate(target, type, op, operands, count);
  const std::uint64_t bytes = count * size_of(type);
  if (part.address != nullptr || count == 0 || op == AtomicOp::no_op || !fits_one_transfer(operands, bytes)) {
    accumulate(target, type, op, operands, count);
    return nullptr;
  }
  counters_.add(TransferCounters::wire_atomics, count);
  auto* const local = const_cast<void*>(operands);
  Transfer& transfer = take_transfer(OperationKind::accumulate, target, part, local, bytes, detached);
  transfer.request.type = type;
  transfer.request.op = op;
  leave(transfer);
  return &transfer;
}

std::atomic<std::uint64_t>* GlobalMemory::word_of(const GlobalPointer& pointer, const char* name) const {
  const SegmentPart part = located_element(pointer, 1, ElementType::uint64, name);
  if (part.address == nullptr) {
    throw Error(Code::argument, "{}{} is {}; expected a word on this unit's node", self(), name, text_of(pointer));
  }
  return reinterpret_cast<std::atomic<std::uint64_t>*>(part.address);
}

namespace {

// In the order of the enumeration.
bool compares(std::uint64_t word, GlobalMemory::Comparison comparison, std::uint64_t value) {
  const std::array holds{word == value, word != value, word > value, word >= value, word < value, word <= value};
  return holds[static_cast<std::size_t>(comparison)];
}

} // namespace

// Whoever stores the word need not know that somebody waits for it: so the wait never sleeps.
void GlobalMemory::wait_until(GlobalPointer pointer, Comparison comparison, std::uint64_t value) {
  const std::atomic<std::uint64_t>& word = *word_of(pointer, "word");
  Plea plea;
  bool reported = false;
  const auto plead = [&] { engine_->plead_if_paused(plea); }; // the word may have to come from another node
  const auto look_around = [&](std::uint64_t waited_ns) {
    if (!reported && is_stall(waited_ns)) {
      reported = true;
      engine_->log().warn("rank {} has waited {} s for the word at {}, which nobody has set to what it waits for",
                          engine_->rank(), waited_ns / 1'000'000'000U, text_of(pointer));
    }
  };
  // The acquire belongs to the release by which a signal, or a put, is stored.
  wait_with([&] { return compares(word.load(std::memory_order_acquire), comparison, value); },
            {.asks_mpi = helper_ != nullptr}, plead, look_around);
}

} // namespace stoker::engine
