// SPDX-License-Identifier: BSD-3-Clause
// An all-to-all exchange as all its ranks together see it.
#include "algos/verify/whole_exchange.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

namespace {

using Table = WholeExchange::Table;

bool square(const Table& table, std::size_t ranks) {
  return table.size() == ranks &&
         std::all_of(table.begin(), table.end(), [&](const auto& row) { return row.size() == ranks; });
}

std::vector<std::uint64_t> column(const Table& table, std::size_t index) {
  std::vector<std::uint64_t> result;
  for (const auto& row : table) {
    result.push_back(row[index]);
  }
  return result;
}

std::vector<std::uint64_t> offsets(std::span<const std::uint64_t> sizes, std::uint64_t gap) {
  std::vector<std::uint64_t> result;
  std::uint64_t end = 0;
  for (const std::uint64_t size : sizes) {
    result.push_back(end + gap);
    end += gap + size;
  }
  return result;
}

// How long a buffer must be to hold all blocks.
std::uint64_t reach(std::span<const std::uint64_t> block_offsets, std::span<const std::uint64_t> sizes) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    end = std::max(end, block_offsets[i] + sizes[i]);
  }
  return end;
}

// The sizes that a rank gets to see of an exchange in which they differ.
BlockSizes sizes_known_to(const WholeExchange& whole, int rank, Knowledge knowledge) {
  BlockSizes known = BlockSizes::table(whole.layout.ranks());
  const auto reveal = [&](int member) {
    known.set_row(member, whole.sizes[static_cast<std::size_t>(member)]);
    known.set_column(member, column(whole.sizes, static_cast<std::size_t>(member)));
  };
  switch (knowledge) {
  case Knowledge::own:
    reveal(rank);
    break;
  case Knowledge::node: {
    const auto members = whole.layout.node_ranks(whole.layout.node_of(rank));
    std::for_each(members.begin(), members.end(), reveal);
    break;
  }
  case Knowledge::all:
    for (int member = 0; member < whole.layout.ranks(); ++member) {
      reveal(member);
    }
    break;
  }
  return known;
}

Program program(const WholeExchange& whole, const Choice& resolved, const BlockSizes& known, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return compile(resolved,
                 Exchange{.layout = whole.layout,
                          .rank = rank,
                          .sizes = known,
                          .send_offsets = whole.in_place ? std::vector<std::uint64_t>{} : whole.send_offsets[r],
                          .recv_offsets = whole.recv_offsets[r],
                          .in_place = whole.in_place,
                          .put_offsets = column(whole.recv_offsets, r)});
}

} // namespace

WholeExchange WholeExchange::uniform(topology::Layout layout, std::uint64_t bytes, bool in_place) {
  const auto ranks = static_cast<std::size_t>(layout.ranks());
  return ragged(std::move(layout), Table(ranks, std::vector<std::uint64_t>(ranks, bytes)), 0, in_place);
}

WholeExchange WholeExchange::ragged(topology::Layout layout, Table sizes, std::uint64_t gap, bool in_place) {
  WholeExchange exchange{std::move(layout), std::move(sizes), {}, {}, in_place};
  for (std::size_t rank = 0; rank < exchange.sizes.size(); ++rank) {
    if (!in_place) {
      exchange.send_offsets.push_back(offsets(exchange.sizes[rank], gap));
    }
    exchange.recv_offsets.push_back(offsets(column(exchange.sizes, rank), gap));
  }
  exchange.check();
  return exchange;
}

void WholeExchange::check() const {
  const auto ranks = static_cast<std::size_t>(layout.ranks());
  if (!square(sizes, ranks) || !square(recv_offsets, ranks) || (!in_place && !square(send_offsets, ranks))) {
    throw std::invalid_argument("an exchange needs sizes and offsets for each pair of ranks");
  }
  for (std::size_t a = 0; in_place && a < ranks; ++a) {
    if (sizes[a] != column(sizes, a)) {
      throw std::invalid_argument("an exchange in place needs blocks of equal size in both directions");
    }
  }
}

std::function<Program(int)> WholeExchange::program_of(const Choice& choice) const {
  const Choice resolved = resolve(choice, layout);
  if (resolved.algorithm->collective == Collective::alltoall) {
    const std::uint64_t bytes = sizes[0][0];
    const auto differs = [&](const auto& row) {
      return std::any_of(row.begin(), row.end(), [&](std::uint64_t size) { return size != bytes; });
    };
    if (std::any_of(sizes.begin(), sizes.end(), differs)) {
      throw std::invalid_argument("alltoall needs blocks of equal size");
    }
    return [this, resolved, known = BlockSizes::uniform(layout.ranks(), bytes)](int rank) {
      return program(*this, resolved, known, rank);
    };
  }
  const Knowledge knowledge = knowledge_of(resolved);
  // What ranks know stays for the next one, if that one knows the same.
  return [this, resolved, knowledge, known = BlockSizes::table(0), who = -1](int rank) mutable {
    const int next = knowledge == Knowledge::own ? rank : knowledge == Knowledge::node ? layout.node_of(rank) : 0;
    if (next != std::exchange(who, next)) {
      known = sizes_known_to(*this, rank, knowledge);
    }
    return program(*this, resolved, known, rank);
  };
}

std::vector<Program> WholeExchange::compile(const Choice& choice) const {
  const auto program_of_rank = program_of(choice);
  std::vector<Program> programs;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    programs.push_back(program_of_rank(rank));
  }
  return programs;
}

std::vector<Contents> WholeExchange::contents() const {
  const Table& out = in_place ? recv_offsets : send_offsets;
  std::vector<Contents> contents(sizes.size());
  std::vector<Token> first; // token of the first byte of each rank's outgoing buffer
  Token next = undefined + 1;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto incoming = column(sizes, rank);
    contents[rank].recv.resize(reach(recv_offsets[rank], incoming), undefined);
    contents[rank].result.resize(contents[rank].recv.size(), undefined);
    auto& buffer = in_place ? contents[rank].recv : contents[rank].send;
    buffer.resize(reach(out[rank], sizes[rank]), undefined);
    first.push_back(next);
    next += static_cast<Token>(buffer.size());
    for (std::size_t target = 0; target < sizes.size(); ++target) {
      const std::uint64_t offset = out[rank][target];
      std::iota(buffer.begin() + static_cast<std::ptrdiff_t>(offset),
                buffer.begin() + static_cast<std::ptrdiff_t>(offset + sizes[rank][target]),
                first[rank] + static_cast<Token>(offset));
    }
  }
  for (std::size_t target = 0; target < sizes.size(); ++target) {
    for (std::size_t source = 0; source < sizes.size(); ++source) {
      const auto place = contents[target].result.begin() + static_cast<std::ptrdiff_t>(recv_offsets[target][source]);
      std::iota(place, place + static_cast<std::ptrdiff_t>(sizes[source][target]),
                first[source] + static_cast<Token>(out[source][target]));
    }
  }
  return contents;
}

} // namespace stoker::algos
