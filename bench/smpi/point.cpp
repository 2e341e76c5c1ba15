// SPDX-License-Identifier: BSD-3-Clause
#include "bench/smpi/point.hpp"

#include "algos/collectives/distributed_vector.hpp"
#include "algos/collectives/exchange.hpp"
#include "algos/libraries/library_rules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace stoker::bench {

namespace {

// Whose rules the point asks for.
algos::Library library_of(const Point& point) {
  const auto library = algos::find_library(std::string_view(point.algorithm).substr(rules_of.size()));
  if (!library) {
    throw std::invalid_argument("\"" + point.algorithm + "\": there are the rules of mpich and openmpi");
  }
  return *library;
}

Point point_of(const std::string& line) {
  std::istringstream words(line);
  std::string collective;
  Point point;
  std::string more;
  const bool complete = static_cast<bool>(words >> collective >> point.algorithm >> point.bytes) && !(words >> more);
  const auto found = algos::find_collective(collective);
  if (!complete || !found) {
    throw std::invalid_argument("\"" + line + "\"; expected a collective, an algorithm and a number of bytes");
  }
  point.collective = *found;
  if (point.algorithm.starts_with(rules_of)) {
    static_cast<void>(library_of(point));
  } else if (point.algorithm != library) {
    static_cast<void>(algos::parse_choice(point.collective, point.algorithm));
  }
  return point;
}

} // namespace

std::vector<Point> read_points(const std::string& path) {
  std::ifstream lines(path);
  if (!lines) {
    throw std::invalid_argument(path + " cannot be read");
  }
  std::vector<Point> points;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    try {
      points.push_back(point_of(line));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return points;
}

algos::Choice choice_of(const Point& point, const topology::Layout& layout) {
  if (point.algorithm.starts_with(rules_of)) {
    return algos::library_choice(library_of(point), layout,
                                 {.collective = point.collective, .bytes = point.bytes, .element_bytes = element_bytes})
        .choice;
  }
  return algos::resolve(algos::parse_choice(point.collective, point.algorithm), layout);
}

algos::Program program_of(const Point& point, const topology::Layout& layout, int rank) {
  const algos::Choice choice = choice_of(point, layout);
  const int ranks = layout.ranks();
  // This rank's block lies at the same place in all receive buffers.
  const auto own_offset = [rank](const std::vector<std::uint64_t>& offsets) {
    return std::vector<std::uint64_t>(offsets.size(), offsets[static_cast<std::size_t>(rank)]);
  };
  if (algos::pattern_of(point.collective) == algos::Pattern::exchange) {
    const auto sizes = algos::BlockSizes::uniform(ranks, point.bytes);
    const auto offsets = algos::equal_offsets(ranks, point.bytes);
    return algos::compile(choice, algos::Exchange{.layout = layout,
                                                  .rank = rank,
                                                  .sizes = sizes,
                                                  .send_offsets = offsets,
                                                  .recv_offsets = offsets,
                                                  .put_offsets = own_offset(offsets)});
  }
  const std::size_t blocks = algos::has_blocks(point.collective) ? static_cast<std::size_t>(ranks) : 1;
  algos::DistributedVector vector{.layout = layout,
                                  .rank = rank,
                                  .element_bytes = element_bytes,
                                  .sizes = std::vector<std::uint64_t>(blocks, point.bytes)};
  vector.offsets = algos::equal_offsets(static_cast<int>(blocks), point.bytes);
  if (blocks > 1) {
    vector.put_offsets = own_offset(vector.offsets);
  }
  return algos::compile(choice, vector);
}

topology::Layout layout_of(const algos::Machine& machine, int ranks, int ranks_per_node) {
  return topology::Layout::uniform(ranks, ranks_per_node, machine.domains_per_node);
}

LongMessages long_messages_of(std::string_view word) {
  constexpr std::array<std::string_view, 3> words = {"eager", "announced", "rendezvous"};
  const auto* const found = std::ranges::find(words, word);
  if (found == words.end()) {
    throw std::invalid_argument("long messages: \"" + std::string(word) +
                                "\"; expected eager, announced or rendezvous");
  }
  return static_cast<LongMessages>(found - words.begin());
}

algos::Machine without_what_smpi_lacks(algos::Machine machine, LongMessages long_messages) {
  if (long_messages == LongMessages::eager) {
    machine.eager_bytes = std::numeric_limits<std::int32_t>::max() - 1;
  }
  for (algos::MessageCost& cost : machine.message) {
    cost.gap = 0;
  }
  machine.port.seconds = 0;
  machine.match_per_posted = 0;
  machine.unexpected_per_byte = 0;
  machine.copy = 0;
  machine.copy_per_byte = 0;
  machine.combine_per_byte = 0;
  machine.piece = 0;
  machine.memory_per_byte = 0;
  machine.remote_reads = false;
  machine.noise.duration = 0;
  return machine;
}

std::string to_json(const Point& point, std::string_view simulator, const topology::Layout& layout, int ranks_per_node,
                    double seconds) {
  return nlohmann::ordered_json{{"simulator", simulator},
                                {"collective", algos::name_of(point.collective)},
                                {"algorithm", point.algorithm},
                                {"choice", point.algorithm == library ? "" : algos::to_text(choice_of(point, layout))},
                                {"ranks", layout.ranks()},
                                {"nodes", layout.nodes()},
                                {"ppn", ranks_per_node},
                                {"bytes", point.bytes},
                                {"seconds", seconds}}
      .dump();
}

} // namespace stoker::bench
