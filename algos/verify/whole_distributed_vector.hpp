// SPDX-License-Identifier: BSD-3-Clause
// A distributed vector as all its ranks together see it: what the verifier, the accounting and the printing of whole
// schedules start from.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/verify/verifier.hpp"

#include <cstdint>
#include <vector>

namespace stoker::algos {

struct WholeDistributedVector {
  Collective collective = Collective::allreduce;
  topology::Layout layout;
  std::vector<std::uint64_t> sizes; // in bytes, as in DistributedVector
  std::uint64_t element_bytes = 1;
  int root = 0;
  bool in_place = false; // of reduce, gather and scatter at the root
  bool commutative = true;
  std::uint64_t gap = 0; // before each block in buffers that hold all of them at offsets; at least, if not 0

  // Equal blocks of so many elements, or that vector.
  static WholeDistributedVector uniform(Collective collective, topology::Layout layout, std::uint64_t elements,
                                        std::uint64_t element_bytes = 1);

  [[nodiscard]] DistributedVector of(int rank) const;
  [[nodiscard]] std::vector<Program> compile(const Choice& choice) const;
  // What each rank's buffers hold before and must hold after the call. `terms` is for a commutative operation, or not,
  // as this is.
  [[nodiscard]] std::vector<Contents> contents(Terms& terms) const;
};

} // namespace stoker::algos
