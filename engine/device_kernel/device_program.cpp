// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device_kernel/device_program.hpp"

#include "engine/base/error.hpp"
#include "engine/base/round_up.hpp"
#include "engine/device_kernel/step_graph.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace stoker::engine::device {
namespace {

using algos::StepKind;

bool on_devices(ReduceType type) {
  return type != ReduceType::long_float && type != ReduceType::complex_long_float && type != ReduceType::long_float_int;
}

void check_operation(std::span<const algos::Program> programs, OperationCode operation) {
  for (const algos::Program& program : programs) {
    if (std::ranges::none_of(program.steps, [](const algos::Step& step) { return algos::combines(step); })) {
      continue;
    }
    check_on_devices(operation);
    if (!combinable(operation)) {
      throw Error(Code::argument, "op {} has no meaning on type {}; expected one that has",
                  static_cast<int>(operation.op), static_cast<int>(operation.type));
    }
    if (program.element_bytes % size_of(operation.type) != 0) {
      throw Error(Code::argument, "rank {}: elements have {} bytes; expected a multiple of the {} that op combines",
                  program.rank, program.element_bytes, size_of(operation.type));
    }
  }
}

void check_programs(std::span<const algos::Program> programs) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const algos::Program& program = programs[rank];
    if (program.rank != static_cast<int>(rank) || program.ranks != static_cast<int>(programs.size())) {
      throw Error(Code::argument,
                  "program {} of {} is that of rank {} of {}; expected those of all ranks, in their order", rank,
                  programs.size(), program.rank, program.ranks);
    }
    if (const std::string defect = algos::find_defect(program); !defect.empty()) {
      throw Error(Code::argument, "rank {}: {}", rank, defect);
    }
  }
}

class Maker {
public:
  Maker(std::span<const algos::Program> programs, const algos::Matching& matching, const ProgramOptions& options)
      : programs_(programs), matching_(matching), options_(options), nodes_(step_graph(programs, matching)),
        ranks_(programs.size()), number_(nodes_.size()) {
    header_.ranks = static_cast<std::uint32_t>(programs.size());
    header_.operation = options.operation;
  }

  std::vector<std::byte> made() {
    take_slices();
    const std::vector<NodeId> order = instructions_in_order();
    for (const NodeId id : order) {
      append_instruction(id);
    }
    append_waits(order);
    append_signals(order);
    return written();
  }

private:
  // All slices of a rank follow those of the one before.
  void take_slices() {
    for (const algos::Program& program : programs_) {
      first_slice_.push_back(static_cast<std::uint32_t>(slices_.size()));
      for (const algos::Slice& slice : program.slices) {
        slices_.push_back(
            {.buffer = 3 * static_cast<std::uint32_t>(program.rank) + static_cast<std::uint32_t>(slice.buffer),
             .offset = slice.offset,
             .length = slice.length,
             .stride = slice.stride,
             .count = slice.count});
      }
    }
  }
  [[nodiscard]] Range slices(std::size_t rank, const algos::Range& range) const {
    return {first_slice_[rank] + range.begin, range.count};
  }

