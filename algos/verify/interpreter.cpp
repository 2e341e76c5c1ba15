// SPDX-License-Identifier: BSD-3-Clause
// Runs the programs of all ranks in one process.
#include "algos/verify/interpreter.hpp"

#include "algos/schedule/print.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stoker::algos {

Interpreter::Interpreter(std::span<const Program> programs, const Matching& matching,
                         std::span<const Contents> contents, Token tokens, const Execution& run, int epochs,
                         Terms& terms)
    : programs_(programs), matching_(matching), contents_(contents), tokens_(tokens), run_(run), epochs_(epochs),
      ranks_(programs.size()), random_(run.seed), terms_(terms) {}

std::string Interpreter::operator()() {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].mailboxes.resize(programs_[r].steps.size());
    ranks_[r].operands.resize(programs_[r].steps.size());
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    start_epoch(static_cast<int>(r));
  }
  while (!events_.empty() && defect_.empty()) {
    const Event event = events_.top();
    events_.pop();
    execute(event.rank, event.step);
  }
  const bool stuck = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.steps_left > 0; });
  if (defect_.empty() && stuck) {
    fail(deadlock());
  }
  return std::move(defect_);
}

void Interpreter::start_epoch(int rank) {
  const Program& program = programs_[rank];
  const Contents& contents = contents_[rank];
  Rank& state = ranks_[rank];
  while (++state.epoch <= epochs_ && defect_.empty()) {
    const std::size_t steps = program.steps.size();
    state.steps_left = steps;
    state.fences = 0;
    state.posted.assign(steps, false);
    state.done.assign(steps, false);
    state.waits_for.resize(steps);
    state.scratch.assign(program.scratch_bytes, undefined);
    state.recv.resize(contents.recv.size());
    std::transform(contents.recv.begin(), contents.recv.end(), state.recv.begin(),
                   [&](Token token) { return fresh(token, state.epoch); });
    for (StepId id = 0; id < steps; ++id) {
      state.waits_for[id] = program.steps[id].predecessors;
    }
    for (StepId id = 0; id < steps; ++id) {
      if (program.steps[id].predecessors == 0) {
        post(rank, id);
      }
    }
    if (steps > 0) {
      return;
    }
    check_result(rank); // nothing to do: on to the next epoch
  }
}

void Interpreter::check_result(int rank) {
  const Rank& state = ranks_[rank];
  const auto& result = contents_[rank].result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Token expected = fresh(result[i], state.epoch);
    if (state.recv[i] == expected) {
      continue;
    }
    const std::string place = "rank " + std::to_string(rank) + ", epoch " + std::to_string(state.epoch) + ": recv[" +
                              std::to_string(i) + "] ";
    fail(expected == undefined ? place + "must not be written, but holds " + origin(state.recv[i])
                               : place + "must hold " + origin(expected) + ", but holds " + origin(state.recv[i]));
    return;
  }
}

void Interpreter::post(int rank, StepId step) {
  Rank& state = ranks_[rank];
  const Step& what = programs_[rank].steps[step];
  state.posted[step] = true;
  if (what.kind == StepKind::copy || what.kind == StepKind::reduce) {
    enqueue(rank, step);
    return;
  }
  if (what.kind == StepKind::fence) {
    meet(rank, step);
    return;
  }
  if (what.kind == StepKind::send && kept(rank, step)) {
    enqueue(rank, step);
    return;
  }
  if (what.kind == StepKind::recv) {
    // From here until it is done, only the recv may use its target.
    if (what.message != Operand::none) {
      state.operands[step] = read(rank, step);
    }
    poison(rank, step);
  }
  // The message is transferred, as an event of the receiver, once both sides have come to it.
  const StepId partner = matching_.partners[rank][step];
  const Rank& peer = ranks_[what.peer];
  if (kept(rank, step)) {
    if (!peer.mailboxes[partner].empty()) {
      enqueue(rank, step);
    }
  } else if (what.kind == StepKind::put && !what.announced && (peer.epoch != state.epoch || !peer.posted[partner])) {
    fail(name(rank, step) + " writes before its target is ready");
  } else if (peer.epoch == state.epoch && peer.posted[partner]) {
    what.kind == StepKind::recv ? enqueue(rank, step) : enqueue(what.peer, partner);
  }
}

bool Interpreter::kept(int rank, StepId step) const {
  const Step& what = programs_[rank].steps[step];
  const Step& sender = what.kind == StepKind::recv ? programs_[what.peer].steps[matching_.partners[rank][step]] : what;
  return sender.kind == StepKind::send && run_.sending == Sending::buffered;
}

