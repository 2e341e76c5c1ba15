// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wisdom/program_bytes.hpp"

#include "engine/base/byte_stream.hpp"

#include <string>

namespace stoker::engine {
namespace {

using algos::Program;
using algos::Range;
using algos::Slice;
using algos::Step;

constexpr std::uint64_t step_bytes = (4 * sizeof(std::uint8_t)) + (8 * sizeof(std::uint32_t)) + sizeof(std::uint64_t);
constexpr std::uint64_t slice_bytes = sizeof(std::uint8_t) + (4 * sizeof(std::uint64_t));

void write(ByteWriter& writer, const Range& range) {
  writer.number(range.begin);
  writer.number(range.count);
}

Range read_range(ByteReader& reader) {
  Range range;
  range.begin = reader.number<std::uint32_t>();
  range.count = reader.number<std::uint32_t>();
  return range;
}

void write(ByteWriter& writer, const Step& step) {
  writer.number(static_cast<std::uint8_t>(step.kind));
  writer.number(static_cast<std::uint8_t>(step.message));
  writer.number<std::uint8_t>(step.announced ? 1 : 0);
  writer.number<std::uint8_t>(0);
  writer.number(step.peer);
  write(writer, step.source);
  write(writer, step.target);
  write(writer, step.successors);
  writer.number(step.predecessors);
  writer.number(step.bytes);
}

// Enumerations may get values that have no name; find_defect() checks that.
Step read_step(ByteReader& reader) {
  Step step;
  step.kind = static_cast<algos::StepKind>(reader.number<std::uint8_t>());
  step.message = static_cast<algos::Operand>(reader.number<std::uint8_t>());
  step.announced = reader.number<std::uint8_t>() != 0;
  (void)reader.number<std::uint8_t>();
  step.peer = reader.number<std::int32_t>();
  step.source = read_range(reader);
  step.target = read_range(reader);
  step.successors = read_range(reader);
  step.predecessors = reader.number<std::uint32_t>();
  step.bytes = reader.number<std::uint64_t>();
  return step;
}

void write(ByteWriter& writer, const Slice& slice) {
  writer.number(static_cast<std::uint8_t>(slice.buffer));
  writer.number(slice.offset);
  writer.number(slice.length);
  writer.number(slice.stride);
  writer.number(slice.count);
}

Slice read_slice(ByteReader& reader) {
  Slice slice;
  slice.buffer = static_cast<algos::Buffer>(reader.number<std::uint8_t>());
  slice.offset = reader.number<std::uint64_t>();
  slice.length = reader.number<std::uint64_t>();
  slice.stride = reader.number<std::uint64_t>();
  slice.count = reader.number<std::uint64_t>();
  return slice;
}

} // namespace

std::vector<std::byte> to_bytes(const Program& program) {
  ByteWriter writer;
  writer.number(program.rank);
  writer.number(program.ranks);
  writer.number(program.send_bytes);
  writer.number(program.recv_bytes);
  writer.number(program.scratch_bytes);
  writer.number(program.element_bytes);
  writer.number<std::uint64_t>(program.steps.size());
  for (const Step& step : program.steps) {
    write(writer, step);
  }
  writer.number<std::uint64_t>(program.slices.size());
  for (const Slice& slice : program.slices) {
    write(writer, slice);
  }
  writer.number<std::uint64_t>(program.successors.size());
  for (const algos::StepId successor : program.successors) {
    writer.number(successor);
  }
  return writer.take();
}

Program program_from(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Program program;
  program.rank = reader.number<std::int32_t>();
  program.ranks = reader.number<std::int32_t>();
  program.send_bytes = reader.number<std::uint64_t>();
  program.recv_bytes = reader.number<std::uint64_t>();
  program.scratch_bytes = reader.number<std::uint64_t>();
  program.element_bytes = reader.number<std::uint64_t>();
  program.steps.resize(reader.entries(step_bytes));
  for (Step& step : program.steps) {
    step = read_step(reader);
  }
  program.slices.resize(reader.entries(slice_bytes));
  for (Slice& slice : program.slices) {
    slice = read_slice(reader);
  }
  program.successors.resize(reader.entries(sizeof(algos::StepId)));
  for (algos::StepId& successor : program.successors) {
    successor = reader.number<algos::StepId>();
  }
  if (!reader.rest().empty()) {
    throw std::invalid_argument("bytes are left over behind the program");
  }
  if (const std::string defect = algos::find_defect(program); !defect.empty()) {
    throw std::invalid_argument("its program is none: " + defect);
  }
  return program;
}

} // namespace stoker::engine