  // Those with work, the ends, and those that these wait for: by rank, then by level. Levels are the order of all ranks
  // together that the kernel relies on.
  [[nodiscard]] std::vector<NodeId> instructions_in_order() const {
    std::vector<NodeId> order;
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      order.push_back(id);
    }
    std::ranges::stable_sort(order, std::greater(), [&](NodeId id) { return nodes_[id].level; });
    std::vector<bool> wanted(nodes_.size());
    for (const NodeId id : order) {
      wanted[id] = wanted[id] || nodes_[id].kind == Node::Kind::end || has_work(programs_, matching_, nodes_[id]);
      for (const NodeId before : wanted[id] ? nodes_[id].after : std::vector<NodeId>()) {
        wanted[before] = true;
      }
    }
    std::erase_if(order, [&](NodeId id) { return !wanted[id]; });
    std::ranges::sort(order, {}, [&](NodeId id) { return std::tuple(nodes_[id].rank, nodes_[id].level, id); });
    return order;
  }

  void append_instruction(NodeId id) {
    const Node& node = nodes_[id];
    RankPart& rank = ranks_[node.rank];
    if (rank.instructions.count++ == 0) {
      rank.instructions.begin = static_cast<std::uint32_t>(instructions_.size());
    }
    number_[id] = static_cast<std::uint32_t>(instructions_.size());
    Instruction instruction{.counter = rank.words++};
    if (has_work(programs_, matching_, node)) {
      set_work(node, instruction);
    }
    instructions_.push_back(instruction);
  }

  void set_work(const Node& node, Instruction& instruction) {
    const algos::Program& program = programs_[node.rank];
    const algos::Step& step = program.steps[node.step];
    instruction.work = algos::combines(step) ? Work::combine : Work::copy;
    instruction.bytes = step.bytes;
    instruction.target = slices(node.rank, step.target);
    instruction.left = slices(node.rank, step.source);
    if (step.kind == StepKind::reduce) {
      const auto left = static_cast<std::uint32_t>(algos::operands(program, step).left.size());
      instruction.left.count = left;
      instruction.right = slices(node.rank, {step.source.begin + left, step.source.count - left});
    } else if (step.kind == StepKind::recv || step.kind == StepKind::put) {
      const auto peer = static_cast<std::size_t>(step.peer);
      const algos::Step& partner = programs_[peer].steps[matching_.partners[node.rank][node.step]];
      if (step.kind == StepKind::put) {
        instruction.target = slices(peer, partner.target);
      } else {
        instruction.right = instruction.left; // the operand that is not the message
        instruction.left = slices(peer, partner.source);
      }
      if (step.message == algos::Operand::right) {
        std::swap(instruction.left, instruction.right);
      }
    }
    const std::uint64_t blocks =
        step.bytes / options_.bytes_per_block + (step.bytes % options_.bytes_per_block != 0 ? 1 : 0);
    instruction.workers = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, options_.most_blocks));
    header_.blocks = std::max(header_.blocks, instruction.workers);
  }

  // Each rank that waits for an instruction of another has one flag for it.
  void append_waits(std::span<const NodeId> order) {
    for (const NodeId id : order) {
      Instruction& instruction = instructions_[number_[id]];
      instruction.waits.begin = static_cast<std::uint32_t>(waits_.size());
      const std::uint32_t rank = nodes_[id].rank;
      for (const NodeId before : nodes_[id].after) {
        const Instruction& awaited = instructions_[number_[before]];
        if (nodes_[before].rank == rank) {
          waits_.push_back({.word = awaited.counter, .per_epoch = awaited.workers});
          continue;
        }
        const auto [flag, fresh] = flags_[before].try_emplace(rank, ranks_[rank].words);
        ranks_[rank].words += fresh ? 1 : 0;
        waits_.push_back({.word = flag->second, .per_epoch = 1});
      }
      instruction.waits.count = static_cast<std::uint32_t>(waits_.size()) - instruction.waits.begin;
    }
  }

  void append_signals(std::span<const NodeId> order) {
    for (const NodeId id : order) {
      Instruction& instruction = instructions_[number_[id]];
      instruction.signals.begin = static_cast<std::uint32_t>(signals_.size());
      for (const auto& [rank, word] : flags_[id]) {
        signals_.push_back({.rank = rank, .word = word});
      }
      instruction.signals.count = static_cast<std::uint32_t>(signals_.size()) - instruction.signals.begin;
    }
  }

  // Appends an array, and returns where it begins.
  template <class T>
  std::uint64_t write(const std::vector<T>& array) {
    if (array.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(Code::resource, "the programs have {} steps, slices or dependencies; expected less than 2^32",
                  array.size());
    }
    const std::size_t place = round_up(bytes_.size(), alignof(T));
    bytes_.resize(place + array.size() * sizeof(T));
    if (!array.empty()) {
      std::memcpy(bytes_.data() + place, array.data(), array.size() * sizeof(T));
    }
    return place;
  }

  std::vector<std::byte> written() {
    bytes_.resize(sizeof(ProgramHeader));
    header_.ranks_at = write(ranks_);
    header_.instructions_at = write(instructions_);
    header_.waits_at = write(waits_);
    header_.signals_at = write(signals_);
    header_.slices_at = write(slices_);
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return std::move(bytes_);
  }

  std::span<const algos::Program> programs_;
  const algos::Matching& matching_;
  const ProgramOptions& options_;
  std::vector<Node> nodes_;
  ProgramHeader header_;
  std::vector<RankPart> ranks_;
  std::vector<Instruction> instructions_;
  std::vector<Wait> waits_;
  std::vector<Signal> signals_;
  std::vector<Slice> slices_;
  std::vector<std::uint32_t> first_slice_;                         // of each rank
  std::vector<std::uint32_t> number_;                              // of each node that is an instruction
  std::map<NodeId, std::map<std::uint32_t, std::uint32_t>> flags_; // of nodes: words of the ranks that wait
  std::vector<std::byte> bytes_;
};

} // namespace

void check_on_devices(OperationCode operation) {
  if (operation.op == ReduceOp::user) {
    throw Error(Code::unsupported,
                "op is one of the application's, which devices cannot call; expected a predefined one");
  }
  if (!on_devices(operation.type)) {
    throw Error(Code::unsupported, "datatype is made of long double, which devices do not have; expected another one");
  }
}

DeviceProgram::DeviceProgram(std::span<const algos::Program> programs, const ProgramOptions& options) {
  check_programs(programs);
  check_operation(programs, options.operation);
  const algos::Matching matching = algos::match(programs);
  if (!matching.defect.empty()) {
    throw Error(Code::argument, matching.defect);
  }
  bytes_ = Maker(programs, matching, options).made();
}

std::uint32_t DeviceProgram::words(std::uint32_t rank) const {
  return reinterpret_cast<const RankPart*>(bytes_.data() + header().ranks_at)[rank].words;
}

} // namespace stoker::engine::device
