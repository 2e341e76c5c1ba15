// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/trace.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace stoker::engine {
namespace {

// Enough for minutes of a run. Nobody looks at longer traces, and they must not use up the job's memory.
constexpr std::size_t most_events = 1'000'000;

// An instant at the end of the helper's lane, whose arguments a viewer shows.
nlohmann::json statistics_event(const HelperStatistics& statistics, int process, int thread) {
  const auto rounds = [&](Submitted kind) {
    const HelperStatistics::Rounds& of = statistics.rounds[static_cast<std::size_t>(kind)];
    return nlohmann::json{{"busy", of.busy}, {"idle", of.idle}};
  };
  return {{"name", "helper statistics"},
          {"ph", "i"},
          {"s", "t"},
          {"pid", process},
          {"tid", thread},
          {"ts", 1e-3 * static_cast<double>(now_ns())},
          {"args",
           {{"busy_seconds", statistics.busy_seconds},
            {"idle_seconds", statistics.idle_seconds},
            {"sleeping_seconds", statistics.sleeping_seconds},
            {"rounds_of_requests", rounds(Submitted::epoch)},
            {"rounds_of_global_memory", rounds(Submitted::operation)}}}};
}

} // namespace

void TraceLane::add(const char* name, std::uint64_t begin, std::uint64_t end) {
  // A helper polls in many short rounds: those that follow each other closely are one event.
  constexpr std::uint64_t gap_ns = 20'000;
  if (thread_ == 1 && !events_.empty() && events_.back().name == name && begin - events_.back().end < gap_ns) {
    events_.back().end = end;
  } else if (events_.size() < most_events) {
    events_.push_back({name, begin, end});
  }
}

void Trace::begin(const char* name) {
  const std::lock_guard lock(mutex);
  open_.push_back({name, now_ns()});
}

void Trace::end() {
  const std::lock_guard lock(mutex);
  if (!open_.empty()) {
    rank.add(open_.back().name, open_.back().begin, now_ns());
    open_.pop_back();
  }
}

void Trace::write(MPI_Comm comm, const HelperStatistics* statistics) const {
  using nlohmann::json;
  int self = 0;
  int ranks = 1;
  PMPI_Comm_rank(comm, &self);
  PMPI_Comm_size(comm, &ranks);
  json events = json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", self}, {"args", {{"name", "rank " + std::to_string(self)}}}});
  for (const TraceLane* lane : {&rank, &helper, &requests}) {
    static constexpr const char* names[] = {"rank", "helper", "requests"};
    if (!lane->events().empty()) {
      events.push_back({{"name", "thread_name"},
                        {"ph", "M"},
                        {"pid", self},
                        {"tid", lane->thread()},
                        {"args", {{"name", names[lane->thread()]}}}});
    }
    for (const TraceLane::Event& e : lane->events()) {
      events.push_back({{"name", e.name},
                        {"ph", "X"},
                        {"pid", self},
                        {"tid", lane->thread()},
                        {"ts", 1e-3 * static_cast<double>(e.begin)},
                        {"dur", 1e-3 * static_cast<double>(e.end - e.begin)}});
    }
  }
  if (statistics != nullptr) {
    events.push_back(statistics_event(*statistics, self, helper.thread()));
  }
  const std::string text = events.dump();
  const int bytes = static_cast<int>(text.size());
  std::optional<Error> failure;
  if (self != 0) {
    check_mpi(PMPI_Send(&bytes, 1, MPI_INT, 0, 0, comm), "MPI_Send");
    check_mpi(PMPI_Send(text.data(), bytes, MPI_CHAR, 0, 1, comm), "MPI_Send");
  } else {
    // Rank 0 holds one rank's text at a time.
    std::ofstream out(file_);
    out << text.substr(0, text.size() - 1);
    std::string other;
    for (int r = 1; r < ranks; ++r) {
      int length = 0;
      check_mpi(PMPI_Recv(&length, 1, MPI_INT, r, 0, comm, MPI_STATUS_IGNORE), "MPI_Recv");
      other.resize(static_cast<std::size_t>(length));
      check_mpi(PMPI_Recv(other.data(), length, MPI_CHAR, r, 1, comm, MPI_STATUS_IGNORE), "MPI_Recv");
      out << ",\n" << other.substr(1, other.size() - 2);
    }
    out << "]\n";
    out.close();
    if (!out) {
      failure = Error(Code::resource, "rank 0: the trace could not be written to {}", file_);
    }
  }
  agree(comm, failure);
}

} // namespace stoker::engine
