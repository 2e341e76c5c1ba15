// SPDX-License-Identifier: BSD-3-Clause
#include "algos/verify/whole_call.hpp"

#include "algos/schedule/parse.hpp"
#include "algos/schedule/print.hpp"
#include "algos/schedule/scanner.hpp"
#include "algos/verify/whole_distributed_vector.hpp"
#include "algos/verify/whole_exchange.hpp"
#include "algos/verify/whole_neighbor_exchange.hpp"

#include <algorithm>
#include <stdexcept>

namespace stoker::algos {

namespace {

// Whether ranks may have blocks of different lengths.
bool has_sizes(Collective collective) {
  const CollectiveTraits& traits = traits_of(collective);
  return traits.pattern == Pattern::distributed_vector &&
         (traits.send.counts == Number::each || traits.recv.counts == Number::each);
}

[[noreturn]] void refuse(const WholeCall& call, const std::string& what) {
  throw std::invalid_argument(to_text(call) + ": " + what);
}

void check(const WholeCall& call, int ranks) {
  const std::size_t lengths = call.collective == Collective::barrier ? 0 : 1;
  if (call.bytes.size() != lengths &&
      (!has_sizes(call.collective) || call.bytes.size() != static_cast<std::size_t>(ranks))) {
    refuse(call, std::to_string(call.bytes.size()) + " lengths for " + std::to_string(ranks) + " ranks; expected " +
                     (lengths == 0                 ? "none"
                      : has_sizes(call.collective) ? "one, or one for each rank"
                                                   : "one"));
  }
  if (call.root < 0 || call.root >= (has_root(call.collective) ? ranks : 1)) {
    refuse(call, has_root(call.collective) ? "expected a root of 0 to " + std::to_string(ranks - 1)
                                           : "expected a collective that has a root");
  }
  if (call.in_place && (pattern_of(call.collective) == Pattern::neighborhood || call.collective == Collective::bcast ||
                        call.collective == Collective::barrier)) {
    refuse(call, "the collective has no such form");
  }
  if (!call.grid.empty() && pattern_of(call.collective) != Pattern::neighborhood) {
    refuse(call, "expected a grid of neighbor_alltoall only");
  }
  for (const std::uint64_t bytes : call.bytes) {
    if (combines(call.collective) && bytes % call.element_bytes != 0) {
      refuse(call, std::to_string(bytes) + " B are no whole number of elements");
    }
  }
}

// The verifier has a few words for each byte of every rank.
void check_size(const WholeCall& call, int ranks) {
  constexpr double most = 1U << 27U;
  double bytes = 0; // as a sum of integers they may not have room
  for (const std::uint64_t length : call.bytes) {
    bytes += static_cast<double>(length);
  }
  const bool has_block_for_each =
      call.bytes.size() == 1 && (pattern_of(call.collective) == Pattern::exchange || has_blocks(call.collective));
  bytes *= has_block_for_each ? static_cast<double>(ranks) * ranks : ranks;
  if (bytes > most) {
    refuse(call, "is too large to be verified: expected at most 128 MiB on all ranks together");
  }
}

// Calls `visit` with the call as the kind of problem that it is.
template <class Visit>
auto visit(const WholeCall& call, const topology::Layout& layout, Visit&& visit) {
  check(call, layout.ranks());
  switch (pattern_of(call.collective)) {
  case Pattern::neighborhood:
    return visit(WholeNeighborExchange::grid(layout, call.grid, call.bytes.front()));
  case Pattern::exchange:
    return visit(WholeExchange::uniform(layout, call.bytes.front(), call.in_place));
  case Pattern::distributed_vector:
    break;
  }
  auto whole = WholeDistributedVector::uniform(call.collective, layout, 0, call.element_bytes);
  if (call.bytes.size() > 1) {
    whole.sizes = call.bytes;
  } else {
    std::ranges::fill(whole.sizes, call.bytes.empty() ? 0 : call.bytes.front());
  }
  whole.root = call.root;
  whole.in_place = call.in_place;
  return visit(whole);
}

// Behind "call".
WholeCall parse_heading(Scanner& line) {
  WholeCall call;
  Scanner at = line;
  const auto collective = find_collective(line.word("a collective"));
  if (!collective || *collective == Collective::alltoallv || *collective == Collective::neighbor_alltoallv) {
    at.refuse(
        "a collective: alltoall, neighbor_alltoall, allreduce, reduce, bcast, reduce_scatter, "
        "reduce_scatter_block, allgather, allgatherv, gather, gatherv, scatter, scatterv, barrier, scan or exscan");
  }
  call.collective = *collective;
  if (call.collective != Collective::barrier) {
    line.expect("of");
    do {
      call.bytes.push_back(line.number("a length in bytes"));
    } while (line.at_number());
    line.expect("B");
  }
  if (line.accept("in")) {
    line.expect("elements");
    line.expect("of");
    at = line;
    call.element_bytes = line.number("a length in bytes");
    if (call.element_bytes == 0) {
      at.refuse("at least 1 B");
    }
    line.expect("B");
  }
  constexpr std::uint64_t most = 1U << 20U;
  while (line.accept(",")) {
    if (line.accept("root")) {
      call.root = static_cast<int>(line.number("a rank", most));
    } else if (line.accept("in")) {
      line.expect("place");
      call.in_place = true;
    } else if (line.accept("grid")) {
      call.grid.clear();
      do {
        call.grid.push_back(static_cast<int>(line.number("the length of a dimension", most)));
      } while (line.accept("x"));
    } else {
      line.refuse("root, in place or grid");
    }
  }
  line.expect_end();
  return call;
}

// That operands are combined by elements of the call's, which begin at multiples of their length.
void check_elements(const WrittenCall& written) {
  const std::uint64_t length = written.call.element_bytes;
  const auto is_whole = [length](const Slice& slice) {
    return slice.offset % length == 0 && (slice.count == 1 || slice.stride % length == 0);
  };
  for (const Program& program : written.programs) {
    const std::string rank = "rank " + std::to_string(program.rank);
    for (const Step& step : program.steps) {
      if (!combines(step)) {
        continue;
      }
      if (!combines(written.call.collective)) {
        throw std::invalid_argument(rank + " combines operands; expected a call that does, not " +
                                    std::string(name_of(written.call.collective)));
      }
      if (program.element_bytes != length) {
        throw std::invalid_argument(rank + " combines elements of " + std::to_string(program.element_bytes) +
                                    " B; expected elements of " + std::to_string(length) + " B, as the call has");
      }
      if (!std::ranges::all_of(program.sources(step), is_whole) ||
          !std::ranges::all_of(program.targets(step), is_whole)) {
        throw std::invalid_argument(rank + " combines operands that begin within an element; expected multiples of " +
                                    std::to_string(length) + " B");
      }
    }
  }
}

} // namespace

std::vector<Program> WholeCall::compile(const Choice& choice, const topology::Layout& layout) const {
  return visit(*this, layout, [&](const auto& whole) { return whole.compile(choice); });
}

std::vector<Contents> WholeCall::contents(int ranks, Terms& terms) const {
  const topology::Layout layout = topology::Layout::uniform(ranks, ranks);
  check_size(*this, ranks);
  return visit(*this, layout, [&](const auto& whole) {
    if constexpr (requires { whole.contents(terms); }) {
      return whole.contents(terms);
    } else {
      return whole.contents();
    }
  });
}

std::string to_text(const WholeCall& call) {
  std::string text = "call " + std::string(name_of(call.collective));
  for (const std::uint64_t& bytes : call.bytes) {
    text += (&bytes == call.bytes.data() ? " of " : " ") + std::to_string(bytes);
  }
  text += call.bytes.empty() ? "" : " B";
  text += call.element_bytes == 1 ? "" : " in elements of " + std::to_string(call.element_bytes) + " B";
  text += call.root == 0 ? "" : ", root " + std::to_string(call.root);
  text += call.in_place ? ", in place" : "";
  for (const int& extent : call.grid) {
    text += (&extent == call.grid.data() ? ", grid " : "x") + std::to_string(extent);
  }
  return text;
}

std::string to_text(const WholeCall& call, std::span<const Program> programs) {
  std::string text = to_text(call) + "\n";
  for (const Program& program : programs) {
    text += "\n" + to_text(program);
  }
  return text;
}

WrittenCall parse_call(std::string_view text) {
  for (std::size_t number = 1;; ++number) {
    const bool over = text.empty();
    Scanner line(take_line(text));
    if (line.at_end() && !over) {
      continue;
    }
    try {
      if (!line.accept("call")) {
        line.refuse("the call, as in call allreduce of 64 B in elements of 8 B");
      }
      WrittenCall written{.call = parse_heading(line), .programs = {}};
      written.programs = parse_programs(text, number + 1);
      check_elements(written);
      return written;
    } catch (const std::invalid_argument& error) {
      const std::string what = error.what();
      throw std::invalid_argument(what.starts_with("line ") ? what : "line " + std::to_string(number) + ": " + what);
    }
  }
}

} // namespace stoker::algos
