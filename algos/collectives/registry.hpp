// SPDX-License-Identifier: BSD-3-Clause
// One row per algorithm. Names, help text, `stoker info`, tests and documentation are derived from it.
#pragma once

#include "algos/collectives/collective.hpp"
#include "algos/collectives/distributed_vector.hpp"
#include "algos/collectives/exchange.hpp"
#include "algos/collectives/factor_list.hpp"
#include "algos/collectives/group_exchange.hpp"
#include "algos/collectives/neighbor_exchange.hpp"
#include "algos/schedule/schedule.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace stoker::algos {

// Values of an algorithm's parameters; the algorithm's row says which of them it reads. 0 if nothing was asked for.
struct Tuning {
  std::int32_t batch = 0;         // messages at a time
  std::int32_t radix = 0;         //
  std::int32_t radix_within = 0;  //
  std::int32_t radix_between = 0; //
  std::int32_t leaders = 0;       // per node; Parts::domains: one for each NUMA domain
  std::int32_t groups = 0;        // per node; likewise
  FlatExchange between;           // nested exchanges: all at once where nothing was asked for
  FlatExchange within;
  std::int32_t lanes = 0;       // per node; likewise
  std::int32_t part_bytes = 0;  // the least part of a vector that is cut
  std::int32_t fixed_bytes = 0; // all parts but the last
  FactorList factors;           // among all ranks
  FactorList factors_within;    // among the ranks of a node
  FactorList factors_between;   // among nodes
  bool operator==(const Tuning&) const = default;
};

// A parameter of an algorithm, given after its name as in "multileader:leaders=2,between=pairwise". Its value is a
// number, a flat exchange, or a list of factors.
struct Parameter {
  std::string_view name;
  std::string_view summary;
  std::int32_t Tuning::*number = nullptr;
  std::int32_t least = 1;
  std::int32_t (*most)(const topology::Layout&) = nullptr;
  std::int32_t (*preset)(const topology::Layout&) = nullptr; // the value where none is given
  bool domains = false;                                      // "domains" is a value, too
  FlatExchange Tuning::*exchange = nullptr;
  FactorList Tuning::*factors = nullptr;
  // The list where none is given; and the error in a list, with a list that works, or "" if there is none. The values
  // of the parameters before this one in a row are resolved.
  FactorList (*preset_factors)(const topology::Layout&, const Tuning&) = nullptr;
  std::string (*factors_defect)(const FactorList&, const topology::Layout&, const Tuning&) = nullptr;
};

// Whose block sizes an algorithm reads: those of its own rank, of every rank of its node, or of all.
enum class Knowledge : std::uint8_t { own, node, all };

// By the kind of problem that the collective is.
using Compile = std::variant<Program (*)(const Exchange&, const Tuning&), // alltoall, alltoallv
                             Program (*)(const NeighborExchange&),        // neighbor_alltoall, neighbor_alltoallv
                             Program (*)(const DistributedVector&, const Tuning&)>;

struct Algorithm {
  Collective collective;
  std::string_view name;    // what users write in an info key, the environment or a tuning file
  Knowledge knowledge;      // nested exchanges between nodes that forward need all, whatever is said here
  std::string_view summary; // one line for help texts
  std::string_view source;  // where in the literature
  std::span<const Parameter> parameters;
  Compile compile;
  std::optional<Buffer> puts_into = {}; // of other ranks; those whose blocks have `put_offsets` read them
  bool commutative = false;             // only for commutative operations
  bool fixed_order = false; // which operands are combined first depends on the number of ranks and the parameters only
};

[[nodiscard]] std::span<const Algorithm> registry();
[[nodiscard]] std::span<const Algorithm> algorithms_of(Collective collective);
// nullptr when there is none.
[[nodiscard]] const Algorithm* find(Collective collective, std::string_view name);

} // namespace stoker::algos
