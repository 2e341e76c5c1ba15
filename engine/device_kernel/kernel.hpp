// SPDX-License-Identifier: BSD-3-Clause
// The kernel that carries out the programs of ranks on devices: one for nvcc, and the same one for the host's compiler,
// whose tests run each block as a thread. docs/devices.md explains it.
//
// Which acquire meets which release:
//   counters  of an instruction: each of its workers adds 1 when its share is done (release; the last one's addition
//             also acquires the others'). Acquired by blocks of the same rank that wait for the instruction.
//   flags     a word of another rank, for the instructions of that rank that wait for one of this rank. Written with the
//             epoch's number by the last worker (release), which has acquired the others' shares; acquired by blocks of
//             the other rank. Only one instruction writes a flag.
//   Within a block its first thread speaks for all: they meet before it adds 1, and again behind a wait.
//   started, completed, abandoned: see Control. A block that waits looks now and then whether the host has abandoned
//   the epoch, and then does no more.
//
// Why nobody waits for ever: the order of instructions is one of all ranks together, in which what an instruction waits
// for comes before it, and every block goes through its rank's part of that order. All blocks of all launches run at
// the same time. Of all instructions that are not done in the oldest epoch that some rank is in, consider the first.
// What it waits for is done, and so is all that its workers have before it; so they get to it, wait for nothing, and do
// it. Within a warp, threads may poll a word that waits for the first thread to add 1: threads that have parted have to
// go on each by itself, as they do on devices since Volta.
//
// Why words are never cleared: they only grow, and every wait is for a number that grows with the epoch. 2^64 is not
// reached: with 10^6 epochs a second and 10^3 workers that takes 500 years. A flag may be one epoch ahead of a rank
// that has not looked at it: its peer has begun the next epoch, which it can when all that others wait for in this one
// has been done.
#pragma once

#include "engine/data/element_operations.hpp"
#include "engine/device_kernel/both_compilers.hpp"
#include "engine/device_kernel/chunks.hpp"
#include "engine/device_kernel/program_layout.hpp"

#include <utility>

namespace stoker::engine::device {

template <class T>
STOKER_DEVICE const T* in_program(const ProgramHeader& program, std::uint64_t offset) {
  return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(&program) + offset);
}

// Whether devices have the arithmetic of a type.
template <class T>
inline constexpr bool on_devices = !std::is_same_v<T, long double> && !std::is_same_v<T, Complex<long double>> &&
                                   !std::is_same_v<T, Pair<long double, int>>;

// A block's share of an instruction.
struct Piece {
  const Instruction& instruction;
  const Slice* slices;
  std::byte* const* buffers;
  std::uint32_t block;

  [[nodiscard]] STOKER_DEVICE Cursor cursor(const Range& range) const { return {slices + range.begin, buffers}; }
};

STOKER_DEVICE std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

// Calls f(place, bytes) for the chunks of the share, each thread for its own, until f has dealt with all bytes of a
// chunk; f returns with how many it has.
template <class F>
STOKER_DEVICE void each_chunk(const Piece& piece, F f) {
  const Share share = share_of(piece.instruction.bytes, piece.block, piece.instruction.workers);
  for (std::uint64_t chunk = share.begin + thread(); chunk < share.end; chunk += threads()) {
    const std::uint64_t end = least((chunk + 1) * chunk_bytes, piece.instruction.bytes);
    for (std::uint64_t at = chunk * chunk_bytes; at < end;) {
      at += f(at, end - at);
    }
  }
}

STOKER_DEVICE void copy_share(const Piece& piece) {
  Cursor target = piece.cursor(piece.instruction.target);
  Cursor source = piece.cursor(piece.instruction.left);
  each_chunk(piece, [&](std::uint64_t at, std::uint64_t most) {
    const Run to = target.at(at);
    const Run from = source.at(at);
    const auto bytes = static_cast<std::uint32_t>(least(most, least(to.bytes, from.bytes)));
    store(to.address, load(from.address, bytes), bytes);
    return bytes;
  });
}

