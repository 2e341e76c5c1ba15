// SPDX-License-Identifier: BSD-3-Clause
#include "algos/verify/whole_distributed_vector.hpp"

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

// Before each block in a rank's buffer that has those of all. Ranks differ in their gaps, if there are any.
std::uint64_t gap_at(const WholeDistributedVector& whole, int rank) {
  return whole.gap == 0 ? 0 : whole.gap + (static_cast<std::uint64_t>(rank) % 3);
}

// Leaves gaps undefined.
void place(Tokens& buffer, const Tokens& block, std::uint64_t offset) {
  buffer.resize(std::max(buffer.size(), offset + block.size()), undefined);
  std::copy(block.begin(), block.end(), buffer.begin() + static_cast<std::ptrdiff_t>(offset));
}

} // namespace

WholeDistributedVector WholeDistributedVector::uniform(Collective collective, topology::Layout layout,
                                                       std::uint64_t elements, std::uint64_t element_bytes) {
  const std::size_t blocks = collective == Collective::barrier ? 0
                             : has_blocks(collective)          ? static_cast<std::size_t>(layout.ranks())
                                                               : 1;
  return {.collective = collective,
          .layout = std::move(layout),
          .sizes = std::vector<std::uint64_t>(blocks, elements * element_bytes),
          .element_bytes = element_bytes};
}

DistributedVector WholeDistributedVector::of(int rank) const {
  DistributedVector call{.layout = layout,
                         .rank = rank,
                         .root = root,
                         .element_bytes = element_bytes,
                         .sizes = sizes,
                         .in_place = in_place && (!has_root(collective) || rank == root),
                         .commutative = commutative};
  std::uint64_t before = 0; // without gaps
  for (std::size_t block = 0; block < sizes.size(); ++block) {
    call.offsets.push_back(before + (block + 1) * gap_at(*this, rank));
    if (sizes.size() > 1 && block == static_cast<std::size_t>(rank)) {
      for (int other = 0; other < layout.ranks(); ++other) {
        call.put_offsets.push_back(before + (block + 1) * gap_at(*this, other));
      }
    }
    before += sizes[block];
  }
  return call;
}

std::vector<Program> WholeDistributedVector::compile(const Choice& choice) const {
  std::vector<Program> programs;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    programs.push_back(algos::compile(choice, of(rank)));
  }
  return programs;
}

namespace {

std::uint64_t bytes_of(const WholeDistributedVector& whole) {
  return std::accumulate(whole.sizes.begin(), whole.sizes.end(), std::uint64_t{0});
}

// The operands of the ranks from first to last, combined.
Tokens combined(const WholeDistributedVector& whole, Terms& terms, int first, int last) {
  const std::uint64_t all = bytes_of(whole);
  Tokens tokens(all);
  for (std::uint64_t byte = 0; byte < all; ++byte) {
    std::vector<Token> operands;
    for (int rank = first; rank <= last; ++rank) {
      operands.push_back(static_cast<Token>(1 + (static_cast<std::uint64_t>(rank) * all) + byte));
    }
    tokens[byte] = terms.of(std::move(operands));
  }
  return tokens;
}

// What one rank's buffers hold before and must hold after a call.
class RankContents {
public:
  // `sum`: of all operands, for a call whose results are that.
  RankContents(const WholeDistributedVector& whole, const DistributedVector& call, Terms& terms, const Tokens& sum)
      : whole_(whole), call_(call), terms_(terms), sum_(sum), ranks_(whole.layout.ranks()), all_(bytes_of(whole)) {}

