// SPDX-License-Identifier: BSD-3-Clause
// Proof that a schedule does what it should.
#include "algos/verify/verifier.hpp"

#include "algos/verify/interpreter.hpp"

#include <algorithm>
#include <stdexcept>

namespace stoker::algos {

namespace {

std::string_view name_of(Order order) {
  switch (order) {
  case Order::breadth_first:
    return "breadth first";
  case Order::depth_first:
    return "depth first";
  case Order::low_ranks_first:
    return "low ranks first";
  case Order::high_ranks_first:
    return "high ranks first";
  case Order::last_steps_first:
    return "last steps first";
  case Order::random:
    return "random order";
  }
  return "unknown order";
}

// One more than the largest token, which must stay a token when every epoch has its own.
Token token_count(std::span<const Contents> contents, int epochs) {
  Token largest = 0;
  for (const Contents& rank : contents) {
    if (rank.recv.size() != rank.result.size()) {
      throw std::invalid_argument("a recv buffer and its expected result differ in length");
    }
    for (const auto* buffer : {&rank.send, &rank.recv, &rank.result}) {
      for (const Token token : *buffer) {
        // Only results are combined.
        const bool sum = is_combined(token) && buffer == &rank.result;
        largest = std::max(largest, sum ? undefined : token);
      }
    }
  }
  if (epochs < 1 || largest >= inputs_end / static_cast<Token>(epochs)) {
    throw std::invalid_argument("too many tokens for this number of epochs");
  }
  return largest + 1;
}

std::string program_defect(std::span<const Program> programs, std::span<const Contents> contents) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    const std::string who = "rank " + std::to_string(rank);
    if (program.rank != static_cast<int>(rank) || program.ranks != static_cast<int>(programs.size())) {
      return who + " of " + std::to_string(programs.size()) + " has the program of rank " +
             std::to_string(program.rank) + " of " + std::to_string(program.ranks);
    }
    if (const std::string defect = find_defect(program); !defect.empty()) {
      return std::string(who).append(", ").append(defect);
    }
    if (program.send_bytes > contents[rank].send.size() || program.recv_bytes > contents[rank].recv.size()) {
      return who + " claims larger buffers than it has: " + std::to_string(program.send_bytes) + " of " +
             std::to_string(contents[rank].send.size()) + " bytes to send, " + std::to_string(program.recv_bytes) +
             " of " + std::to_string(contents[rank].recv.size()) + " to receive";
    }
  }
  return {};
}

} // namespace

std::string Execution::name() const {
  std::string text(sending == Sending::buffered ? "buffered" : "rendezvous");
  text += ", " + std::string(name_of(order));
  return order == Order::random ? text + " " + std::to_string(seed) : text;
}

std::vector<Execution> all_executions(std::uint64_t seeds) {
  std::vector<Execution> runs;
  for (const Sending sending : {Sending::rendezvous, Sending::buffered}) {
    for (const Order order : {Order::breadth_first, Order::depth_first, Order::low_ranks_first, Order::high_ranks_first,
                              Order::last_steps_first}) {
      runs.push_back({sending, order});
    }
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      runs.push_back({sending, Order::random, seed});
    }
  }
  return runs;
}

std::string verify(std::span<const Program> programs, std::span<const Contents> contents,
                   std::span<const Execution> runs, int epochs, Terms& terms) {
  if (programs.size() != contents.size()) {
    throw std::invalid_argument("verify needs the contents of each program's buffers");
  }
  const Token tokens = token_count(contents, epochs);
  if (std::string defect = program_defect(programs, contents); !defect.empty()) {
    return defect;
  }
  const Matching matching = match(programs);
  if (!matching.defect.empty()) {
    return matching.defect;
  }
  for (const Execution& run : runs) {
    if (std::string defect = Interpreter(programs, matching, contents, tokens, run, epochs, terms)(); !defect.empty()) {
      return defect;
    }
  }
  return {};
}

std::string verify(std::span<const Program> programs, std::span<const Contents> contents, Terms& terms) {
  return verify(programs, contents, all_executions(), 3, terms);
}

std::string verify(std::span<const Program> programs, std::span<const Contents> contents,
                   std::span<const Execution> runs, int epochs) {
  Terms terms;
  return verify(programs, contents, runs, epochs, terms);
}

std::string verify(std::span<const Program> programs, std::span<const Contents> contents) {
  return verify(programs, contents, all_executions());
}

} // namespace stoker::algos