// All elements of a chunk. What the target has besides elements, as the padding of pairs, stays.
template <ReduceOp op, class T>
STOKER_DEVICE void combine_elements(Chunk& target, const Chunk& left, const Chunk& right) {
  auto* const to = reinterpret_cast<std::byte*>(&target);
  for (std::uint32_t at = 0; at < chunk_bytes; at += sizeof(T)) {
    T a;
    T b;
    __builtin_memcpy(&a, reinterpret_cast<const std::byte*>(&left) + at, sizeof(T));
    __builtin_memcpy(&b, reinterpret_cast<const std::byte*>(&right) + at, sizeof(T));
    const T result = combined<op>(a, b);
    if constexpr (is_pair<T>) {
      __builtin_memcpy(to + at, &result.value, sizeof result.value);
      __builtin_memcpy(to + at + offsetof(T, location), &result.location, sizeof result.location);
    } else {
      __builtin_memcpy(to + at, &result, sizeof(T));
    }
  }
}

template <ReduceOp op, class T>
STOKER_DEVICE void try_operator(ReduceOp wanted, Chunk& target, const Chunk& left, const Chunk& right) {
  if constexpr (on_devices<T> && takes<op, T>()) {
    if (wanted == op) {
      combine_elements<op, T>(target, left, right);
    }
  }
}
template <class T, std::size_t... op>
STOKER_DEVICE void try_operators(ReduceOp wanted, Chunk& target, const Chunk& left, const Chunk& right,
                                 std::index_sequence<op...> /*operators*/) {
  (try_operator<static_cast<ReduceOp>(op), T>(wanted, target, left, right), ...);
}
// Which operator and type it is is found out for each chunk: that costs less than memory does, and code that copies and
// cuts is there once, not for each of them.
template <class... T>
STOKER_DEVICE void combine_chunk(OperationCode wanted, Chunk& target, const Chunk& left, const Chunk& right,
                                 TypeList<T...> /*types*/) {
  const auto type = static_cast<std::uint32_t>(wanted.type);
  std::uint32_t next = 0;
  ((type == next++ ? try_operators<T>(wanted.op, target, left, right, std::make_index_sequence<reduce_ops>()) : void()),
   ...);
}

STOKER_DEVICE void combine_share(const Piece& piece, OperationCode operation) {
  Cursor target = piece.cursor(piece.instruction.target);
  Cursor left = piece.cursor(piece.instruction.left);
  Cursor right = piece.cursor(piece.instruction.right);
  const bool pairs = operation.op == ReduceOp::maxloc || operation.op == ReduceOp::minloc;
  each_chunk(piece, [&](std::uint64_t at, std::uint64_t most) {
    const Run to = target.at(at);
    const Run a = left.at(at);
    const Run b = right.at(at);
    const auto bytes = static_cast<std::uint32_t>(least(least(most, to.bytes), least(a.bytes, b.bytes)));
    Chunk result = pairs ? load(to.address, bytes) : Chunk();
    combine_chunk(operation, result, load(a.address, bytes), load(b.address, bytes), ReducedTypes());
    store(to.address, result, bytes);
    return bytes;
  });
}

// One block's part of one rank's epoch.
class BlockOfRank {
public:
  STOKER_DEVICE BlockOfRank(const Launch& launch, std::uint32_t rank, std::uint32_t block)
      : launch_(launch), rank_(rank), block_(block), words_(launch.words[rank]) {}

