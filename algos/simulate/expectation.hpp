// SPDX-License-Identifier: BSD-3-Clause
// The time that the default choice expects of an algorithm: simulated where that is quick, else estimated.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/select/machine.hpp"
#include "algos/select/selection.hpp"
#include "algos/simulate/simulate.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <functional>

namespace stoker::algos {

// What a choice is made for: equal blocks, or a vector, without gaps and in buffers of their own.
struct TypicalCall {
  Collective collective = Collective::alltoall;
  const topology::Layout& layout;
  std::uint64_t bytes = 0; // of a block; of the vector where there are no blocks
  std::uint64_t element_bytes = 1;
  int root = 0;
  bool commutative = true;
};
// The bytes that a choice is made for in the place of so many: the next larger number of whole elements with three
// significant bits, so that calls of about the same size share a choice.
[[nodiscard]] std::uint64_t typical_bytes(std::uint64_t bytes, std::uint64_t element_bytes);
// For collectives of the patterns exchange and distributed vector.
[[nodiscard]] Program compile(const Choice& choice, const TypicalCall& call, int rank);

struct Expectation {
  double seconds = 0;
  double init_seconds = 0; // of the rank for which it takes longest, as far as programs were compiled
  bool simulated = false;
  std::uint64_t compiled = 0; // steps and slices of the programs that it took
};
// The estimate that one node's ranks' programs give.
[[nodiscard]] Expectation estimate(const topology::Layout& layout, const Machine& machine, Driver driver,
                                   const ProgramOf& program_of, int node);
// Simulated, or an estimate, which counts more the less it can be trusted.
[[nodiscard]] Expectation expectation(const Choice& choice, const TypicalCall& call, const Machine& machine,
                                      Driver driver);

// The scenario in which all ranks start at once and wait.
[[nodiscard]] Scenario scenario_of(Driver driver, const topology::Layout& layout);

} // namespace stoker::algos
