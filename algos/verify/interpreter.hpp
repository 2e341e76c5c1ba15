// SPDX-License-Identifier: BSD-3-Clause
// Runs the programs of all ranks in one process, one step after the other, in an order of the caller's choice. The
// inside of the verifier.
#pragma once

#include "algos/schedule/matching.hpp"
#include "algos/verify/verifier.hpp"

#include <functional>
#include <queue>
#include <random>
#include <utility>

namespace stoker::algos {

class Interpreter {
public:
  // All arguments outlive the interpreter. The programs match; `tokens` is one more than the largest token in
  // `contents`.
  Interpreter(std::span<const Program> programs, const Matching& matching, std::span<const Contents> contents,
              Token tokens, const Execution& run, int epochs, Terms& terms);

  // Runs to the end or to the first defect, which it returns in words.
  [[nodiscard]] std::string operator()();

private:
  // Messages of one send that their recv has not taken yet, oldest first. There are as many mailboxes as steps, and
  // hardly ever two messages in one: a vector, which costs nothing while it is empty.
  using Mailbox = std::vector<std::vector<Token>>;

  struct Rank {
    int epoch = 0; // counts from 1; beyond the last when all is done
    std::size_t steps_left = 0;
    std::vector<std::uint32_t> waits_for; // of each step: predecessors to come
    std::vector<bool> posted;             // can run as far as its own rank is concerned
    std::vector<bool> done;
    std::vector<Mailbox> mailboxes; // of each send
    std::vector<std::vector<Token>>
        operands;      // of each recv that combines: what it had besides the message when it was posted
    StepId fences = 0; // how many of its fences it has come to in this epoch
    std::vector<Token> recv;
    std::vector<Token> scratch;
  };

  // A step that can run now. Of two, the one with the smaller key goes first.
  struct Event {
    std::uint64_t key;
    int rank;
    StepId step;
    bool operator>(const Event& other) const { return key > other.key; }
  };

  void start_epoch(int rank);
  void check_result(int rank);
  void post(int rank, StepId step);
  void enqueue(int rank, StepId step);
  void meet(int rank, StepId fence);
  // Whether the message of a send, or of the one that a recv meets, is kept for the receiver.
  [[nodiscard]] bool kept(int rank, StepId step) const;
  void execute(int rank, StepId step);
  void complete(int rank, StepId step);

  [[nodiscard]] std::vector<Token> read(int rank, StepId step, std::span<const Slice> slices);
  [[nodiscard]] std::vector<Token> read(int rank, StepId step);
  [[nodiscard]] std::vector<Token> combine(std::vector<Token> left, std::span<const Token> right);
  void receive(int rank, StepId step, std::vector<Token> message);
  void write(int rank, StepId step, std::span<const Token> bytes);
  void poison(int rank, StepId step); // its targets
  // Calls visit(first token, length) for each stretch of the step's targets, in order.
  template <class Visit>
  void for_each_target(int rank, StepId step, Visit visit);
  [[nodiscard]] std::vector<Token>& written_buffer(int rank, Buffer buffer);
  // The value of an input token in the given epoch.
  [[nodiscard]] Token fresh(Token token, int epoch) {
    return Terms::moved_on(token, static_cast<Token>(epoch - 1) * tokens_);
  }

  void fail(const std::string& what);
  [[nodiscard]] std::string name(int rank, StepId step) const;
  [[nodiscard]] std::string origin(Token token) const;
  [[nodiscard]] std::string deadlock() const;
  [[nodiscard]] StepId first_open_step(int rank) const;
  [[nodiscard]] std::pair<int, StepId> blocker(int rank, StepId step) const;

  std::span<const Program> programs_;
  const Matching& matching_;
  std::span<const Contents> contents_;
  Token tokens_;
  Execution run_;
  int epochs_;

  std::vector<Rank> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t enqueued_ = 0;
  std::mt19937_64 random_;
  Terms& terms_;
  std::string defect_;
};

} // namespace stoker::algos
