// SPDX-License-Identifier: BSD-3-Clause
// `stoker calibrate`: a machine file for the machine that the job runs on, from messages with MPI. What it does not
// measure is what a typical cluster has, and so is what makes no sense.
#include "algos/schedule/traffic.hpp"
#include "api/cli/commands.hpp"
#include "api/cli/message_costs.hpp"
#include "api/cli/mpi_session.hpp"
#include "api/cli/output_file.hpp"
#include "engine/base/mpi_identity.hpp"
#include "engine/settings/machine_file.hpp"
#include "topology/discover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stoker::cli {
namespace {

using algos::Distance;
using algos::PortCost;

// The first pair of ranks at that distance. Layouts do not tell sockets apart, nor switches.
std::optional<RankPair> pair_at(const topology::Layout& layout, algos::Level level) {
  for (int a = 0; a < layout.ranks(); ++a) {
    for (int b = a + 1; b < layout.ranks(); ++b) {
      if (algos::level_between(layout, a, b) == level) {
        return RankPair(a, b);
      }
    }
  }
  return std::nullopt;
}

// What was found out, in words: what the file's head says was measured, and what makes no sense.
struct CalibrationFindings {
  std::vector<std::string> measured;
  std::vector<std::string> notes;
};

constexpr double microsecond = 1e-6;

// Where overheads or gap make no sense the time of a short message is divided as on a typical cluster.
void set_message(algos::MessageCost& cost, const MessageTimes& times, const std::string& where,
                 CalibrationFindings& findings) {
  const double one_way = times.one_way.seconds;
  const double together = cost.send_overhead + cost.latency + cost.receive_overhead;
  for (double* const part : {&cost.send_overhead, &cost.latency, &cost.receive_overhead, &cost.gap}) {
    *part *= one_way / together;
  }
  cost.gap_per_byte = times.one_way.seconds_per_byte;
  std::string what = "latency_us, bandwidth_GB_per_s";
  const double overheads = times.send_overhead + times.receive_overhead;
  const auto [shorter, longer] = std::minmax(times.send_overhead, times.receive_overhead);
  if (shorter > 0 && longer <= one_way) {
    // Part of either call is not on the way of a short message: within a node both may together take longer than it.
    // Then they are shortened alike, which leaves a tenth for the way.
    const double share = std::min(1.0, 0.9 * one_way / overheads);
    cost.send_overhead = share * times.send_overhead;
    cost.receive_overhead = share * times.receive_overhead;
    cost.latency = one_way - (share * overheads);
    what += ", send_overhead_us, receive_overhead_us";
  } else {
    findings.notes.push_back(fmt::format(
        "{}: overheads of {:.3f} and {:.3f} us in a message of {:.3f} us; a typical cluster's shares stand for them",
        where, times.send_overhead / microsecond, times.receive_overhead / microsecond, one_way / microsecond));
  }
  if (times.stream > 0 && times.stream <= one_way) {
    // A stream that its receiver slows down says only that the gap is not longer.
    cost.gap = times.stream > cost.receive_overhead ? times.stream : std::min(times.stream, cost.send_overhead);
    what += ", gap_us";
  } else {
    findings.notes.push_back(fmt::format("{}: a gap of {:.3f} us beside {:.3f} us for a whole message; a typical "
                                         "cluster's share stands for it",
                                         where, times.stream / microsecond, one_way / microsecond));
  }
  findings.measured.push_back(fmt::format("[{}] {}", where, what));
}

// `one_way`: seconds of a short message. A library that finds receives by hashing needs nothing for each, give or take.
void set_matching(algos::Machine& machine, const MatchingTimes& times, double one_way, CalibrationFindings& findings) {
  constexpr double nothing = 1e-9;
  std::string what;
  const auto take = [&](double& place, double seconds, const char* key) {
    if (seconds > -nothing && seconds <= one_way) {
      place = std::max(0.0, seconds);
      what += fmt::format("{}{}", what.empty() ? "" : ", ", key);
    } else {
      findings.notes.push_back(
          fmt::format("{}: {:.4f} us beside {:.3f} us for a whole message; a typical cluster's stands "
                      "for it",
                      key, seconds / microsecond, one_way / microsecond));
    }
  };
  take(machine.match_per_posted, times.posted, "match_us");
  take(machine.post, times.post, "post_us");
  if (!what.empty()) {
    findings.measured.push_back("[message] " + what);
  }
  findings.measured.push_back(
      fmt::format("a receive is compared with an unexpected message in {:.4f} us, which no key says",
                  times.unexpected / microsecond));
}

// What all ranks of a node share when they send to another one at the same time.
PortCost port_of(const topology::Layout& layout, int rank) {
  const auto here = layout.node_ranks(0);
  const auto there = layout.node_ranks(1);
  std::vector<RankPair> pairs;
  for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
    pairs.emplace_back(here[i], there[i]);
  }
  const double share = 1.0 / static_cast<double>(pairs.size());
  const PortCost together = line(all_at_once(rank, pairs, small_bytes), all_at_once(rank, pairs, large_bytes));
  return {pairs.size() > 1 ? together.seconds * share : 0.0, together.seconds_per_byte * share};
}