void Interpreter::meet(int rank, StepId fence) {
  const StepId number = matching_.partners[rank][fence];
  ranks_[rank].fences = number + 1;
  const auto has_come = [&](const Rank& other) {
    return other.epoch == ranks_[rank].epoch && other.fences == number + 1;
  };
  if (!std::ranges::all_of(ranks_, has_come)) {
    return;
  }
  for (std::size_t other = 0; other < ranks_.size(); ++other) {
    for (StepId id = 0; id < programs_[other].steps.size(); ++id) {
      if (programs_[other].steps[id].kind == StepKind::fence && matching_.partners[other][id] == number) {
        enqueue(static_cast<int>(other), id);
      }
    }
  }
}

void Interpreter::enqueue(int rank, StepId step) {
  const std::uint64_t n = enqueued_++;
  const auto key = [&]() -> std::uint64_t {
    switch (run_.order) {
    case Order::breadth_first:
      return n;
    case Order::depth_first:
      return ~n;
    case Order::low_ranks_first:
      return (static_cast<std::uint64_t>(rank) << 32) + n;
    case Order::high_ranks_first:
      return ((ranks_.size() - static_cast<std::uint64_t>(rank)) << 32) + n;
    case Order::last_steps_first:
      return ~std::uint64_t{step};
    case Order::random:
      return random_();
    }
    return n;
  };
  events_.push({key(), rank, step});
}

void Interpreter::execute(int rank, StepId step) {
  const Step& what = programs_[rank].steps[step];
  const StepId partner = matching_.partners[rank][step];
  switch (what.kind) {
  case StepKind::copy:
    write(rank, step, read(rank, step));
    complete(rank, step);
    break;
  case StepKind::send: {
    ranks_[rank].mailboxes[step].push_back(read(rank, step));
    // The recv of an earlier epoch has had its message; one that is posted waits for this one.
    const Rank& peer = ranks_[what.peer];
    if (peer.epoch == ranks_[rank].epoch && peer.posted[partner]) {
      enqueue(what.peer, partner);
    }
    complete(rank, step);
    break;
  }
  case StepKind::put: // runs as a part of its recv
    break;
  case StepKind::fence:
    complete(rank, step);
    break;
  case StepKind::reduce: {
    const auto [left, right] = operands(programs_[rank], what);
    write(rank, step, combine(read(rank, step, left), read(rank, step, right)));
    complete(rank, step);
    break;
  }
  case StepKind::recv:
    if (kept(rank, step)) {
      Mailbox& mailbox = ranks_[what.peer].mailboxes[partner];
      receive(rank, step, std::move(mailbox.front()));
      mailbox.erase(mailbox.begin());
      complete(rank, step);
    } else {
      receive(rank, step, read(what.peer, partner));
      complete(what.peer, partner);
      complete(rank, step);
    }
    break;
  }
}

void Interpreter::complete(int rank, StepId step) {
  Rank& state = ranks_[rank];
  const Program& program = programs_[rank];
  state.done[step] = true;
  for (const StepId successor : program.successors_of(program.steps[step])) {
    if (--state.waits_for[successor] == 0) {
      post(rank, successor);
    }
  }
  if (--state.steps_left == 0) {
    check_result(rank);
    start_epoch(rank);
  }
}

void Interpreter::receive(int rank, StepId step, std::vector<Token> message) {
  std::vector<Token>& other = ranks_[rank].operands[step];
  switch (programs_[rank].steps[step].message) {
  case Operand::none:
    break;
  case Operand::left:
    message = combine(std::move(message), other);
    break;
  case Operand::right:
    message = combine(std::move(other), message);
    break;
  }
  write(rank, step, message);
}

std::vector<Token> Interpreter::combine(std::vector<Token> left, std::span<const Token> right) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = terms_.combine(left[i], right[i]);
  }
  return left;
}

std::vector<Token> Interpreter::read(int rank, StepId step) {
  return read(rank, step, programs_[rank].sources(programs_[rank].steps[step]));
}

std::vector<Token> Interpreter::read(int rank, StepId step, std::span<const Slice> slices) {
  const Program& program = programs_[rank];
  std::vector<Token> bytes;
  bytes.reserve(program.steps[step].bytes);
  for (const Slice& slice : slices) {
    const bool input = slice.buffer == Buffer::send;
    const auto& buffer = input ? contents_[rank].send : written_buffer(rank, slice.buffer);
    for (std::uint64_t block = 0; block < slice.count; ++block) {
      const auto begin = buffer.begin() + static_cast<std::ptrdiff_t>(slice.offset + block * slice.stride);
      const auto end = begin + static_cast<std::ptrdiff_t>(slice.length);
      if (const auto gap = std::find(begin, end, undefined); gap != end) {
        fail(name(rank, step) + " reads " + std::string(name_of(slice.buffer)) + "[" +
             std::to_string(gap - buffer.begin()) + "], which is undefined");
      }
      if (input) {
        std::transform(begin, end, std::back_inserter(bytes),
                       [&](Token token) { return fresh(token, ranks_[rank].epoch); });
      } else {
        bytes.insert(bytes.end(), begin, end);
      }
    }
  }
  return bytes;
}

