// SPDX-License-Identifier: BSD-3-Clause
// `stoker calibrate`: the cost model's parameters for the machine that the job runs on, from ping-pongs with MPI.
#include "api/cli/commands.hpp"
#include "api/cli/mpi_session.hpp"
#include "engine/settings/cost_file.hpp"
#include "topology/discover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::cli {
namespace {

using algos::Cost;
using algos::Level;

constexpr std::size_t small_bytes = 8;
constexpr std::size_t large_bytes = std::size_t{1} << 20U;
constexpr int repetitions = 7; // of which the shortest counts: what disturbs only makes things longer

double since(double begin) { return MPI_Wtime() - begin; }

// The straight line through two lengths.
Cost line(double small_seconds, double large_seconds) {
  const double per_byte = (large_seconds - small_seconds) / static_cast<double>(large_bytes - small_bytes);
  return {small_seconds, std::max(0.0, per_byte)};
}

// Seconds for one message between ranks a and b; on all ranks.
double ping_pong(int rank, int a, int b, std::size_t bytes) {
  std::vector<char> buffer(bytes);
  const int rounds = bytes == small_bytes ? 50 : 2;
  const int count = static_cast<int>(bytes);
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < rounds && (rank == a || rank == b); ++i) {
      const int peer = rank == a ? b : a;
      if (rank == a) {
        MPI_Send(buffer.data(), count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
      }
      MPI_Recv(buffer.data(), count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == b) {
        MPI_Send(buffer.data(), count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
      }
    }
    best = std::min(best, since(begin) / (2 * rounds));
  }
  MPI_Bcast(&best, 1, MPI_DOUBLE, a, MPI_COMM_WORLD);
  return best;
}

// Seconds until all of `pairs` have sent a message at the same time; on all ranks.
double all_at_once(int rank, const std::vector<std::pair<int, int>>& pairs, std::size_t bytes) {
  std::vector<char> buffer(bytes);
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (const auto& [from, to] : pairs) {
      if (rank == from) {
        MPI_Send(buffer.data(), static_cast<int>(bytes), MPI_BYTE, to, 0, MPI_COMM_WORLD);
      } else if (rank == to) {
        MPI_Recv(buffer.data(), static_cast<int>(bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    double seconds = since(begin);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    best = std::min(best, seconds);
  }
  return best;
}

Cost copies() {
  const auto seconds = [](std::size_t bytes) {
    std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes);
    const int rounds = bytes == small_bytes ? 1000 : 4;
    double best = std::numeric_limits<double>::infinity();
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const double begin = MPI_Wtime();
      for (int i = 0; i < rounds; ++i) {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory"); // the copy is wanted
      }
      best = std::min(best, since(begin) / rounds);
    }
    return best;
  };
  return line(seconds(small_bytes), seconds(large_bytes));
}

// The first pair of ranks at that distance.
std::optional<std::pair<int, int>> pair_at(const topology::Layout& layout, Level level) {
  for (int a = 0; a < layout.ranks(); ++a) {
    for (int b = a + 1; b < layout.ranks(); ++b) {
      if (algos::level_between(layout, a, b) == level) {
        return std::pair(a, b);
      }
    }
  }
  return std::nullopt;
}

int measure(const MpiSession& session, const CalibrateOptions& options) {
  const topology::Machine machine;
  const topology::Layout layout =
      topology::discover(MPI_COMM_WORLD, machine, {.ranks_per_node = options.ranks_per_node}).layout;
  if (layout.ranks() < 2) {
    throw std::runtime_error("calibrate needs at least two ranks: run it under the MPI launcher, as the job will be");
  }
  algos::CostModel model;
  model.message[static_cast<std::size_t>(Level::self)] = copies();
  const Cost* nearest = nullptr;
  std::vector<std::string> notes;
  for (const Level level : {Level::domain, Level::node, Level::network}) {
    Cost& cost = model.message[static_cast<std::size_t>(level)];
    if (const auto pair = pair_at(layout, level)) {
      cost = line(ping_pong(session.rank(), pair->first, pair->second, small_bytes),
                  ping_pong(session.rank(), pair->first, pair->second, large_bytes));
      nearest = &cost;
    } else {
      notes.push_back(fmt::format("no two ranks at distance {}", name_of(level)));
    }
  }
  // Distances that do not occur in the job get the cost of the next one.
  for (const Level level : {Level::network, Level::node, Level::domain}) {
    Cost& cost = model.message[static_cast<std::size_t>(level)];
    if (cost.seconds == 0) {
      cost = *nearest;
    }
    nearest = &cost;
  }
  if (layout.nodes() > 1) {
    const auto here = layout.node_ranks(0);
    const auto there = layout.node_ranks(1);
    std::vector<std::pair<int, int>> pairs;
    for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
      pairs.emplace_back(here[i], there[i]);
    }
    const double share = 1.0 / static_cast<double>(pairs.size());
    const Cost together =
        line(all_at_once(session.rank(), pairs, small_bytes), all_at_once(session.rank(), pairs, large_bytes));
    model.port = {pairs.size() > 1 ? together.seconds * share : 0.0, together.seconds_per_byte * share};
  }
  if (session.rank() == 0) {
    const std::string text = engine::cost_text(model);
    if (options.output.empty()) {
      fmt::print("{}\n", text);
    } else {
      engine::write_cost_file(options.output, text);
    }
    for (const std::string& note : notes) {
      fmt::print(stderr, "stoker: {}; the next distance's cost stands for it\n", note);
    }
  }
  return 0;
}

} // namespace

int calibrate(const CalibrateOptions& options) {
  return with_mpi([&](const MpiSession& session) { return measure(session, options); });
}

} // namespace stoker::cli
