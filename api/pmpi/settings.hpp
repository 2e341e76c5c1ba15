// SPDX-License-Identifier: BSD-3-Clause
// The drop-in library's own settings: STOKER_PMPI_* of rank 0's environment. Those of the engine are read where it is created.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace stoker::pmpi {

struct Settings {
  bool persistent = true; // forms of calls that the engine is to carry out
  bool nonblocking = true;
  bool blocking = false;
  bool trials = true;                 // calls are tried with the MPI library, and left to it where it is faster
  bool rma = false;                   // progress of the application's passive-target windows
  std::uint64_t least_bytes = 16384;  // of a call
  std::uint64_t timeout_seconds = 20; // for a rank to show that it has this library
  std::string summary;                // empty: none; "1": on standard error; else a file
};

// A line on standard error for what is not accepted, where `complain`; the default counts instead.
[[nodiscard]] Settings settings_of_environment(bool complain);
// Collective: rank 0's.
[[nodiscard]] Settings agreed(MPI_Comm comm, Settings mine);
// Those that count, once MPI is initialised.
[[nodiscard]] Settings& settings();

} // namespace stoker::pmpi
