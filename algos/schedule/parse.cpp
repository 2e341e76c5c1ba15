// SPDX-License-Identifier: BSD-3-Clause
#include "algos/schedule/parse.hpp"

#include "algos/schedule/print.hpp"
#include "algos/schedule/scanner.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace stoker::algos {

namespace {

constexpr std::uint64_t most_ranks_of_texts = 1U << 20U; // a text of more is no text

Slice slice(Scanner& line) {
  Slice result;
  constexpr std::string_view buffers = "a slice of send, recv or scratch, as in recv[0..8)";
  Scanner at = line; // for errors
  const std::string_view name = line.word(buffers);
  for (const Buffer buffer : {Buffer::send, Buffer::recv, Buffer::scratch}) {
    if (name == name_of(buffer)) {
      result.buffer = buffer;
      line.expect("[");
      at = line;
      result.offset = line.number("the first byte");
      line.expect("..");
      const std::uint64_t end = line.number("the end");
      line.expect(")");
      if (end <= result.offset) {
        at.refuse("a first byte before the end");
      }
      result.length = end - result.offset;
      if (line.accept("x")) {
        result.count = line.number("the number of blocks");
        line.expect("every");
        result.stride = line.number("the distance of two blocks");
      }
      return result;
    }
  }
  at.refuse(buffers);
}

std::vector<Slice> slices(Scanner& line) {
  std::vector<Slice> result;
  if (line.accept("nothing")) {
    return result;
  }
  do {
    result.push_back(slice(line));
  } while (line.accept("+"));
  return result;
}

std::uint64_t bytes_of(const std::vector<Slice>& all) {
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Slice& slice) { return sum + slice.bytes(); });
}

// One program, line by line.
class ProgramReader {
public:
  // Behind "rank".
  ProgramReader(Scanner& line, std::size_t number) : heading_(number) {
    program_.rank = static_cast<std::int32_t>(line.number("a rank", most_ranks_of_texts));
    line.expect("of");
    program_.ranks = static_cast<std::int32_t>(line.number("the number of ranks", most_ranks_of_texts));
    line.expect(":");
    const auto bytes = [&](const char* buffer) {
      line.expect(buffer);
      const std::uint64_t size = line.number("a size in bytes");
      line.expect("B");
      return size;
    };
    program_.send_bytes = bytes("send");
    line.expect(",");
    program_.recv_bytes = bytes("recv");
    line.expect(",");
    program_.scratch_bytes = bytes("scratch");
    while (line.accept(",")) {
      if (line.accept("elements")) {
        program_.element_bytes = bytes("of");
      } else {
        steps_ = line.number("elements of so many bytes, or a number of steps");
        line.expect("steps");
      }
    }
    line.expect_end();
  }

  [[nodiscard]] std::size_t heading() const { return heading_; }
  [[nodiscard]] const Program& program() const { return program_; }

  void step(Scanner& line) {
    Scanner at = line; // for errors, as below
    if (line.number("the number of a step, or the heading of a rank") != program_.steps.size()) {
      at.refuse("step " + std::to_string(program_.steps.size()));
    }
    line.expect(":");
    Step step;
    action(line, step);
    if (step.kind != StepKind::fence) {
      std::optional<std::uint64_t> bytes;
      while (line.accept(",")) {
        at = line;
        if (line.accept("announced")) {
          step.announced = true;
        } else {
          bytes = line.number("announced, or a number of bytes");
          line.expect("B");
        }
      }
      line.expect(":");
      operands(line, step);
      if (bytes && *bytes != step.bytes) {
        at.refuse("the bytes of the slices, " + std::to_string(step.bytes) + " B");
      }
    }
    if (line.accept(",")) {
      line.expect("after");
      waits(line, step);
    }
    line.expect_end();
    program_.steps.push_back(step);
  }

  // When all lines have been read.
  [[nodiscard]] Program finish() && {
    if (steps_ && *steps_ != program_.steps.size()) {
      throw std::invalid_argument("rank " + std::to_string(program_.rank) + " has " +
                                  std::to_string(program_.steps.size()) + " steps; expected " +
                                  std::to_string(*steps_) + ", as its heading says");
    }
    link();
    if (const std::string defect = find_defect(program_); !defect.empty()) {
      throw std::invalid_argument("rank " + std::to_string(program_.rank) + ", " + defect);
    }
    return std::move(program_);
  }

private:
  void action(Scanner& line, Step& step) const {
    constexpr std::string_view instructions = "send to, recv from, copy, reduce, put to or fence";
    const auto peer = [&](std::string_view preposition) {
      line.expect(preposition);
      Scanner at = line;
      step.peer = static_cast<std::int32_t>(line.number("a rank", most_ranks_of_texts));
      if (step.peer >= program_.ranks || step.peer == program_.rank) {
        at.refuse("another rank, of 0 to " + std::to_string(program_.ranks - 1));
      }
    };
    Scanner at = line;
    const std::string_view name = line.word(instructions);
    if (name == "send" || name == "put") {
      step.kind = name == "send" ? StepKind::send : StepKind::put;
      peer("to");
    } else if (name == "recv") {
      step.kind = StepKind::recv;
      peer("from");
    } else if (name == "copy") {
      step.kind = StepKind::copy;
    } else if (name == "reduce") {
      step.kind = StepKind::reduce;
    } else if (name == "fence") {
      step.kind = StepKind::fence;
    } else {
      at.refuse(instructions);
    }
  }

