// SPDX-License-Identifier: BSD-3-Clause
// Programs in a readable form.
#include "algos/schedule/print.hpp"

namespace stoker::algos {

namespace {

std::string to_text(std::span<const Slice> slices) {
  std::string text;
  for (const Slice& slice : slices) {
    text += (text.empty() ? "" : " + ") + to_text(slice);
  }
  return text.empty() ? "nothing" : text;
}

std::string action(const Step& step) {
  switch (step.kind) {
  case StepKind::send:
    return "send to " + std::to_string(step.peer);
  case StepKind::recv:
    return "recv from " + std::to_string(step.peer);
  case StepKind::copy:
    return "copy";
  case StepKind::put:
    return "put to " + std::to_string(step.peer);
  case StepKind::fence:
    return "fence";
  case StepKind::reduce:
    return "reduce";
  }
  return "unknown kind " + std::to_string(static_cast<int>(step.kind));
}

} // namespace

std::string_view name_of(Buffer buffer) {
  switch (buffer) {
  case Buffer::send:
    return "send";
  case Buffer::recv:
    return "recv";
  case Buffer::scratch:
    return "scratch";
  }
  return "unknown buffer";
}

std::string to_text(const Slice& slice) {
  std::string text(name_of(slice.buffer));
  text += "[" + std::to_string(slice.offset) + ".." + std::to_string(slice.offset + slice.length) + ")";
  if (slice.count != 1) {
    text += " x" + std::to_string(slice.count) + " every " + std::to_string(slice.stride);
  }
  return text;
}

std::string describe(const Step& step, StepId id) { return "step " + std::to_string(id) + " (" + action(step) + ")"; }

std::string to_text(const Program& program) {
  std::vector<std::string> after(program.steps.size());
  for (StepId id = 0; id < program.steps.size(); ++id) {
    for (const StepId successor : program.successors_of(program.steps[id])) {
      after[successor] += " " + std::to_string(id);
    }
  }
  std::string text = "rank " + std::to_string(program.rank) + " of " + std::to_string(program.ranks) + ": send " +
                     std::to_string(program.send_bytes) + " B, recv " + std::to_string(program.recv_bytes) +
                     " B, scratch " + std::to_string(program.scratch_bytes) + " B, ";
  if (program.element_bytes != 1) {
    text += "elements of " + std::to_string(program.element_bytes) + " B, ";
  }
  text += std::to_string(program.steps.size()) + " steps\n";
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    text += "  " + std::to_string(id) + ": " + action(step);
    text += step.announced ? ", announced" : "";
    text += step.kind == StepKind::fence ? "" : ", " + std::to_string(step.bytes) + " B: ";
    switch (step.kind) {
    case StepKind::send:
      text += to_text(program.sources(step));
      break;
    case StepKind::recv:
      text += to_text(program.targets(step));
      if (step.message != Operand::none) {
        const std::string other = to_text(program.sources(step));
        text += step.message == Operand::left ? " = message (op) " + other : " = " + other + " (op) message";
      }
      break;
    case StepKind::copy:
      text += to_text(program.targets(step)) + " = " + to_text(program.sources(step));
      break;
    case StepKind::put:
      text += to_text(program.sources(step)) + " to its " + to_text(program.targets(step));
      break;
    case StepKind::fence:
      break;
    case StepKind::reduce: {
      const auto [left, right] = operands(program, step);
      text += to_text(program.targets(step)) + " = " + to_text(left) + " (op) " + to_text(right);
      break;
    }
    }
    if (!after[id].empty()) {
      text += ", after" + after[id];
    }
    text += "\n";
  }
  return text;
}

} // namespace stoker::algos