template <class Visit>
void Interpreter::for_each_target(int rank, StepId step, Visit visit) {
  const Program& program = programs_[rank];
  for (const Slice& slice : program.targets(program.steps[step])) {
    Token* const buffer = written_buffer(rank, slice.buffer).data();
    for (std::uint64_t block = 0; block < slice.count; ++block) {
      visit(buffer + slice.offset + (block * slice.stride), slice.length);
    }
  }
}

void Interpreter::write(int rank, StepId step, std::span<const Token> bytes) {
  for_each_target(rank, step, [&](Token* target, std::uint64_t length) {
    std::copy_n(bytes.begin(), length, target);
    bytes = bytes.subspan(length);
  });
}

void Interpreter::poison(int rank, StepId step) {
  for_each_target(rank, step, [](Token* target, std::uint64_t length) { std::fill_n(target, length, undefined); });
}

std::vector<Token>& Interpreter::written_buffer(int rank, Buffer buffer) {
  return buffer == Buffer::recv ? ranks_[rank].recv : ranks_[rank].scratch;
}

void Interpreter::fail(const std::string& what) {
  if (defect_.empty()) {
    defect_ = run_.name() + ": " + what;
  }
}

std::string Interpreter::name(int rank, StepId step) const {
  return "rank " + std::to_string(rank) + ", epoch " + std::to_string(ranks_[rank].epoch) + ", " +
         describe(programs_[rank].steps[step], step);
}

std::string Interpreter::origin(Token token) const {
  if (token == undefined) {
    return "nothing";
  }
  if (is_combined(token)) {
    std::string text;
    for (const Token input : terms_.inputs(token)) {
      text += (text.empty() ? "" : " (op) ") + origin(input);
    }
    return text;
  }
  const Token input = token % tokens_;
  for (std::size_t rank = 0; rank < contents_.size(); ++rank) {
    for (const auto* buffer : {&contents_[rank].send, &contents_[rank].recv}) {
      if (const auto found = std::find(buffer->begin(), buffer->end(), input); found != buffer->end()) {
        return "rank " + std::to_string(rank) + "'s " + (buffer == &contents_[rank].send ? "send[" : "recv[") +
               std::to_string(found - buffer->begin()) + "] of epoch " + std::to_string(token / tokens_ + 1);
      }
    }
  }
  return "a byte of no rank";
}

std::string Interpreter::deadlock() const {
  int rank = 0;
  while (ranks_[rank].steps_left == 0) {
    ++rank;
  }
  // From one blocked step to the one that blocks it, until one comes up again.
  std::vector<std::pair<int, StepId>> chain{{rank, first_open_step(rank)}};
  std::string text = "deadlock: " + name(chain[0].first, chain[0].second);
  while (true) {
    const auto next = blocker(chain.back().first, chain.back().second);
    text += " waits for " + name(next.first, next.second);
    if (std::find(chain.begin(), chain.end(), next) != chain.end()) {
      return text;
    }
    text += ", which";
    chain.push_back(next);
  }
}

StepId Interpreter::first_open_step(int rank) const {
  const auto& done = ranks_[rank].done;
  return static_cast<StepId>(std::find(done.begin(), done.end(), false) - done.begin());
}

std::pair<int, StepId> Interpreter::blocker(int rank, StepId step) const {
  const Rank& state = ranks_[rank];
  const Program& program = programs_[rank];
  if (state.waits_for[step] > 0) {
    for (StepId id = 0; id < step; ++id) {
      const auto successors = program.successors_of(program.steps[id]);
      if (!state.done[id] && std::find(successors.begin(), successors.end(), step) != successors.end()) {
        return {rank, id};
      }
    }
  }
  if (program.steps[step].kind == StepKind::fence) { // somebody has not come to it
    int other = 0;
    while (ranks_[other].epoch == state.epoch && ranks_[other].fences >= state.fences) {
      ++other;
    }
    return {other, first_open_step(other)};
  }
  // The peer has not come to its side yet, or is still in an earlier epoch.
  const int peer = program.steps[step].peer;
  return {peer, ranks_[peer].epoch == state.epoch ? matching_.partners[rank][step] : first_open_step(peer)};
}

} // namespace stoker::algos
