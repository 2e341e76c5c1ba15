// SPDX-License-Identifier: BSD-3-Clause
// What a job's calls of MPI functions cost while nothing was taken over, how much of that could have been hidden, and
// what stoker would do with them. Each process has an advice of its own; that of the job is their sum.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::reports {

// What stoker would do with a call.
enum class Plan : std::uint8_t {
  taken,         // by default
  if_overlapped, // by default, once it is found overlapped between nodes
  with_blocking, // with STOKER_PMPI_BLOCKING=1
  with_p2p,      // with STOKER_PMPI_P2P=1
  left,          // to the MPI library
};
inline constexpr int plan_count = 5;
[[nodiscard]] std::string_view name_of(Plan plan);

// The calls of one function from one place in the application with which stoker would do the same.
struct AdvisedGroup {
  std::vector<std::string> called_from; // frames, the innermost first
  std::string function;                 // as MPI_Ialltoall
  std::string form;                     // blocking, nonblocking, persistent
  std::string plan;                     // name_of()
  std::string reason;                   // why it is left to the MPI library; empty otherwise
  auto operator<=>(const AdvisedGroup&) const = default;
};

struct AdvisedSums {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double call_seconds = 0;      // in the function itself, or in MPI_Start
  double computing_seconds = 0; // between that and the completing call
  double exposed_seconds = 0;   // in MPI_Wait*, and in MPI_Test*
  double test_seconds = 0;      // in MPI_Test*
  double hideable_seconds = 0;  // at best: the part of exposed_seconds for which there was computation
  void add(const AdvisedSums& other);
};

struct Advice {
  int ranks = 0;
  std::set<std::string> hosts;
  double seconds = 0;     // from MPI_Init to MPI_Finalize
  double mpi_seconds = 0; // of that in the functions that are looked at
  std::map<AdvisedGroup, AdvisedSums> calls;
  std::uint64_t not_followed = 0; // requests beyond those that are followed at a time
  void add(const Advice& other);
};

// Whether a core of each node is worth more to a helper than to the computation, at best; in seconds of one rank on
// average.
struct CoreForHelper {
  double ranks_per_node = 0;
  double computing_seconds = 0;
  double hideable_seconds = 0; // of calls that stoker would take, with its options
  [[nodiscard]] double cost_seconds() const { return computing_seconds / ranks_per_node; }
  [[nodiscard]] bool may_pay() const { return hideable_seconds > cost_seconds(); }
};
[[nodiscard]] CoreForHelper core_for_helper(const Advice& advice);

} // namespace stoker::reports
