// SPDX-License-Identifier: BSD-3-Clause
#include "algos/select/tuning_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace stoker::algos {

namespace {

// The last size that is nearer to `below` than to `above`, which is larger, by their ratio.
std::uint64_t last_nearer(std::uint64_t below, std::uint64_t above) {
  const double middle = std::sqrt(static_cast<double>(below) * static_cast<double>(above));
  return std::clamp(static_cast<std::uint64_t>(middle), below, above - 1);
}

} // namespace

bool TuningEntry::covers(const topology::Layout& layout, std::uint64_t size) const {
  if (!nodes.has(static_cast<std::uint64_t>(layout.nodes())) || !bytes.has(size)) {
    return false;
  }
  for (int node = 0; node < layout.nodes(); ++node) {
    if (!ranks_per_node.has(layout.node_ranks(node).size())) {
      return false;
    }
  }
  return true;
}

std::uint64_t tuned_bytes(std::span<const std::uint64_t> sizes) {
  if (sizes.empty()) {
    return 0;
  }
  const std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  return (total + sizes.size() - 1) / sizes.size();
}

void TuningTable::add(const TuningEntry& entry) {
  if (!is_tunable(entry.collective())) {
    throw std::invalid_argument(std::string(name_of(entry.collective())) +
                                " cannot be tuned by nodes and sizes, since its time depends on who is whose neighbor");
  }
  const auto other = std::ranges::find_if(entries_, [&](const TuningEntry& known) {
    return known.collective() == entry.collective() && known.nodes.meets(entry.nodes) &&
           known.ranks_per_node.meets(entry.ranks_per_node) && known.bytes.meets(entry.bytes);
  });
  if (other != entries_.end()) {
    throw std::invalid_argument("a part of what this entry covers for " + std::string(name_of(entry.collective())) +
                                " is covered by the entry" +
                                (other->line != 0 ? " of line " + std::to_string(other->line) : "") + " with " +
                                to_text(other->choice) + "; expected one entry for each call");
  }
  entries_.push_back(entry);
}

void TuningTable::add_series(Interval nodes, Interval ranks_per_node, std::span<const Fastest> series) {
  for (std::size_t i = 0; i < series.size();) {
    const std::uint64_t first = i == 0 ? series[i].bytes : last_nearer(series[i - 1].bytes, series[i].bytes) + 1;
    const Choice& choice = series[i].choice;
    while (i < series.size() && series[i].choice == choice) {
      ++i;
    }
    const std::uint64_t last =
        i == series.size() ? series[i - 1].bytes : last_nearer(series[i - 1].bytes, series[i].bytes);
    add({choice, nodes, ranks_per_node, {first, last}, 0});
  }
}

const TuningEntry* TuningTable::find(Collective collective, const topology::Layout& layout, std::uint64_t bytes) const {
  const auto found = std::ranges::find_if(entries_, [&](const TuningEntry& entry) {
    return entry.collective() == collective && entry.covers(layout, bytes);
  });
  return found == entries_.end() ? nullptr : &*found;
}

} // namespace stoker::algos