  void operands(Scanner& line, Step& step) {
    const std::vector<Slice> first = slices(line);
    const auto read = [&](const std::vector<Slice>& all) { step.source = append(all); };
    const auto written = [&](const std::vector<Slice>& all) { step.target = append(all); };
    step.bytes = bytes_of(first);
    switch (step.kind) {
    case StepKind::send:
      read(first);
      break;
    case StepKind::put:
      read(first);
      line.expect("to");
      line.expect("its");
      written(slices(line));
      break;
    case StepKind::copy:
      line.expect("=");
      read(slices(line));
      written(first);
      break;
    case StepKind::recv:
      read(line.accept("=") ? other_operand(line, step) : std::vector<Slice>());
      written(first);
      break;
    case StepKind::reduce: {
      line.expect("=");
      std::vector<Slice> both = slices(line);
      line.expect("(op)");
      const std::vector<Slice> right = slices(line);
      both.insert(both.end(), right.begin(), right.end());
      read(both);
      written(first);
      break;
    }
    case StepKind::fence:
      break;
    }
  }

  // "message (op) recv[0..8)", or the other way round.
  [[nodiscard]] static std::vector<Slice> other_operand(Scanner& line, Step& step) {
    step.message = line.accept("message") ? Operand::left : Operand::right;
    std::vector<Slice> other;
    if (step.message == Operand::right) {
      other = slices(line);
      line.expect("(op)");
      line.expect("message");
    } else {
      line.expect("(op)");
      other = slices(line);
    }
    return other;
  }

  void waits(Scanner& line, Step& step) {
    const auto id = static_cast<StepId>(program_.steps.size());
    do {
      Scanner at = line;
      const auto before =
          static_cast<StepId>(line.number("the number of an earlier step", std::numeric_limits<StepId>::max()));
      // The edges of one step stand at the end.
      const auto first = edges_.end() - static_cast<std::ptrdiff_t>(step.predecessors);
      if (before >= id || std::find(first, edges_.end(), std::pair(before, id)) != edges_.end()) {
        at.refuse("another earlier step");
      }
      edges_.emplace_back(before, id);
      ++step.predecessors;
    } while (line.at_number());
  }

  Range append(const std::vector<Slice>& all) {
    const Range range{static_cast<std::uint32_t>(program_.slices.size()), static_cast<std::uint32_t>(all.size())};
    program_.slices.insert(program_.slices.end(), all.begin(), all.end());
    return range;
  }

  void link() {
    std::ranges::stable_sort(edges_, {}, &std::pair<StepId, StepId>::first);
    for (const auto& [before, after] : edges_) {
      Range& successors = program_.steps[before].successors;
      ++successors.count;
      program_.successors.push_back(after);
    }
    std::uint32_t begin = 0;
    for (Step& step : program_.steps) {
      step.successors.begin = begin;
      begin += step.successors.count;
    }
  }

  std::size_t heading_; // its line
  Program program_;
  std::optional<std::uint64_t> steps_;           // that the heading promises
  std::vector<std::pair<StepId, StepId>> edges_; // before, after
};

[[noreturn]] void refuse(std::size_t line, const std::string& what) {
  throw std::invalid_argument("line " + std::to_string(line) + ": " + what);
}

// The programs in rank order.
std::vector<Program> in_order(std::vector<ProgramReader> readers, std::size_t end) {
  if (readers.empty()) {
    refuse(end, "there is no program; expected a heading, as in rank 0 of 2: send 8 B, recv 8 B, scratch 0 B");
  }
  const std::int32_t ranks = readers.front().program().ranks;
  std::ranges::stable_sort(readers, {}, [](const ProgramReader& reader) { return reader.program().rank; });
  std::vector<Program> programs;
  for (ProgramReader& reader : readers) {
    const Program& program = reader.program();
    const auto next = static_cast<std::int32_t>(programs.size());
    if (program.ranks != ranks || program.rank >= ranks) {
      refuse(reader.heading(), "rank " + std::to_string(program.rank) + " of " + std::to_string(program.ranks) +
                                   "; expected ranks of " + std::to_string(ranks) + ", as in the first heading");
    }
    if (program.rank < next) {
      refuse(reader.heading(),
             "rank " + std::to_string(program.rank) + " for the second time; expected each rank once");
    }
    if (program.rank > next) {
      break;
    }
    try {
      programs.push_back(std::move(reader).finish());
    } catch (const std::invalid_argument& error) {
      refuse(reader.heading(), error.what());
    }
  }
  if (static_cast<std::int32_t>(programs.size()) < ranks) {
    refuse(end, "the program of rank " + std::to_string(programs.size()) + " is missing; expected those of all " +
                    std::to_string(ranks) + " ranks");
  }
  return programs;
}

} // namespace

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.substr(0, line.find('#'));
}

std::vector<Program> parse_programs(std::string_view text, std::size_t first_line) {
  std::vector<ProgramReader> readers;
  std::size_t number = first_line;
  for (; !text.empty(); ++number) {
    Scanner line(take_line(text));
    if (line.at_end()) {
      continue;
    }
    try {
      if (line.accept("rank")) {
        readers.emplace_back(line, number);
      } else if (readers.empty()) {
        line.refuse("the heading of a rank, as in rank 0 of 2: send 8 B, recv 8 B, scratch 0 B");
      } else {
        readers.back().step(line);
      }
    } catch (const std::invalid_argument& error) {
      refuse(number, error.what());
    }
  }
  return in_order(std::move(readers), number);
}

} // namespace stoker::algos