// From far to near.
struct MeasuredLevel {
  algos::Level level;
  std::vector<Distance> distances;
};
const std::array levels = {MeasuredLevel{algos::Level::network, {Distance::network, Distance::switched}},
                           MeasuredLevel{algos::Level::node, {Distance::node, Distance::socket}},
                           MeasuredLevel{algos::Level::domain, {Distance::domain}}};

// Distances that do not occur in the job get the cost of the next farther one; the farthest that of the next nearer.
void measure_messages(const topology::Layout& layout, int rank, algos::Machine& machine,
                      CalibrationFindings& findings) {
  std::vector<std::optional<MessageTimes>> measured;
  std::optional<RankPair> farthest;
  for (const MeasuredLevel& level : levels) {
    const auto pair = pair_at(layout, level.level);
    farthest = farthest ? farthest : pair;
    measured.push_back(pair ? std::optional(message_times(rank, *pair)) : std::nullopt);
    if (!pair) {
      findings.notes.push_back(
          fmt::format("no two ranks at distance {}; the next distance's cost stands for it", name_of(level.level)));
    }
  }
  MessageTimes next = **std::ranges::find_if(measured, [](const auto& times) { return times.has_value(); });
  const double one_way = next.one_way.seconds;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    next = measured[i].value_or(next);
    CalibrationFindings own;
    for (const Distance distance : levels[i].distances) {
      set_message(machine.at(distance), next, fmt::format("message.{}", name_of(distance)), own);
    }
    if (measured[i]) { // else all of it has been said
      std::ranges::move(own.measured, std::back_inserter(findings.measured));
      std::ranges::move(own.notes, std::back_inserter(findings.notes));
    }
  }
  set_matching(machine, matching_times(rank, *farthest), one_way, findings);
}

std::string file_text(const algos::Machine& machine, const topology::Layout& layout,
                      const CalibrationFindings& findings) {
  std::string text =
      fmt::format("# Measured by stoker calibrate on {} ranks with {}:\n", layout.ranks(), engine::mpi_identity().text);
  for (const std::string& line : findings.measured) {
    text += "#   " + line + "\n";
  }
  text += "# All else is what a typical cluster has.\n";
  for (const std::string& note : findings.notes) {
    text += "# Not as measured: " + note + ".\n";
  }
  return text + engine::machine_text(machine);
}

int measure(const MpiSession& session, const CalibrateOptions& options) {
  const topology::Machine topology;
  const topology::Layout layout =
      topology::discover(MPI_COMM_WORLD, topology, {.ranks_per_node = options.ranks_per_node}).layout;
  if (layout.ranks() < 2) {
    throw std::runtime_error("calibrate needs at least two ranks: run it under the MPI launcher, as the job will be");
  }
  if (session.rank() == 0) {
    check_writable("--output", options.output);
  }
  algos::Machine machine = algos::typical_cluster();
  machine.name = "calibrated";
  machine.source = "stoker calibrate, messages; the rest from " + algos::typical_cluster().name;
  machine.ranks_per_node = static_cast<int>(layout.node_ranks(0).size());
  machine.domains_per_node = std::max(1, std::min(layout.domains() / layout.nodes(), machine.ranks_per_node));
  machine.sockets_per_node = 1;
  machine.network = {};
  CalibrationFindings findings;
  const PortCost copying = copy_cost(session.rank());
  machine.copy = copying.seconds;
  machine.copy_per_byte = copying.seconds_per_byte;
  findings.measured.emplace_back("[memory] copy_us, copy_GB_per_s");
  measure_messages(layout, session.rank(), machine, findings);
  if (layout.nodes() > 1) {
    machine.port = port_of(layout, session.rank());
    findings.measured.emplace_back("[network] port_us, port_GB_per_s");
  }
  if (session.rank() == 0) {
    write_output("--output", options.output, file_text(machine, layout, findings));
    for (const std::string& note : findings.notes) {
      fmt::print(stderr, "stoker: {}\n", note);
    }
  }
  return 0;
}

} // namespace

int calibrate(const CalibrateOptions& options) {
  return with_mpi([&](const MpiSession& session) { return measure(session, options); });
}

} // namespace stoker::cli
