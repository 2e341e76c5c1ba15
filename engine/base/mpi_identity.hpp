// SPDX-License-Identifier: BSD-3-Clause
// Which MPI library runs: the one that is loaded, not the one that was compiled against.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace stoker::engine {

// A number that is not told is 0. What is no number is left out: 3.4a2 is 3.4.
struct MpiVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  friend auto operator<=>(const MpiVersion&, const MpiVersion&) = default;
};
[[nodiscard]] std::string text_of(const MpiVersion& version); // "4.0.2"

// Libraries that are made from the same sources.
enum class MpiFamily : std::uint8_t { mpich, open_mpi, other };

struct MpiIdentity {
  std::string name; // "MPICH", "Open MPI", "Intel MPI", "MVAPICH", "MVAPICH2", "Cray MPICH"; others: empty
  MpiVersion version;
  MpiFamily family = MpiFamily::other;
  MpiVersion base;  // the version of MPICH or Open MPI that it is made from; 0.0.0 if it does not tell
  std::string text; // "MPICH 4.0.2 (ch4:ucx)", "Open MPI 4.1.4"; others: the first line of what they say
};

// `said`: what MPI_Get_library_version returns.
[[nodiscard]] MpiIdentity mpi_identity_from(const std::string& said);
// The library that runs. Also before MPI_Init.
[[nodiscard]] const MpiIdentity& mpi_identity();

// The binary interface of the MPI library with this file name or soname: "MPICH", which Intel MPI and MVAPICH have,
// too, "Open MPI", or "the standard ABI", which is MPI-5's. Empty: no MPI library's.
[[nodiscard]] std::string_view mpi_abi_of(std::string_view file);
// That which this was compiled for.
[[nodiscard]] std::string_view own_mpi_abi();

} // namespace stoker::engine
