// SPDX-License-Identifier: BSD-3-Clause
// What both simulators are asked for: a collective, an algorithm and a size. And the machine that both can express.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "algos/select/choice.hpp"
#include "algos/select/machine.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::bench {

// Bytes of each pair of ranks (alltoall), of each rank's block (allgather), or of the vector (allreduce, bcast).
struct Point {
  algos::Collective collective = algos::Collective::alltoall;
  std::string algorithm;
  std::uint64_t bytes = 0;
};

// In the place of an algorithm: SMPI's own collective; or what a library takes, as in "rules-of-mpich".
inline constexpr std::string_view library = "library";
inline constexpr std::string_view rules_of = "rules-of-";
inline constexpr std::uint64_t element_bytes = 4; // of what is combined

// A file of one point a line: "alltoall radix:r=4 1024". Throws std::invalid_argument, which names file, line and
// reason.
[[nodiscard]] std::vector<Point> read_points(const std::string& path);

// Resolved for the layout.
[[nodiscard]] algos::Choice choice_of(const Point& point, const topology::Layout& layout);
// The rank's program.
[[nodiscard]] algos::Program program_of(const Point& point, const topology::Layout& layout, int rank);

// Ranks in order on nodes like the machine's.
[[nodiscard]] topology::Layout layout_of(const algos::Machine& machine, int ranks, int ranks_per_node);

// How messages beyond the machine's eager limit travel.
enum class LongMessages : std::uint8_t {
  eager,      // like short ones: there is no limit
  announced,  // by the engine's protocol: the receiver says that it is ready, then they come in pieces
  rendezvous, // by SMPI's, which begins once both sides are there, without the question and answer of our simulator
};
// Throws std::invalid_argument for any other word.
[[nodiscard]] LongMessages long_messages_of(std::string_view word);

// The machine without what SMPI has no words for: the least time between two messages of a rank or of a port, the
// search of posted receives, copies and combinations outside of messages, memory that ranks share, remote reads, noise.
[[nodiscard]] algos::Machine without_what_smpi_lacks(algos::Machine machine, LongMessages long_messages);

// One line of JSON. `simulator`: "smpi" or "stoker".
[[nodiscard]] std::string to_json(const Point& point, std::string_view simulator, const topology::Layout& layout,
                                  int ranks_per_node, double seconds);

} // namespace stoker::bench
