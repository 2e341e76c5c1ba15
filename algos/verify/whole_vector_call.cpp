// SPDX-License-Identifier: BSD-3-Clause
#include "algos/verify/whole_vector_call.hpp"

#include <numeric>

namespace stoker::algos {

namespace {

using Tokens = std::vector<Token>;

// The bytes of one buffer of one rank's input, each a token of its own.
Tokens inputs(int rank, std::uint64_t bytes, std::uint64_t stride) {
  Tokens tokens(bytes);
  std::iota(tokens.begin(), tokens.end(), static_cast<Token>(1 + (static_cast<std::uint64_t>(rank) * stride)));
  return tokens;
}

// Leaves gaps undefined.
void place(Tokens& buffer, const Tokens& block, std::uint64_t offset) {
  buffer.resize(std::max(buffer.size(), offset + block.size()), undefined);
  std::copy(block.begin(), block.end(), buffer.begin() + static_cast<std::ptrdiff_t>(offset));
}

} // namespace

bool has_blocks(Collective collective) {
  switch (collective) {
  case Collective::reduce_scatter:
  case Collective::reduce_scatter_block:
  case Collective::allgather:
  case Collective::allgatherv:
  case Collective::gather:
  case Collective::gatherv:
  case Collective::scatter:
  case Collective::scatterv:
    return true;
  default:
    return false;
  }
}

WholeVectorCall WholeVectorCall::uniform(Collective collective, topology::Layout layout, std::uint64_t elements,
                                         std::uint64_t element_bytes) {
  const std::size_t blocks = collective == Collective::barrier ? 0
                             : has_blocks(collective)          ? static_cast<std::size_t>(layout.ranks())
                                                               : 1;
  return {.collective = collective,
          .layout = std::move(layout),
          .sizes = std::vector<std::uint64_t>(blocks, elements * element_bytes),
          .element_bytes = element_bytes};
}

VectorCall WholeVectorCall::of(int rank) const {
  const bool at_root = collective == Collective::reduce || collective == Collective::gather ||
                       collective == Collective::gatherv || collective == Collective::scatter ||
                       collective == Collective::scatterv;
  VectorCall call{.layout = layout,
                  .rank = rank,
                  .root = root,
                  .element_bytes = element_bytes,
                  .sizes = sizes,
                  .in_place = in_place && (!at_root || rank == root),
                  .commutative = commutative};
  std::uint64_t offset = 0;
  for (const std::uint64_t size : sizes) {
    call.offsets.push_back(offset + gap);
    offset += gap + size;
  }
  return call;
}

std::vector<Program> WholeVectorCall::compile(const Choice& choice) const {
  std::vector<Program> programs;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    programs.push_back(algos::compile(choice, of(rank)));
  }
  return programs;
}

std::vector<Contents> WholeVectorCall::contents(Terms& terms) const {
  const int ranks = layout.ranks();
  const std::uint64_t all = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  std::vector<Contents> result(static_cast<std::size_t>(ranks));
  // The operands of the ranks from first to last, combined.
  const auto combined = [&](int first, int last) {
    Tokens tokens(all);
    for (std::uint64_t byte = 0; byte < all; ++byte) {
      std::vector<Token> operands;
      for (int rank = first; rank <= last; ++rank) {
        operands.push_back(static_cast<Token>(1 + (static_cast<std::uint64_t>(rank) * all) + byte));
      }
      tokens[byte] = terms.of(std::move(operands));
    }
    return tokens;
  };
  const Tokens sum = collective == Collective::allreduce || collective == Collective::reduce ||
                             collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_block
                         ? combined(0, ranks - 1)
                         : Tokens();
  for (int rank = 0; rank < ranks; ++rank) {
    const VectorCall call = of(rank);
    const auto r = static_cast<std::size_t>(rank);
    Contents& here = result[r];
    const auto operand = [&](const Tokens& after) { // and a result in a buffer of the same length
      (call.in_place ? here.recv : here.send) = inputs(rank, all, all);
      here.recv.resize(all, undefined);
      here.result = after;
    };
    const auto own_block = [&](int owner) { return inputs(owner, sizes[static_cast<std::size_t>(owner)], all); };
    switch (collective) {
    case Collective::allreduce:
      operand(sum);
      break;
    case Collective::scan:
      operand(combined(0, rank));
      break;
    case Collective::exscan:
      operand(rank == 0 ? (call.in_place ? inputs(0, all, all) : Tokens(all, undefined)) : combined(0, rank - 1));
      break;
    case Collective::reduce:
      if (rank == root) {
        operand(sum);
      } else {
        here.send = inputs(rank, all, all);
      }
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: {
      const auto begin = static_cast<std::ptrdiff_t>(
          std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(r), std::uint64_t{0}));
      const Tokens block(sum.begin() + begin, sum.begin() + begin + static_cast<std::ptrdiff_t>(sizes[r]));
      operand(inputs(rank, call.in_place ? all : 0, all));
      if (!call.in_place) {
        here.recv.assign(sizes[r], undefined);
      }
      place(here.result, block, 0);
      break;
    }
    case Collective::bcast:
      (rank == root ? here.send : here.recv) = inputs(root, all, all);
      here.result = here.recv;
      here.recv.assign(here.recv.size(), undefined);
      break;
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv: {
      const bool receives = collective == Collective::allgather || collective == Collective::allgatherv || rank == root;
      if (!call.in_place) {
        here.send = own_block(rank);
      }
      for (int owner = 0; receives && owner < ranks; ++owner) {
        place(here.result, own_block(owner), call.offsets[static_cast<std::size_t>(owner)]);
      }
      here.recv.resize(here.result.size(), undefined);
      if (call.in_place) {
        place(here.recv, own_block(rank), call.offsets[r]);
      }
      break;
    }
    case Collective::scatter:
    case Collective::scatterv: {
      const auto tokens = [&](int owner) { // of the root's input
        Tokens block(sizes[static_cast<std::size_t>(owner)]);
        const std::uint64_t before = std::accumulate(sizes.begin(), sizes.begin() + owner, std::uint64_t{0});
        std::iota(block.begin(), block.end(), static_cast<Token>(1 + before));
        return block;
      };
      for (int owner = 0; rank == root && owner < ranks; ++owner) {
        place(here.send, tokens(owner), call.offsets[static_cast<std::size_t>(owner)]);
      }
      if (!call.in_place) {
        here.result = tokens(rank);
        here.recv.resize(here.result.size(), undefined);
      }
      break;
    }
    default:
      break;
    }
  }
  return result;
}

} // namespace stoker::algos
