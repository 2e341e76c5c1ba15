// SPDX-License-Identifier: BSD-3-Clause
// What the drop-in library reports at the end of a job. Each process has a summary of its own; that of the job is their
// sum.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::reports {

// The calls from one place in the application on one communicator.
struct CallGroup {
  std::vector<std::string> called_from; // frames, the innermost first
  std::string collective;
  std::string form;
  std::string communicator;
  auto operator<=>(const CallGroup&) const = default;
  [[nodiscard]] bool blocking() const { return form == "blocking"; }
};

struct CallSums {
  std::uint64_t calls = 0;
  std::uint64_t calls_by_mpi = 0;
  std::uint64_t bytes = 0;
  double exchange_seconds = 0;
  double hidden_seconds = 0;
  double exposed_seconds = 0;
  std::string algorithm; // of the engine's latest call
  void add(const CallSums& other);
};

// Calls that were the MPI library's from the beginning.
struct LeftCalls {
  std::string collective;
  std::string form;
  std::string reason;
  auto operator<=>(const LeftCalls&) const = default;
};

struct Helper {
  int rank = 0; // that hosts it
  double busy_seconds = 0;
  double idle_seconds = 0;
  double sleeping_seconds = 0;
  std::uint64_t busy_rounds = 0;
  std::uint64_t idle_rounds = 0;
};

// What ranks learned of messages of one length.
struct MessageHelp {
  std::uint64_t ranks = 0;
  std::uint64_t helped_ranks = 0; // where help pays
  std::uint64_t intervals = 0;
  std::uint64_t helped_intervals = 0;
  std::vector<double> helped_seconds; // an interval with help, at each rank that knows
  std::vector<double> alone_seconds;
  void add(const MessageHelp& other);
};

// Progress of the application's messages and windows.
struct Background {
  std::uint64_t messages = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t given_up = 0;
  std::uint64_t polls = 0;
  double poll_seconds = 0;
  std::map<std::uint64_t, MessageHelp> help; // by the least bytes of a message
  void add(const Background& other);
};

struct Summary {
  int ranks = 0;
  std::set<std::string> hosts;
  std::map<CallGroup, CallSums> calls;
  std::map<LeftCalls, std::uint64_t> left;
  std::vector<Helper> helpers;
  bool in_background = false; // asked for; equal on all ranks
  Background background;
  void add(const Summary& other);
};

// Whether the engine was worth it.
[[nodiscard]] std::string_view verdict(const CallSums& sums, bool blocking);

// The mean; 0 if there is none.
[[nodiscard]] double mean(const std::vector<double>& values);

} // namespace stoker::reports
