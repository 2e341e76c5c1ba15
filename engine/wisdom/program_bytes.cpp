// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wisdom/program_bytes.hpp"

#include "engine/base/byte_stream.hpp"

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace stoker::engine {
namespace {

using algos::Program;
using algos::Range;
using algos::Slice;
using algos::Step;

constexpr std::uint64_t step_bytes = (4 * sizeof(std::uint8_t)) + (8 * sizeof(std::uint32_t)) + sizeof(std::uint64_t);
constexpr std::uint64_t slice_bytes = sizeof(std::uint8_t) + (4 * sizeof(std::uint64_t));

template <class T, class Type>
concept IsOf = std::same_as<std::remove_const_t<T>, Type>;

// The members in their order in the file. `file` writes or reads them.
void members(auto& file, IsOf<Range> auto& range) { file(range.begin, range.count); }

void members(auto& file, IsOf<Slice> auto& slice) {
  file(slice.buffer, slice.offset, slice.length, slice.stride, slice.count);
}

void members(auto& file, IsOf<Step> auto& step) {
  std::uint8_t unused = 0;
  file(step.kind, step.message, step.announced, unused, step.peer);
  members(file, step.source);
  members(file, step.target);
  members(file, step.successors);
  file(step.predecessors, step.bytes);
}

void members(auto& file, IsOf<algos::StepId> auto& step) { file(step); }

void members(auto& file, IsOf<Program> auto& program) {
  file(program.rank, program.ranks, program.send_bytes, program.recv_bytes, program.scratch_bytes,
       program.element_bytes);
  file.list(program.steps, step_bytes);
  file.list(program.slices, slice_bytes);
  file.list(program.successors, sizeof(algos::StepId));
}

// Enumerations and switches are bytes.
template <class T>
using Stored = std::conditional_t<std::is_enum_v<T> || std::is_same_v<T, bool>, std::uint8_t, T>;

struct Output {
  ByteWriter writer;
  template <class... T>
  void operator()(T... values) {
    (writer.number(static_cast<Stored<T>>(values)), ...);
  }
  template <class T>
  void list(const std::vector<T>& entries, std::uint64_t /*each*/) {
    writer.number<std::uint64_t>(entries.size());
    for (const T& entry : entries) {
      members(*this, entry);
    }
  }
};

// Enumerations may get values that have no name; find_defect() checks that.
struct Input {
  ByteReader reader;
  template <class... T>
  void operator()(T&... values) {
    ((values = static_cast<T>(reader.number<Stored<T>>())), ...);
  }
  template <class T>
  void list(std::vector<T>& entries, std::uint64_t each) {
    entries.resize(reader.entries(each));
    for (T& entry : entries) {
      members(*this, entry);
    }
  }
};

} // namespace

std::vector<std::byte> to_bytes(const Program& program) {
  Output file;
  members(file, program);
  return file.writer.take();
}

Program program_from(std::span<const std::byte> bytes) {
  Input file{ByteReader(bytes)};
  Program program;
  members(file, program);
  if (!file.reader.rest().empty()) {
    throw std::invalid_argument("bytes are left over behind the program");
  }
  if (const std::string defect = algos::find_defect(program); !defect.empty()) {
    throw std::invalid_argument("its program is none: " + defect);
  }
  return program;
}

} // namespace stoker::engine
