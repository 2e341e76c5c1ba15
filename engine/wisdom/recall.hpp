// SPDX-License-Identifier: BSD-3-Clause
// What init takes from wisdom: the choice of an algorithm, and a rank's program. A program from a file is the one that
// would have been compiled, so some ranks may find theirs and others compile theirs. Rank 0 looks the choice up, so
// that all have the same.
#pragma once

#include "algos/collectives/distributed_vector.hpp"
#include "algos/select/choice.hpp"
#include "algos/select/machine.hpp"
#include "algos/select/selection.hpp"
#include "algos/simulate/expectation.hpp"
#include "engine/wisdom/wisdom.hpp"

#include <mpi.h>

#include <functional>
#include <span>

namespace stoker::engine {

// The keys of a rank's program for a resolved choice, and of the cost model's choice. `starts`: announced ones, 0 if
// none are. A choice by a tuning file is looked up there, and never kept.
[[nodiscard]] WisdomKey program_key(const algos::Choice& choice, const algos::DistributedVector& call);
[[nodiscard]] WisdomKey choice_key(const algos::TypicalCall& call, algos::Driver driver, const algos::Machine& machine,
                                   std::span<const algos::Choice> candidates, std::uint64_t starts = 0);

struct CompiledProgram {
  algos::Program program;
  bool from_wisdom = false;
};
// Buffer lengths in program bytes.
struct BufferSizes {
  std::uint64_t send = 0;
  std::uint64_t recv = 0;
};
// Local. key() is called only if there is wisdom. Throws what compile() does.
[[nodiscard]] CompiledProgram compile_or_recall(Wisdom& wisdom, const std::function<WisdomKey()>& key,
                                                const BufferSizes& buffers,
                                                const std::function<algos::Program()>& compile);

// Collective over comm. Rank 0 is asked for the key, and decides. choose() is collective, too; it is called if rank 0
// finds none of the candidates in its wisdom. Throws what choose() does.
[[nodiscard]] algos::Choice choose_or_recall(Wisdom& wisdom, MPI_Comm comm, const std::function<WisdomKey()>& key,
                                             std::span<const algos::Choice> candidates,
                                             const std::function<algos::Choice()>& choose);

} // namespace stoker::engine
