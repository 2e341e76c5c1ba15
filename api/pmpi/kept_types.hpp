// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of a call that may be used after it has returned, when the application may have freed them.
#pragma once

#include "api/pmpi/call.hpp"

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace stoker::pmpi {

// What MPI reads at this rank.
struct Significant {
  CountsOf counts; // single ones in any case
  bool send = true;
  bool recv = true;
};
[[nodiscard]] Significant significant(const CollectiveCall& call); // throws engine::Error
// Types in each of the two arrays, of which there are so many counts.
[[nodiscard]] std::size_t types_of(Family family, std::size_t counts);

// None, or MPI's own.
[[nodiscard]] bool needs_no_keeping(MPI_Datatype type);

class KeptTypes {
public:
  // `significant`: MPI reads them; else they may be anything. Throws engine::Error.
  KeptTypes(const MPI_Datatype* types, std::size_t count, bool significant);
  KeptTypes(const KeptTypes&) = delete;
  KeptTypes& operator=(const KeptTypes&) = delete;
  ~KeptTypes();
  [[nodiscard]] const MPI_Datatype* data() const { return given_ ? types_.data() : nullptr; }

private:
  bool given_;
  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Datatype> duplicates_;
};

} // namespace stoker::pmpi
