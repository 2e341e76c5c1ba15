// SPDX-License-Identifier: BSD-3-Clause
// The simulator: carries out the programs of all ranks on a machine that need not exist, by discrete events. Pure: no
// MPI, no clock, and threads only to make programs. Ranks and helpers are processors; computation between Start and
// Wait is simulated, too, so that overlap comes out instead of being assumed.
//
// After LogGOPSim (Hoefler, Schneider, Lumsdaine, 2010), with what it lacks for nodes of many cores: ports and switch
// links that are shared, memory bandwidth of a domain, the search of posted receives, and threads that make progress.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "algos/select/machine.hpp"
#include "topology/layout.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace stoker::algos {

// Who carries out the steps of a rank.
enum class Progress : std::uint8_t {
  rank,          // the rank itself, inside Start, Test and Wait
  helper,        // a helper with a core of its own, for all ranks that it serves
  shared_helper, // a helper on the core of the first rank that it serves
};

// How long messages between nodes are sent.
enum class LongMessages : std::uint8_t {
  rendezvous, // as an MPI library does: the sender asks, the receiver answers
  announced,  // as the engine does on networks without remote reads: the receiver says at Start that it is ready
};

struct Scenario {
  Progress progress = Progress::rank;
  int helpers_per_node = 1; // with helpers; as many as the node has domains, or a divisor of that
  double computation = 0;   // seconds of each rank between Start and Wait
  double test_every = 0;    // seconds of computation between two calls of Test; 0: none
  double late = 0;          // mean by which ranks come late, exponentially distributed
  std::uint64_t seed = 1;   // of lateness and of the phases of noise
  LongMessages long_messages = LongMessages::rendezvous;
  // Simulated seconds after which a run that has steps left is given up: the outcome has infinite seconds, and no more.
  double give_up_after = std::numeric_limits<double>::infinity();
  std::vector<int> observed = {}; // ranks whose time lines are wanted; their helpers' are added
};

// What a processor did from one time to another.
struct Activity {
  enum class Kind : std::uint8_t { start, send, receive, copy, combine, compute, wait };
  std::int32_t processor = 0; // a rank; or the number of ranks + the number of a helper
  Kind kind = Kind::compute;
  std::int32_t rank = -1; // whose step
  std::int32_t peer = -1; // of a message
  std::uint64_t bytes = 0;
  double begin = 0;
  double end = 0;
};
[[nodiscard]] std::string_view name_of(Activity::Kind kind);

// The parts of a schedule that aggregates messages, by node: until its first message to another node is sent; until its
// last message from another node has arrived; and the rest. Means over the nodes, in seconds. Without messages between
// nodes all of it is `before`.
struct PhaseTimes {
  double before = 0;  // as in gathering to leaders
  double between = 0; // among nodes
  double after = 0;   // as in scattering from leaders
};

struct Outcome {
  double seconds = 0;      // from time 0, when the first ranks start, to the end of the last rank
  double mean_seconds = 0; // over the ranks, each from its own Start to the end of its Wait
  double exposed = 0;      // mean time of a rank inside Start, Test and Wait
  PhaseTimes phases;
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;         // also those within nodes
  std::uint64_t network_messages = 0; // between nodes
  std::uint64_t network_bytes = 0;
  double busiest_port = 0;            // share of `seconds` that it is occupied
  double busiest_processor = 0;       // share of `seconds` that it carries out steps
  std::size_t different_programs = 0; // that is how many were kept
  std::vector<Activity> activities;   // of the observed processors, in the order of their begin
};

// Programs as they are needed: the program of a rank. Called once for each rank: in their order, or by several
// threads, each of which calls a copy of its own for some ranks in a row.
using ProgramOf = std::function<Program(int rank)>;
// Called now and then with the share of the steps that are done, 0 to 1.
using OnProgress = std::function<void(double share)>;

// Programs in a row that a thread makes before they are compared with the others'.
inline constexpr int programs_in_a_row = 8;

// The layout's domains are the machine's; its nodes need not be of equal size. `compilers`: threads that make programs;
// no more are started than there are processors. Throws std::invalid_argument for programs that do not match or that
// wait for each other, and for a scenario that makes no sense, which it names.
[[nodiscard]] Outcome simulate(const topology::Layout& layout, const Machine& machine, const ProgramOf& program_of,
                               const Scenario& scenario = {}, const OnProgress& on_progress = {}, int compilers = 1);

} // namespace stoker::algos
