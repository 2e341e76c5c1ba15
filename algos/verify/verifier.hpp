// SPDX-License-Identifier: BSD-3-Clause
// Proof that a schedule does what it should: interprets the programs of all ranks in one process, without MPI, and
// follows every byte. Knows no collective: what the ranks start from and must end with is given.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "algos/verify/terms.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stoker::algos {

// The contents of one rank's buffers.
struct Contents {
  std::vector<Token> send;   // before. Undefined bytes are gaps: reading one is a defect.
  std::vector<Token> recv;   // before
  std::vector<Token> result; // recv afterwards, as long as recv; undefined where no byte may be written
};

// When a send is done: as soon as it has run, the message being kept for the receiver; or only together with its recv.
// An executor lies somewhere in between.
enum class Sending : std::uint8_t { buffered, rendezvous };

// Which of the steps that could run does so next. In a schedule without unordered conflicts none of this can change the
// outcome; the runs check that, and the checker that says so.
enum class Order : std::uint8_t {
  breadth_first,
  depth_first,
  low_ranks_first,
  high_ranks_first,
  last_steps_first,
  random,
};

struct Execution {
  Sending sending = Sending::rendezvous;
  Order order = Order::breadth_first;
  std::uint64_t seed = 0; // of a random order

  [[nodiscard]] std::string name() const;
};

// Every order under both ways of sending, random ones with `seeds` seeds.
[[nodiscard]] std::vector<Execution> all_executions(std::uint64_t seeds = 2);

// Checks each program (find_defect), that sends and recvs match, and then for each run that the schedule comes to an
// end, reads no undefined byte, leaves the expected result and nothing else in every recv buffer. Each run goes through
// `epochs` epochs with fresh data and poisoned buffers; a rank starts the next one when its own part is done, whatever
// the others do. `terms`: of the combined tokens in the results; what the runs combine is added. `programs` and
// `contents` hold one for each rank, in rank order. Returns the first defect in words, naming run, rank and step, or an
// empty string. Throws std::invalid_argument when the contents make no sense.
[[nodiscard]] std::string verify(std::span<const Program> programs, std::span<const Contents> contents,
                                 std::span<const Execution> runs, int epochs, Terms& terms);
[[nodiscard]] std::string verify(std::span<const Program> programs, std::span<const Contents> contents, Terms& terms);
// The same where no result is combined.
[[nodiscard]] std::string verify(std::span<const Program> programs, std::span<const Contents> contents,
                                 std::span<const Execution> runs, int epochs = 3);
[[nodiscard]] std::string verify(std::span<const Program> programs, std::span<const Contents> contents);

} // namespace stoker::algos
