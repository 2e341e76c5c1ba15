// SPDX-License-Identifier: BSD-3-Clause
// A trace of what happened when. It has a lane for the rank, one for its helper and one for its requests, and is written
// as Chrome trace JSON (chrome://tracing, Perfetto) when the engine is destroyed.
// Process numbers are ranks. Thread 0 of a process is the rank, 1 its helper. Threads from 2 on are the requests in
// progress, as many as are in progress together: viewers expect the events of a thread to nest.
#pragma once

#include "engine/shared/helper_counters.hpp"
#include "topology/layout.hpp"

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::engine {

// Events of one kind. `name` stays where it is. Times are CLOCK_MONOTONIC in ns.
class TraceLane {
public:
  explicit TraceLane(int thread) : thread_(thread) {}
  void add(const char* name, std::uint64_t begin, std::uint64_t end);

  struct Event {
    const char* name;
    std::uint64_t begin;
    std::uint64_t end;
  };
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] int thread() const { return thread_; }

private:
  int thread_;
  std::vector<Event> events_;
};

class Trace {
public:
  explicit Trace(std::string file) : file_(std::move(file)) {}

  TraceLane rank{0};
  TraceLane helper{1};
  TraceLane requests{2};
  std::mutex mutex; // guards rank and requests, which any thread of the application may add to

  // A region of the caller's time, whose name is copied; regions may be nested.
  void begin(std::string_view name);
  void end();

  // Collective over comm, after the helpers have stopped. Rank 0 writes the file, by its own clock; throws
  // Error(resource) on every rank if it cannot. `place`: of this rank. `statistics`: of the helper that this process
  // hosts; null: none.
  void write(MPI_Comm comm, const topology::Place& place, const HelperStatistics* statistics) const;

private:
  // The part of the file that is about this process, number `process`; `offset_ns`: what to add to its times.
  [[nodiscard]] std::string text_of(int process, std::int64_t offset_ns, const topology::Place& place,
                                    const HelperStatistics* statistics) const;

  struct Open {
    const char* name;
    std::uint64_t begin;
  };
  std::string file_;
  std::set<std::string, std::less<>> names_; // of regions
  std::vector<Open> open_;
};

} // namespace stoker::engine
