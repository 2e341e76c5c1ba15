// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/trace.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/clock_offset.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

namespace stoker::engine {
namespace {

// Enough for minutes of a run. Nobody looks at longer traces, and they must not use up the job's memory.
constexpr std::size_t most_events = 1'000'000;

// Events in progress together go to rows of their own.
std::vector<std::vector<TraceLane::Event>> rows_of(std::vector<TraceLane::Event> events) {
  std::ranges::stable_sort(events, {}, &TraceLane::Event::begin);
  std::vector<std::vector<TraceLane::Event>> rows;
  for (const TraceLane::Event& event : events) {
    auto row = std::ranges::find_if(rows, [&](const auto& one) { return one.back().end <= event.begin; });
    if (row == rows.end()) {
      row = rows.emplace(rows.end());
    }
    row->push_back(event);
  }
  return rows;
}

// The part of the file that is about one process.
class ProcessEvents {
public:
  // `offset_ns`: what to add to times of this process for those of the file.
  ProcessEvents(int process, std::int64_t offset_ns) : process_(process), offset_ns_(offset_ns) {}

  // Viewers show the name. Place and host are for other readers of the file.
  void add_process(const topology::Place& place) {
    std::array<char, MPI_MAX_PROCESSOR_NAME + 1> host{};
    int length = 0;
    PMPI_Get_processor_name(host.data(), &length);
    add({{"name", "process_name"},
         {"ph", "M"},
         {"pid", process_},
         {"args",
          {{"name", "rank " + std::to_string(process_)},
           {"host", host.data()},
           {"node", place.node},
           {"domain", place.domain}}}});
  }

  void add_thread(int thread, const std::string& name, const std::vector<TraceLane::Event>& events) {
    add({{"name", "thread_name"}, {"ph", "M"}, {"pid", process_}, {"tid", thread}, {"args", {{"name", name}}}});
    for (const TraceLane::Event& event : events) {
      add({{"name", event.name},
           {"ph", "X"},
           {"pid", process_},
           {"tid", thread},
           {"ts", microseconds(event.begin)},
           {"dur", 1e-3 * static_cast<double>(event.end - event.begin)}});
    }
  }

  // An instant at the end of the helper's lane, whose arguments a viewer shows.
  void add_statistics(int thread, const HelperStatistics& statistics) {
    const auto rounds = [&](Submitted kind) {
      const HelperStatistics::Rounds& of = statistics.rounds[static_cast<std::size_t>(kind)];
      return nlohmann::json{{"busy", of.busy}, {"idle", of.idle}};
    };
    add({{"name", "helper statistics"},
         {"ph", "i"},
         {"s", "t"},
         {"pid", process_},
         {"tid", thread},
         {"ts", microseconds(now_ns())},
         {"args",
          {{"busy_seconds", statistics.busy_seconds},
           {"idle_seconds", statistics.idle_seconds},
           {"sleeping_seconds", statistics.sleeping_seconds},
           {"rounds_of_requests", rounds(Submitted::epoch)},
           {"rounds_of_global_memory", rounds(Submitted::operation)}}}});
  }

  // Without the brackets around all.
  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  // As text, which takes a tenth of the memory. Regions may have names that are no UTF-8.
  void add(const nlohmann::json& event) {
    text_ += text_.empty() ? "" : ",";
    text_ += event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  [[nodiscard]] double microseconds(std::uint64_t ns) const {
    return 1e-3 * static_cast<double>(static_cast<std::int64_t>(ns) + offset_ns_);
  }

  int process_;
  std::int64_t offset_ns_;
  std::string text_;
};

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

void Trace::begin(std::string_view name) {
  const std::lock_guard lock(mutex);
  auto kept = names_.find(name);
  if (kept == names_.end()) {
    kept = names_.emplace(name).first;
  }
  open_.push_back({kept->c_str(), now_ns()});
}

void Trace::end() {
  const std::lock_guard lock(mutex);
  if (!open_.empty()) {
    rank.add(open_.back().name, open_.back().begin, now_ns());
    open_.pop_back();
  }
}

std::string Trace::text_of(int process, std::int64_t offset_ns, const topology::Place& place,
                           const HelperStatistics* statistics) const {
  ProcessEvents events(process, offset_ns);
  events.add_process(place);
  events.add_thread(rank.thread(), "rank", rank.events());
  if (statistics != nullptr) {
    events.add_thread(helper.thread(), "helper", helper.events());
    events.add_statistics(helper.thread(), *statistics);
  }
  int row = 0;
  for (const std::vector<TraceLane::Event>& one : rows_of(requests.events())) {
    events.add_thread(requests.thread() + row, row == 0 ? "requests" : "requests " + std::to_string(row + 1), one);
    ++row;
  }
  return std::move(events).text();
}

void Trace::write(MPI_Comm comm, const topology::Place& place, const HelperStatistics* statistics) const {
  const int self = rank_in(comm);
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  const std::int64_t offset_ns = offset_to_rank_0(comm);
  std::string text; // empty: this rank has failed, which all will know in the end
  std::optional<Error> failure = attempt([&] { text = text_of(self, offset_ns, place, statistics); });
  const int bytes = static_cast<int>(text.size());
  if (self != 0) {
    check_mpi(PMPI_Send(&bytes, 1, MPI_INT, 0, 0, comm), "MPI_Send");
    check_mpi(PMPI_Send(text.data(), bytes, MPI_CHAR, 0, 1, comm), "MPI_Send");
  } else {
    // Rank 0 holds one rank's text at a time.
    std::ofstream out(file_);
    out << '[' << text;
    std::string other;
    for (int r = 1; r < ranks; ++r) {
      int length = 0;
      check_mpi(PMPI_Recv(&length, 1, MPI_INT, r, 0, comm, MPI_STATUS_IGNORE), "MPI_Recv");
      other.resize(static_cast<std::size_t>(length));
      check_mpi(PMPI_Recv(other.data(), length, MPI_CHAR, r, 1, comm, MPI_STATUS_IGNORE), "MPI_Recv");
      out << ",\n" << other;
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