  Contents contents() && {
    const int rank = call_.rank;
    switch (whole_.collective) {
    case Collective::allreduce:
      operand(sum_);
      break;
    case Collective::scan:
      operand(combined(whole_, terms_, 0, rank));
      break;
    case Collective::exscan:
      operand(rank > 0         ? combined(whole_, terms_, 0, rank - 1)
              : call_.in_place ? inputs(0, all_, all_)
                               : Tokens(all_, undefined));
      break;
    case Collective::reduce:
      if (at_root()) {
        operand(sum_);
      } else {
        here_.send = inputs(rank, all_, all_);
      }
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      reduce_scatter();
      break;
    case Collective::bcast:
      (at_root() ? here_.send : here_.recv) = inputs(whole_.root, all_, all_);
      here_.result = here_.recv;
      here_.recv.assign(here_.recv.size(), undefined);
      break;
    case Collective::allgather:
    case Collective::allgatherv:
      gather(true);
      break;
    case Collective::gather:
    case Collective::gatherv:
      gather(at_root());
      break;
    case Collective::scatter:
    case Collective::scatterv:
      scatter();
      break;
    default:
      break;
    }
    return std::move(here_);
  }

private:
  [[nodiscard]] bool at_root() const { return call_.rank == whole_.root; }
  [[nodiscard]] std::uint64_t size_of(int owner) const { return whole_.sizes[static_cast<std::size_t>(owner)]; }
  [[nodiscard]] std::uint64_t offset_of(int owner) const { return call_.offsets[static_cast<std::size_t>(owner)]; }
  [[nodiscard]] std::uint64_t bytes_before(int owner) const {
    return std::accumulate(whole_.sizes.begin(), whole_.sizes.begin() + owner, std::uint64_t{0});
  }
  // An operand, and a result in a buffer of the same length.
  void operand(const Tokens& after) {
    (call_.in_place ? here_.recv : here_.send) = inputs(call_.rank, all_, all_);
    here_.recv.resize(all_, undefined);
    here_.result = after;
  }

  void reduce_scatter() {
    operand(inputs(call_.rank, call_.in_place ? all_ : 0, all_));
    if (!call_.in_place) {
      here_.recv.assign(size_of(call_.rank), undefined);
    }
    const auto begin = sum_.begin() + static_cast<std::ptrdiff_t>(bytes_before(call_.rank));
    place(here_.result, Tokens(begin, begin + static_cast<std::ptrdiff_t>(size_of(call_.rank))), 0);
  }

  void gather(bool receives) {
    const auto block = [&](int owner) { return inputs(owner, size_of(owner), all_); };
    if (!call_.in_place) {
      here_.send = block(call_.rank);
    }
    for (int owner = 0; receives && owner < ranks_; ++owner) {
      place(here_.result, block(owner), offset_of(owner));
    }
    here_.recv.resize(here_.result.size(), undefined);
    if (call_.in_place) {
      place(here_.recv, block(call_.rank), offset_of(call_.rank));
    }
  }

  void scatter() {
    const auto block = [&](int owner) { // of the root's input
      Tokens tokens(size_of(owner));
      std::iota(tokens.begin(), tokens.end(), static_cast<Token>(1 + bytes_before(owner)));
      return tokens;
    };
    for (int owner = 0; at_root() && owner < ranks_; ++owner) {
      place(here_.send, block(owner), offset_of(owner));
    }
    if (!call_.in_place) {
      here_.result = block(call_.rank);
      here_.recv.resize(here_.result.size(), undefined);
    }
  }

  const WholeDistributedVector& whole_;
  const DistributedVector& call_;
  Terms& terms_;
  const Tokens& sum_;
  int ranks_;
  std::uint64_t all_;
  Contents here_;
};

} // namespace

std::vector<Contents> WholeDistributedVector::contents(Terms& terms) const {
  const bool sums = collective == Collective::allreduce || collective == Collective::reduce ||
                    collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_block;
  const Tokens sum = sums ? combined(*this, terms, 0, layout.ranks() - 1) : Tokens();
  std::vector<Contents> result;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const DistributedVector call = of(rank);
    result.push_back(RankContents(*this, call, terms, sum).contents());
  }
  return result;
}

} // namespace stoker::algos
