// SPDX-License-Identifier: BSD-3-Clause
// One row per algorithm. Names, help text, `stoker info`, tests and documentation are derived from it.
#pragma once

#include "algos/exchange.hpp"
#include "algos/schedule.hpp"

#include <span>
#include <string_view>

namespace stoker::algos {

enum class Collective : std::uint8_t { alltoall, alltoallv };
[[nodiscard]] std::string_view name_of(Collective collective);

// Whose block sizes an algorithm reads: those of its own rank, or those of every rank of its node.
enum class Knowledge : std::uint8_t { own, node };

struct Algorithm {
  Collective collective;
  std::string_view name; // what users write in an info key, the environment or a tuning file
  Knowledge knowledge;
  std::string_view summary; // one line for help texts
  std::string_view source;  // where in the literature
  Program (*compile)(const Exchange&);
};

[[nodiscard]] std::span<const Algorithm> registry();
// nullptr when there is none.
[[nodiscard]] const Algorithm* find(Collective collective, std::string_view name);

// The default for this layout and block size, equal on all ranks: it reads nothing that differs between them.
// `bytes` is the mean block size over the whole communicator.
[[nodiscard]] const Algorithm& select(Collective collective, const topology::Layout& layout, std::uint64_t bytes);

} // namespace stoker::algos
