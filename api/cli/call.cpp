// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/call.hpp"

#include "algos/simulate/expectation.hpp"
#include "algos/simulate/memory_needed.hpp"
#include "algos/verify/whole_exchange.hpp"
#include "algos/verify/whole_neighbor_exchange.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace stoker::cli {
namespace {

using algos::Collective;

// For all pairs of ranks there are tables of sizes and offsets.
constexpr int most_ranks_of_a_table = 4096;

algos::WholeExchange product(const Call& call, std::uint64_t bytes) {
  algos::WholeExchange::Table sizes;
  for (const std::vector<int>& row : call.counts) {
    std::vector<std::uint64_t>& row_bytes = sizes.emplace_back();
    std::ranges::transform(row, std::back_inserter(row_bytes),
                           [&](int count) { return static_cast<std::uint64_t>(count) * bytes; });
  }
  return algos::WholeExchange::ragged(call.layout, std::move(sizes));
}

algos::WholeNeighborExchange product_among_neighbors(const Call& call, std::uint64_t bytes) {
  std::vector<algos::WholeNeighborExchange::Edge> edges;
  for (int source = 0; source < call.layout.ranks(); ++source) {
    std::uint64_t offset = 0;
    for (int target = 0; target < call.layout.ranks(); ++target) {
      const int count = call.counts[static_cast<std::size_t>(source)][static_cast<std::size_t>(target)];
      if (count > 0) {
        edges.push_back({source, target, static_cast<std::uint64_t>(count) * bytes, offset});
        offset += edges.back().bytes;
      }
    }
  }
  return {call.layout, edges};
}

// Programs of thousands of ranks are made and dropped one after the other, megabytes each. The C library gives
// that much back to the kernel each time, and fetching it again page by page takes longer than making the programs.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kept_bytes = 1 << 28;
  constexpr int largest_of_heap = 1 << 25; // more is refused
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
  mallopt(M_MMAP_THRESHOLD, largest_of_heap);
#endif
}

template <class Whole>
algos::ProgramOf programs_of_all(const algos::Choice& choice, Whole exchange) {
  const auto whole = std::make_shared<const Whole>(std::move(exchange));
  return [whole, program_of = whole->program_of(choice)](int rank) { return program_of(rank); };
}

} // namespace

std::string Call::title() const {
  return fmt::format("{}{}{}", name_of(collective),
                     grid.empty() ? "" : fmt::format(" on a grid of {}", fmt::join(grid, "x")),
                     matrix == nullptr ? "" : " for the product with " + matrix_name);
}

std::uint64_t Call::mean_bytes(std::uint64_t bytes) const {
  if (matrix == nullptr) {
    return bytes;
  }
  std::uint64_t elements = 0;
  for (const std::vector<int>& row : counts) {
    elements = std::accumulate(row.begin(), row.end(), elements);
  }
  const std::uint64_t pairs = static_cast<std::uint64_t>(layout.ranks()) * static_cast<std::uint64_t>(layout.ranks());
  return ((elements * bytes) + pairs - 1) / pairs;
}

Call Call::on(const topology::Layout& other) const {
  Call call{.collective = collective,
            .layout = other,
            .root = std::min(root, other.ranks() - 1),
            .matrix_name = matrix_name,
            .matrix = matrix};
  if (matrix != nullptr) {
    call.counts = product_counts(*matrix, other.ranks());
  }
  return call;
}

std::vector<int> grid_of(const std::string& text) {
  std::vector<int> extents;
  std::istringstream stream(text);
  for (std::string extent; std::getline(stream, extent, 'x');) {
    int value = 0;
    const auto [end, error] = std::from_chars(extent.data(), extent.data() + extent.size(), value);
    if (error != std::errc{} || end != extent.data() + extent.size() || value < 1) {
      throw std::invalid_argument(fmt::format("--grid {}: expected positive numbers, as in 8x4", text));
    }
    extents.push_back(value);
  }
  return extents;
}

void set_pattern(Call& call, const std::string& grid, const std::string& matrix_file) {
  const bool neighbors = pattern_of(call.collective) == algos::Pattern::neighborhood;
  const std::string_view name = name_of(call.collective);
  if (!grid.empty()) {
    if (!neighbors) {
      throw std::invalid_argument(
          fmt::format("--grid: expected neighbor_alltoall or neighbor_alltoallv, not {}", name));
    }
    call.grid = grid_of(grid);
    if (algos::grid_points(call.grid) != call.layout.ranks()) {
      throw std::invalid_argument(
          fmt::format("--grid {}: expected as many points as there are ranks, {}", grid, call.layout.ranks()));
    }
  } else if (!matrix_file.empty()) {
    if (call.collective != Collective::alltoallv && call.collective != Collective::neighbor_alltoallv) {
      throw std::invalid_argument(fmt::format("--matrix: expected alltoallv or neighbor_alltoallv, not {}", name));
    }
    if (call.layout.ranks() > most_ranks_of_a_table) {
      throw std::invalid_argument(
          fmt::format("--matrix: {} ranks; expected {} at most", call.layout.ranks(), most_ranks_of_a_table));
    }
    call.matrix_name = std::filesystem::path(matrix_file).stem().string();
    call.matrix = std::make_shared<const matrix_market::Coordinates>(matrix_market::read(matrix_file));
    call.counts = product_counts(*call.matrix, call.layout.ranks());
  } else if (neighbors) {
    throw std::invalid_argument(fmt::format("{}: expected --grid, as in --grid 8x4{}", name,
                                            call.collective == Collective::neighbor_alltoallv ? ", or --matrix" : ""));
  }
}

algos::ProgramOf programs_of(const algos::Choice& choice, const Call& call, std::uint64_t bytes) {
  keep_freed_memory();
  const bool neighbors = pattern_of(call.collective) == algos::Pattern::neighborhood;
  if (!call.grid.empty()) {
    return programs_of_all(choice, algos::WholeNeighborExchange::grid(call.layout, call.grid, bytes));
  }
  if (call.matrix != nullptr) {
    return neighbors ? programs_of_all(choice, product_among_neighbors(call, bytes))
                     : programs_of_all(choice, product(call, bytes));
  }
  const algos::TypicalCall typical{.collective = call.collective,
                                   .layout = call.layout,
                                   .bytes = bytes,
                                   .element_bytes = element_bytes(bytes),
                                   .root = call.root};
  return [typical, choice](int rank) { return compile(choice, typical, rank); };
}

std::uint64_t memory_to_simulate(const algos::Choice& choice, const Call& call, std::uint64_t bytes, int compilers) {
  const auto ranks = static_cast<std::uint64_t>(call.layout.ranks());
  // The sizes and offsets of all pairs, which a matrix needs.
  const std::uint64_t tables = call.matrix == nullptr ? 0 : ranks * ranks * 3 * sizeof(std::uint64_t);
  return tables + algos::memory_needed(call.layout, programs_of(choice, call, bytes), compilers);
}

} // namespace stoker::cli