  STOKER_DEVICE void run(std::uint64_t epoch) const {
    if (launch_.waited != 0 && any(thread() == 0 && abandoned())) {
      return;
    }
    const ProgramHeader& program = *launch_.program;
    const Range range = in_program<RankPart>(program, program.ranks_at)[rank_].instructions;
    const auto* const instructions = in_program<Instruction>(program, program.instructions_at) + range.begin;
    for (std::uint32_t i = 0; i < range.count; ++i) {
      if (block_ < instructions[i].workers) {
        if (!wait(instructions[i], epoch)) {
          return;
        }
        work(instructions[i]);
        finish(instructions[i], epoch);
      }
    }
    if (block_ == 0 && thread() == 0) { // the last instruction is this block's, and waits for all that is to be done
      SystemWord completed(launch_.controls[rank_]->completed);
      completed.store(epoch, release);
      fence(); // either this sees that the epochs are abandoned, or the host's `never` comes after the number
      if (abandoned()) {
        completed.store(Control::never, release);
      }
    }
  }

  // Whether the epoch begins; else the kernel ends.
  [[nodiscard]] STOKER_DEVICE bool begins(std::uint64_t epoch) const {
    bool stopped = false;
    if (thread() == 0) {
      std::uint64_t& started = launch_.controls[rank_]->started;
      stopped = !await(started, epoch) || SystemWord(started).load(relaxed) >= Control::never; // or stop
    }
    return !any(stopped);
  }

private:
  [[nodiscard]] STOKER_DEVICE bool abandoned() const {
    return SystemWord(launch_.controls[rank_]->abandoned).load(acquire) != 0;
  }

  // False: the epoch is abandoned.
  [[nodiscard]] STOKER_DEVICE bool await(std::uint64_t& word, std::uint64_t least_value) const {
    for (std::uint32_t looks = 1; SystemWord(word).load(acquire) < least_value; ++looks) {
      // The host's memory is far away.
      if (looks % 4096 == 0 && abandoned()) {
        return false;
      }
      pause();
    }
    return true;
  }

  // Likewise, and on all threads.
  [[nodiscard]] STOKER_DEVICE bool wait(const Instruction& instruction, std::uint64_t epoch) const {
    if (instruction.waits.count == 0) {
      return true;
    }
    const auto* const waits = in_program<Wait>(*launch_.program, launch_.program->waits_at) + instruction.waits.begin;
    bool there = true;
    for (std::uint32_t i = thread(); i < instruction.waits.count && there; i += threads()) {
      there = await(words_[waits[i].word], epoch * waits[i].per_epoch);
    }
    return !any(!there);
  }

  STOKER_DEVICE void work(const Instruction& instruction) const {
    const ProgramHeader& program = *launch_.program;
    const Piece piece{instruction, in_program<Slice>(program, program.slices_at), launch_.buffers, block_};
    switch (instruction.work) {
    case Work::none:
      break;
    case Work::copy:
      copy_share(piece);
      break;
    case Work::combine:
      combine_share(piece, program.operation);
      break;
    }
  }

  STOKER_DEVICE void finish(const Instruction& instruction, std::uint64_t epoch) const {
    meet();
    if (thread() != 0) {
      return;
    }
    const std::uint64_t done = DeviceWord(words_[instruction.counter]).fetch_add(1, acquire_release) + 1;
    if (done == epoch * instruction.workers) {
      const auto* const signals =
          in_program<Signal>(*launch_.program, launch_.program->signals_at) + instruction.signals.begin;
      for (std::uint32_t i = 0; i < instruction.signals.count; ++i) {
        SystemWord(launch_.words[signals[i].rank][signals[i].word]).store(epoch, release);
      }
    }
  }

  const Launch& launch_;
  std::uint32_t rank_;
  std::uint32_t block_;
  std::uint64_t* words_;
};

// What block `index` of a launch does: those of its first rank come first.
STOKER_DEVICE void run_block(const Launch& launch, std::uint32_t index) {
  const BlockOfRank block(launch, launch.launched[index / launch.blocks], index % launch.blocks);
  if (launch.stay == Stay::one_epoch) {
    block.run(launch.epoch);
    return;
  }
  for (std::uint64_t epoch = launch.epoch; block.begins(epoch); ++epoch) {
    block.run(epoch);
  }
}

} // namespace stoker::engine::device
