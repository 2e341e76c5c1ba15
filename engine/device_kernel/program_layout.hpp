// SPDX-License-Identifier: BSD-3-Clause
// The programs of all ranks of a node as the kernel reads them: a header, and flat arrays behind it, in one run of
// bytes. Plain structs of fixed layout that hold no address: the bytes are copied to a device as they are, and any
// process can launch them on any buffers. And what a launch hands to the kernel.
#pragma once

#include "engine/data/reduction_kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stoker::engine::device {

// The kernel takes up to 96 registers of 65536, which allows 672.
constexpr int threads_per_block = 512;

// Part of one of the arrays.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

// Like algos::Slice, in a buffer of any rank: entry 3 * rank + algos::Buffer of the launch's table.
struct Slice {
  std::uint32_t buffer = 0;
  std::uint32_t unused = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t stride = 0;
  std::uint64_t count = 0;
};

enum class Work : std::uint32_t {
  none,    // only waits and signals
  copy,    // target = left
  combine, // target = left (op) right
};

// The first `workers` blocks of its rank carry it out, each a share of the bytes; the others pass it by.
struct Instruction {
  Work work = Work::none;
  std::uint32_t workers = 1;
  std::uint32_t counter = 0; // word of its own rank: counts the blocks that have done their share, over all epochs
  Range waits = {};
  Range signals = {};
  Range target = {}; // slices
  Range left = {};
  Range right = {};
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0; // of the target, and of each operand
};

// Goes on when the word, one of the rank's own, has grown by `per_epoch` in every epoch up to this one.
struct Wait {
  std::uint32_t word = 0;
  std::uint32_t per_epoch = 1;
};

// The epoch's number goes to a word of another rank.
struct Signal {
  std::uint32_t rank = 0;
  std::uint32_t word = 0;
};

struct RankPart {
  Range instructions = {};
  std::uint32_t words = 0;
  std::uint32_t unused = 0;
};

struct ProgramHeader {
  std::uint32_t ranks = 0;
  std::uint32_t blocks = 1;     // of each rank: the most workers that an instruction has
  OperationCode operation = {}; // of all combinations
  std::uint16_t unused = 0;     //
  std::uint32_t unused_too = 0; //
  // Offsets from the beginning of the header.
  std::uint64_t ranks_at = 0;        // RankPart[ranks]
  std::uint64_t instructions_at = 0; // Instruction[], by rank
  std::uint64_t waits_at = 0;        // Wait[]
  std::uint64_t signals_at = 0;      // Signal[]
  std::uint64_t slices_at = 0;       // Slice[]
};
static_assert(std::is_trivially_copyable_v<ProgramHeader> && sizeof(ProgramHeader) == 56 && sizeof(Slice) == 40 &&
              sizeof(Instruction) == 64 && sizeof(Wait) == 8 && sizeof(Signal) == 8 && sizeof(RankPart) == 16);

// The words by which the host and the kernel of one rank talk, in memory that both reach.
struct Control {
  static constexpr std::uint64_t stop = ~std::uint64_t{0};
  // The newest epoch that may begin. Written by the host (release) when the data and the tables of the epoch are in
  // their places; acquired by every block of a kernel that stays. Or stop, once that epoch is completed: each block
  // has a share in it, so all have seen it begin.
  std::uint64_t started = 0;
  std::uint64_t unused[7] = {};
  // The newest epoch that is done. Written by the rank's first block (release) after all accesses to data in that
  // epoch; acquired by the host.
  std::uint64_t completed = 0;
  // Not 0: the host has abandoned all epochs that are not done, because a launch has failed or does not come. Then it
  // also writes `never` to `started` and `completed`, so that no stream waits. Written (release) before these; a kernel
  // that writes `completed` after that looks here, and writes `never` itself.
  std::uint64_t abandoned = 0;
  std::uint64_t unused_too[6] = {};
  static constexpr std::uint64_t never = ~std::uint64_t{0} >> 1U; // no epoch has it; streams see words with a sign
};

// Whether a kernel carries out one epoch, or stays for all that follow until it is stopped.
enum class Stay : std::uint32_t { one_epoch, until_stopped };

// Addresses are those of the device that the launch runs on.
struct Launch {
  const ProgramHeader* program = nullptr;
  std::byte* const* buffers = nullptr;     // 3 of each rank of the program: see Slice
  std::uint64_t* const* words = nullptr;   // of each rank: 0 before the first epoch
  Control* const* controls = nullptr;      // of each rank
  const std::uint32_t* launched = nullptr; // the ranks that this launch carries out; others have launches of their own
  std::uint64_t epoch = 1;                 // the first one, which every rank's first epoch is; counts from 1
  std::uint32_t blocks = 1;                // of each rank: those of the program
  Stay stay = Stay::one_epoch;
  std::uint32_t waited = 0; // not 0: a rank's `started` may have been `never`, so that nothing is to be done
};

} // namespace stoker::engine::device
