// SPDX-License-Identifier: BSD-3-Clause
// Atomics, and words that units signal each other by.
#include "engine/base/error.hpp"
#include "engine/global/global_memory.hpp"

#include <array>
#include <cstring>

namespace stoker::engine {

void GlobalMemory::atomic(OperationKind kind, GlobalPointer target, const SegmentPart& part, ElementType type,
                          AtomicOp op, std::span<const std::byte> operands, void* result) {
  counters_.add(TransferCounters::wire_atomics, 1);
  Transfer& transfer = take_transfer(kind, target, part, size_of(type), false);
  GlobalOperation& record = *transfer.operation;
  transfer.request.type = type;
  transfer.request.op = op;
  std::memcpy(record.inline_data, operands.data(), operands.size());
  transfer.request.local = {.path = Path::staged,
                            .offset = memory_->arena().offset_of(static_cast<const std::byte*>(record.inline_data))};
  transfer.copy_to = result;
  execute(transfer);
}

void GlobalMemory::fetch_and_op(GlobalPointer target, ElementType type, AtomicOp op, const void* operand,
                                void* result) {
  const SegmentPart part = located_element(target, 1, type);
  const std::uint64_t bytes = size_of(type);
  check_local(operand, op == AtomicOp::no_op ? 0 : bytes, "operand");
  check_local(result, bytes, "result");
  const auto* from = static_cast<const std::byte*>(operand);
  if (part.address != nullptr) {
    counters_.add(TransferCounters::node_atomics, 1);
    engine::fetch_and_op(part.address, type, op, from, static_cast<std::byte*>(result));
    return;
  }
  atomic(OperationKind::fetch_and_op, target, part, type, op,
         op == AtomicOp::no_op ? std::span<const std::byte>() : std::span(from, bytes), result);
}

void GlobalMemory::compare_and_swap(GlobalPointer target, ElementType type, const void* expected, const void* desired,
                                    void* result) {
  const SegmentPart part = located_element(target, 1, type);
  const std::uint64_t bytes = size_of(type);
  check_local(expected, bytes, "expected");
  check_local(desired, bytes, "desired");
  check_local(result, bytes, "result");
  if (part.address != nullptr) {
    counters_.add(TransferCounters::node_atomics, 1);
    engine::compare_and_swap(part.address, type, static_cast<const std::byte*>(expected),
                             static_cast<const std::byte*>(desired), static_cast<std::byte*>(result));
    return;
  }
  std::array<std::byte, 16> operands{};
  std::memcpy(operands.data(), expected, bytes);
  std::memcpy(operands.data() + bytes, desired, bytes);
  atomic(OperationKind::compare_and_swap, target, part, type, AtomicOp::no_op, std::span(operands).first(2 * bytes),
         result);
}

void GlobalMemory::accumulate(GlobalPointer target, ElementType type, AtomicOp op, const void* operands,
                              std::uint64_t count) {
  const SegmentPart part = located_element(target, count, type);
  const std::uint64_t bytes = count * size_of(type);
  check_local(operands, op == AtomicOp::no_op ? 0 : bytes, "operands");
  if (count == 0 || op == AtomicOp::no_op) {
    return;
  }
  if (part.address != nullptr) {
    counters_.add(TransferCounters::node_atomics, count);
    engine::accumulate(part.address, type, op, static_cast<const std::byte*>(operands), count);
    return;
  }
  counters_.add(TransferCounters::wire_atomics, count);
  in_pieces(OperationKind::accumulate, target, part, const_cast<void*>(operands), bytes, type, op);
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
  const auto plead = [&](std::uint64_t /*waited_ns*/) {
    if (carrier_ != nullptr && carrier_->paused.load(std::memory_order_relaxed) != 0) {
      plea.make(*carrier_); // the word may have to come from another node
    }
  };
  // The acquire belongs to the release by which a signal, or a put, is stored.
  wait_with(Waiter([&] { return compares(word.load(std::memory_order_acquire), comparison, value); },
                   [&] { return helper_ != nullptr && helper_->round(); }, {.asks_mpi = helper_ != nullptr}, Nothing{},
                   plead));
}

} // namespace stoker::engine
