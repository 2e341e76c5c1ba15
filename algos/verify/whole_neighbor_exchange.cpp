// SPDX-License-Identifier: BSD-3-Clause
// A neighborhood exchange as all its ranks together see it.
#include "algos/verify/whole_neighbor_exchange.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

WholeNeighborExchange::WholeNeighborExchange(topology::Layout l, std::span<const Edge> edges, std::uint64_t gap)
    : layout(std::move(l)), ranks(static_cast<std::size_t>(layout.ranks())) {
  for (const Edge& edge : edges) {
    ranks.at(static_cast<std::size_t>(edge.source)).outgoing.push_back({edge.target, edge.bytes, edge.offset, 0});
  }
  for (Neighborhood& rank : ranks) {
    share_by_node(layout, rank.outgoing);
  }
  std::vector<std::size_t> next(ranks.size(), 0); // outgoing block of each rank
  std::vector<std::uint64_t> end(ranks.size(), 0);
  for (const Edge& edge : edges) {
    const auto source = static_cast<std::size_t>(edge.source);
    const auto target = static_cast<std::size_t>(edge.target);
    NeighborBlock block = ranks[source].outgoing[next[source]++];
    block.peer = edge.source;
    block.offset = end[target] + gap;
    end[target] = block.offset + block.bytes;
    ranks[target].incoming.push_back(block);
  }
}

std::int64_t grid_points(std::span<const int> dimensions) {
  std::int64_t points = 1;
  for (const int extent : dimensions) {
    if (extent < 1) {
      throw std::invalid_argument("a grid needs positive dimensions");
    }
    points = std::min<std::int64_t>(points * extent, std::int64_t{1} << 31U);
  }
  return points;
}

WholeNeighborExchange WholeNeighborExchange::grid(topology::Layout layout, std::span<const int> dimensions,
                                                  std::uint64_t bytes) {
  const std::int64_t points = grid_points(dimensions);
  if (points != layout.ranks()) {
    throw std::invalid_argument("a grid of " + std::to_string(points) + " points for " +
                                std::to_string(layout.ranks()) + " ranks; expected as many");
  }
  std::vector<Edge> edges;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    int stride = layout.ranks();
    std::uint64_t offset = 0;
    for (const int extent : dimensions) {
      stride /= extent;
      const int at = rank / stride % extent;
      for (const int step : {extent - 1, 1}) {
        edges.push_back({rank, rank + (((at + step) % extent) - at) * stride, bytes, offset});
        offset += bytes;
      }
    }
  }
  return WholeNeighborExchange(std::move(layout), edges);
}

std::function<Program(int)> WholeNeighborExchange::program_of(const Choice& choice) const {
  return [this, choice](int rank) {
    std::vector<Neighborhood> node;
    if (knowledge_of(choice) != Knowledge::own) {
      for (const int member : layout.node_ranks(layout.node_of(rank))) {
        node.push_back(ranks[static_cast<std::size_t>(member)]);
      }
    }
    return algos::compile(
        choice,
        NeighborExchange{.layout = layout, .rank = rank, .own = ranks[static_cast<std::size_t>(rank)], .node = node});
  };
}

std::vector<Program> WholeNeighborExchange::compile(const Choice& choice) const {
  const auto program_of_rank = program_of(choice);
  std::vector<Program> programs;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    programs.push_back(program_of_rank(rank));
  }
  return programs;
}

std::vector<Contents> WholeNeighborExchange::contents() const {
  std::vector<Contents> contents(ranks.size());
  std::vector<Token> first; // token of the first byte of each rank's sendbuf
  Token next = undefined + 1;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::uint64_t end = 0;
    for (const NeighborBlock& block : ranks[rank].outgoing) {
      end = std::max(end, block.offset + block.bytes);
    }
    first.push_back(next);
    contents[rank].send.resize(end, undefined);
    for (const NeighborBlock& block : ranks[rank].outgoing) { // bytes that no block holds stay gaps
      const auto begin = contents[rank].send.begin() + static_cast<std::ptrdiff_t>(block.offset);
      std::iota(begin, begin + static_cast<std::ptrdiff_t>(block.bytes), next + static_cast<Token>(block.offset));
    }
    next += static_cast<Token>(end);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::map<int, std::vector<const NeighborBlock*>> sent; // to this rank, by source
    for (std::size_t source = 0; source < ranks.size(); ++source) {
      for (const NeighborBlock& block : ranks[source].outgoing) {
        if (block.peer == static_cast<int>(rank)) {
          sent[static_cast<int>(source)].push_back(&block);
        }
      }
    }
    std::map<int, std::size_t> taken;
    for (const NeighborBlock& block : ranks[rank].incoming) {
      const NeighborBlock& origin = *sent.at(block.peer).at(taken[block.peer]++);
      auto& buffer = contents[rank];
      if (buffer.recv.size() < block.offset + block.bytes) {
        buffer.recv.resize(block.offset + block.bytes, undefined);
        buffer.result.resize(buffer.recv.size(), undefined);
      }
      const auto begin = buffer.result.begin() + static_cast<std::ptrdiff_t>(block.offset);
      std::iota(begin, begin + static_cast<std::ptrdiff_t>(block.bytes),
                first[static_cast<std::size_t>(block.peer)] + static_cast<Token>(origin.offset));
    }
  }
  return contents;
}

} // namespace stoker::algos
