// SPDX-License-Identifier: BSD-3-Clause
#include "algos/schedule/listing.hpp"

#include "algos/schedule/matching.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace stoker::algos {

namespace {

// Bytes that follow each other in a rank's buffer.
struct Run {
  std::string place; // without its offset
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

std::vector<Run> runs_of(std::span<const Slice> slices, int rank) {
  constexpr std::array<std::string_view, 3> names = {"SENDBUF", "RECVBUF", "TEMPBUF"};
  std::vector<Run> runs;
  for (const Slice& slice : slices) {
    const std::string place =
        std::string(names[static_cast<std::size_t>(slice.buffer)]) + "[" + std::to_string(rank) + "]";
    for (std::uint64_t block = 0; block < slice.count; ++block) {
      runs.push_back({place, slice.offset + (block * slice.stride), slice.length});
    }
  }
  return runs;
}

// One instruction for each stretch over which all the places run on.
void append_instructions(std::string& text, const char* instruction, const std::vector<std::vector<Run>>& places,
                         const std::string& peer = "") {
  std::vector<std::size_t> run(places.size(), 0);
  std::vector<std::uint64_t> done(places.size(), 0);
  while (run.front() < places.front().size()) {
    std::uint64_t bytes = places.front()[run.front()].length - done.front();
    for (std::size_t p = 1; p < places.size(); ++p) {
      bytes = std::min(bytes, places[p][run[p]].length - done[p]);
    }
    text += std::string("  ") + instruction;
    for (std::size_t p = 0; p < places.size(); ++p) {
      const Run& at = places[p][run[p]];
      text += " " + at.place + "+" + std::to_string(at.offset + done[p]);
      done[p] += bytes;
      if (done[p] == at.length) {
        ++run[p];
        done[p] = 0;
      }
    }
    text += " " + std::to_string(bytes) + peer + "\n";
  }
}

class Listing {
public:
  Listing(std::span<const Program> programs, const Matching& matching, const topology::Layout& layout, int rank)
      : programs_(programs), matching_(matching), layout_(layout), rank_(rank),
        program_(programs[static_cast<std::size_t>(rank)]), waits_(program_.steps.size(), false) {}

  std::string operator()() {
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const Step& step = program_.steps[id];
      if (waits_[id] && outstanding_) {
        text_ += "  WAITALL\n";
        outstanding_ = false;
      }
      print(step, id);
      if (step.peer >= 0 && !layout_.same_node(rank_, step.peer)) {
        outstanding_ = true;
        for (const StepId next : program_.successors_of(step)) {
          waits_[next] = true;
        }
      }
    }
    return text_ + (outstanding_ ? "  WAITALL\n" : "") + "  RETURN\n";
  }

private:
  void print(const Step& step, StepId id) {
    const auto targets = [&] { return runs_of(program_.targets(step), rank_); };
    const auto sources = [&] { return runs_of(program_.sources(step), rank_); };
    const std::string peer = std::to_string(step.peer);
    const bool near = step.peer >= 0 && layout_.same_node(rank_, step.peer);
    switch (step.kind) {
    case StepKind::send:
    case StepKind::put:
      if (near) {
        text_ += "  SET_NODE_BARRIER " + peer + "\n";
      } else {
        append_instructions(text_, "ISEND", {sources()}, " " + peer);
      }
      break;
    case StepKind::recv:
      receive(step, id, near);
      break;
    case StepKind::copy:
      append_instructions(text_, "SMEMCPY", {targets(), sources()});
      break;
    case StepKind::reduce: {
      const auto [left, right] = operands(program_, step);
      append_instructions(text_, "SREDUCE", {targets(), runs_of(left, rank_), runs_of(right, rank_)});
      break;
    }
    case StepKind::fence:
      text_ += "  FENCE\n";
      break;
    }
  }

  void receive(const Step& step, StepId id, bool near) {
    const std::vector<Run> targets = runs_of(program_.targets(step), rank_);
    const std::string peer = std::to_string(step.peer);
    std::vector<Run> message{{"MESSAGE", 0, step.bytes}};
    if (near) {
      text_ += "  WAIT_NODE_BARRIER " + peer + "\n";
      const Program& theirs = programs_[static_cast<std::size_t>(step.peer)];
      const StepId partner = matching_.partners[static_cast<std::size_t>(rank_)][id];
      message = runs_of(theirs.sources(theirs.steps[partner]), step.peer);
    } else if (step.message == Operand::none) {
      append_instructions(text_, "IRECV", {targets}, " " + peer);
      return;
    } else {
      text_ += "  IRECV MESSAGE+0 " + std::to_string(step.bytes) + " " + peer + "\n  WAITALL\n";
    }
    const std::vector<Run> own = runs_of(program_.sources(step), rank_);
    switch (step.message) {
    case Operand::none:
      append_instructions(text_, "SMEMCPY", {targets, message});
      break;
    case Operand::left:
      append_instructions(text_, "SREDUCE", {targets, message, own});
      break;
    case Operand::right:
      append_instructions(text_, "SREDUCE", {targets, own, message});
      break;
    }
  }

  std::span<const Program> programs_;
  const Matching& matching_;
  const topology::Layout& layout_;
  int rank_;
  const Program& program_;
  std::vector<bool> waits_; // steps that a message has to come, or go, before
  bool outstanding_ = false;
  std::string text_;
};

} // namespace

std::string listing(std::span<const Program> programs, const topology::Layout& layout, int rank) {
  const Matching matching = match(programs);
  if (!matching.defect.empty()) {
    throw std::invalid_argument(matching.defect);
  }
  return Listing(programs, matching, layout, rank)();
}

} // namespace stoker::algos
