// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/delivery.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace stoker::engine {

int receive(const Program& program, const StepView& view, const Place& message) {
  const Place target{program.buffers(), view.target};
  const Place other{program.buffers(), view.operand};
  switch (view.step->message) {
  case algos::Operand::left:
    return combine(program.combiner(), target, message, other);
  case algos::Operand::right:
    return combine(program.combiner(), target, other, message);
  case algos::Operand::none:
    break;
  }
  return transfer(target.views, target.slices, message.views, message.slices);
}

int receive(const Program& program, const StepView& view, std::byte* message, std::uint64_t bytes) {
  return receive(program, view, Contiguous(message, bytes).place());
}

void note_length(const Program& program, const StepView& view, std::uint32_t index, std::uint64_t bytes) {
  const LoweredStep& step = *view.step;
  if (bytes > step.bytes) {
    char text[sizeof(Block::error_text)];
    std::snprintf(text, sizeof text, "rank %d: the message from rank %d has %llu bytes; expected %llu at most",
                  program.lowered().rank, step.peer, static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(step.bytes));
    record_error(program.block(), static_cast<int>(Code::mismatch), text);
  } else if (program.lowered().any_sizes != 0) {
    program.bytes_received(index) = bytes;
  }
}

void record_error(Block& block, int error, const char* text) {
  if (block.error.load(std::memory_order_relaxed) == 0) {
    std::snprintf(block.error_text, sizeof block.error_text, "%s", text);
    block.has_failed = true;
    block.error.store(error, std::memory_order_relaxed);
  }
}

void record_not_fetched(const Program& program, const StepView& view, Code code, const char* reason) {
  char text[sizeof(Block::error_text)];
  const bool sends = view.step->op == Op::send_node;
  std::snprintf(text, sizeof text, "rank %d: the message of %llu bytes %s rank %d could not be %s: %s",
                program.lowered().rank, static_cast<unsigned long long>(view.step->bytes), sends ? "to" : "from",
                view.step->peer, sends ? "read" : "fetched", reason);
  record_error(program.block(), static_cast<int>(code), text);
}

void check_transfer(const Program& program, const StepView& view, int failure) {
  if (failure != 0) {
    record_not_fetched(program, view,
                       failure == ESRCH    ? Code::peer_lost
                       : failure == ENOMEM ? Code::resource
                                           : Code::access,
                       failure == ECANCELED
                           ? "its sender has failed before"
                           : std::strerror(failure)); // NOLINT(concurrency-mt-unsafe): the texts are constant
  }
}

} // namespace stoker::engine
