// SPDX-License-Identifier: BSD-3-Clause
// Bine trees and butterflies, Swing and two trees against what their papers say: distances, traffic between groups of
// neighbouring ranks, bytes; and that an allreduce gives the same bits to all ranks.
#include "algos/collectives/swing.hpp"
#include "algos/schedule/traffic.hpp"
#include "algos/verify/whole_distributed_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

std::vector<Program> programs_of(Collective collective, const std::string& text, const Layout& layout,
                                 std::uint64_t elements) {
  return WholeDistributedVector::uniform(collective, layout, elements, 8)
      .compile(resolve(parse_choice(collective, text), layout));
}

// Everybody's partner has it as its partner, and each member's block reaches each other one once.
void expect_sound(const Swings& swings) {
  for (std::size_t member = 0; member < swings.members(); ++member) {
    std::size_t handed_on = 0;
    for (std::size_t step = 0; step < swings.steps(); ++step) {
      const std::size_t partner = swings.partner(member, step);
      EXPECT_NE(partner, member);
      EXPECT_EQ(swings.partner(partner, step), member);
      handed_on += swings.handed_on(member, step).size();
    }
    EXPECT_EQ(handed_on, swings.members() - 1);
    EXPECT_EQ(swings.reached(member, 0).size(), swings.members());
  }
}

TEST(Swings, ReachEverybodyOnce) {
  for (std::size_t members = 2; members <= 130; members += 2) {
    const Swings ring = ring_of(members);
    EXPECT_EQ(ring.steps(), static_cast<std::size_t>(std::bit_width(members - 1)));
    expect_sound(ring);
  }
  for (const std::vector<std::size_t>& torus :
       {std::vector<std::size_t>{4, 4}, {2, 8}, {6, 4}, {10, 2, 6}, {2, 2, 2, 2}}) {
    for (std::size_t first = 0; first < torus.size(); ++first) {
      for (const bool mirrored : {false, true}) {
        expect_sound(Swings(torus, first, mirrored));
      }
    }
  }
}

TEST(Swings, GoTheDistancesOfThePaper) {
  const Swings ring = ring_of(64);
  std::vector<std::size_t> partners;
  for (std::size_t step = 0; step < ring.steps(); ++step) {
    partners.push_back(ring.partner(20, step));
    EXPECT_EQ((ring.partner(21, step) + partners.back()) % 64, 41U); // the other way
  }
  EXPECT_EQ(partners, (std::vector<std::size_t>{21, 19, 23, 15, 31, 63})); // 1, -1, 3, -5, 11, -21
}

TEST(Torus, DimensionsThatDoNotFitAreRefused) {
  const auto refusal = [](const char* text, int ranks) -> std::string {
    try {
      (void)resolve(parse_choice(Collective::allreduce, text), Layout::uniform(ranks, 4));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("swing:dims=4 6", 24), "accepted");
  EXPECT_EQ(refusal("swing:dims=15", 15), "accepted");
  EXPECT_EQ(refusal("swing:dims=4 4", 24),
            "swing: dims=4 4 has a product of 16 for 24 members; expected, for example, 24");
  EXPECT_EQ(refusal("swing:dims=3 8", 24),
            "swing: dims=3 8 has an odd dimension beside others, for 24 members; expected, for example, 24");
  EXPECT_NE(refusal("swing:dims=-4 6", 24).find("has a negative factor"), std::string::npos);
}

// ---- bytes ----

struct Volumes {
  Volume sent;
  Volume received;
};
Volumes volumes(const Program& program) {
  Volumes result;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::send) {
      result.sent += Volume{1, step.bytes};
    } else if (step.kind == StepKind::recv) {
      result.received += Volume{1, step.bytes};
    }
  }
  return result;
}

// Dividing and gathering reach the optimum, for any number of ranks; powers of two in as few messages as there can be.
TEST(BineCounts, ButterfliesTakeInTheLeastNumberOfBytes) {
  constexpr std::uint64_t block = 64;
  for (const int ranks : {2, 6, 16, 22, 23, 64}) {
    const Layout layout = Layout::uniform(ranks, 4);
    const auto n = static_cast<std::uint64_t>(ranks);
    for (const auto& [collective, text, times] :
         {std::tuple(Collective::allreduce, "bine:part=1", 2U), std::tuple(Collective::allreduce, "swing:part=1", 2U),
          std::tuple(Collective::reduce_scatter, "bine", 1U), std::tuple(Collective::allgather, "bine", 1U)}) {
      const std::uint64_t elements = block * (collective == Collective::allreduce ? n : 1);
      for (const Program& program : programs_of(collective, text, layout, elements)) {
        const auto [sent, received] = volumes(program);
        EXPECT_EQ(sent.bytes, times * (n - 1) * block * 8) << text << ", " << ranks << " ranks";
        EXPECT_EQ(received.bytes, sent.bytes) << text << ", " << ranks << " ranks";
        if (std::has_single_bit(n)) {
          const unsigned shares = std::string(text).starts_with("swing") ? 2 : 1;
          EXPECT_EQ(received.messages, shares * times * static_cast<unsigned>(std::bit_width(n) - 1)) << text;
        }
      }
    }
  }
}

// Four links of each rank of a torus carry the same number of bytes at the same time: none goes along two dimensions.
TEST(BineCounts, SwingUsesAllLinksOfATorus) {
  constexpr int side = 8;
  const Layout layout = Layout::uniform(side * side, 1);
  for (const Program& program : programs_of(Collective::allreduce, "swing:dims=8 8,part=1", layout, 64UL * 64 * 4)) {
    std::map<int, std::uint64_t> bytes; // by distance
    for (const Step& step : program.steps) {
      if (step.kind == StepKind::send) {
        const bool same_row = step.peer / side == program.rank / side;
        EXPECT_TRUE(same_row || step.peer % side == program.rank % side);
        bytes[((step.peer / side - program.rank / side + side) % side * side) +
              ((step.peer % side - program.rank % side + side) % side)] += step.bytes;
      }
    }
    for (const int distance : {1, 3, 5, 7}) { // 1, -1 and 3 round the ring, and mirrored
      EXPECT_EQ(bytes[distance], bytes[distance * side]);
      EXPECT_EQ(bytes[distance], bytes[side - distance]);
      EXPECT_GT(bytes[distance], 0U);
    }
  }
}

// Each rank sends and receives the vector twice at most.
TEST(BineCounts, TwoTreesShareTheWork) {
  for (const int ranks : {2, 7, 16, 33}) {
    constexpr std::uint64_t elements = 64UL * 64;
    for (const Program& program :
         programs_of(Collective::allreduce, "two-tree:fixed=512", Layout::uniform(ranks, 4), elements)) {
      const auto [sent, received] = volumes(program);
      EXPECT_LE(sent.bytes, 2 * elements * 8) << ranks;
      EXPECT_LE(received.bytes, 2 * elements * 8) << ranks;
    }
  }
}

// ---- locality ----

std::string twos(int ranks, bool divide, bool gather) {
  std::string text;
  for (const char* factor : {divide ? " -2" : "", gather ? " 2" : ""}) {
    for (int n = 1; n < ranks; n *= 2) {
      text += factor;
    }
  }
  return text.substr(1);
}

struct Contest {
  Collective collective;
  std::string bine;
  std::string binomial;
};
std::vector<Contest> contests(int ranks) {
  return {{Collective::allreduce, "bine:part=1", "recursive-exchange:part=1,factors=" + twos(ranks, true, true)},
          {Collective::allreduce, "bine-doubling", "recursive-exchange:factors=" + twos(ranks, false, true)},
          {Collective::reduce_scatter, "bine", "recursive-exchange:factors=" + twos(ranks, true, false)},
          {Collective::allgather, "bine", "recursive-exchange:factors=" + twos(ranks, false, true)},
          {Collective::reduce, "bine", "tree:factors=" + twos(ranks, true, false)},
          {Collective::bcast, "bine", "tree:factors=" + twos(ranks, false, true)}};
}

// Bytes, each times the way that it goes round a ring of all ranks.
double way(const std::vector<Program>& programs) {
  double sum = 0;
  for (const Program& program : programs) {
    for (const Step& step : program.steps) {
      if (step.kind == StepKind::send) {
        const int distance = std::abs(step.peer - program.rank);
        sum += static_cast<double>(step.bytes) * std::min(distance, program.ranks - distance);
      }
    }
  }
  return sum;
}

// Where the paper's reduction of up to 33 % comes from: a step of a binomial butterfly goes 2^i ranks far, one of Bine
// about 2^i * 2 / 3.
TEST(Locality, TheWayOfAByteIsAThirdShorter) {
  constexpr int ranks = 128;
  const Layout layout = Layout::uniform(ranks, 1);
  for (const Contest& contest : contests(ranks)) {
    const double ratio = way(programs_of(contest.collective, contest.bine, layout, ranks)) /
                         way(programs_of(contest.collective, contest.binomial, layout, ranks));
    EXPECT_GT(ratio, 0.64) << name_of(contest.collective) << " " << contest.bine;
    EXPECT_LT(ratio, 0.72) << name_of(contest.collective) << " " << contest.bine;
  }
}

// Groups of so many consecutive ranks, but for the first one.
Layout groups(int ranks, int group, int first) {
  std::vector<topology::Place> places;
  for (int rank = 0; rank < ranks; ++rank) {
    places.push_back({(rank + group - first) / group - (first == 0 ? 1 : 0), 0});
  }
  return Layout(std::move(places));
}

double bytes_between_groups(Collective collective, const std::string& text, const Layout& layout) {
  Volume sum;
  for (const Traffic& group :
       traffic_by_node(programs_of(collective, text, layout, static_cast<std::uint64_t>(layout.ranks())), layout)) {
    sum += group.sent_at(Level::network);
  }
  return static_cast<double>(sum.bytes);
}

// Over all places at which the first group can end. Where groups are a power of two and begin at its multiples,
// binomial butterflies have whole steps within them, and send less; elsewhere, that is mostly, Bine does.
TEST(Locality, LessTrafficBetweenGroupsThatBeginAnywhere) {
  constexpr int ranks = 64;
  for (const Contest& contest : contests(ranks)) {
    for (const int group : {4, 6, 8}) {
      double bine = 0;
      double binomial = 0;
      for (int first = 0; first < group; ++first) {
        const Layout layout = groups(ranks, group, first);
        bine += bytes_between_groups(contest.collective, contest.bine, layout);
        binomial += bytes_between_groups(contest.collective, contest.binomial, layout);
      }
      EXPECT_LT(bine / binomial, 0.92) << name_of(contest.collective) << " " << contest.bine << ", " << group;
      EXPECT_GT(bine / binomial, 0.66) << name_of(contest.collective) << " " << contest.bine << ", " << group;
    }
  }
  const Layout aligned = groups(ranks, 8, 0);
  const Contest butterflies = contests(ranks).front();
  EXPECT_GT(bytes_between_groups(butterflies.collective, butterflies.bine, aligned),
            bytes_between_groups(butterflies.collective, butterflies.binomial, aligned));
}

// ---- the same bits everywhere ----

using Bytes = std::vector<unsigned char>;

// Sums of doubles, as ranks do them that execute their steps one after the other. Sends are buffered.
class Sums {
public:
  Sums(const std::vector<Program>& programs, const std::vector<std::vector<double>>& operands) : programs_(programs) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
      const Program& program = programs[rank];
      Bytes send(program.send_bytes);
      std::memcpy(send.data(), operands[rank].data(), send.size());
      buffers_.push_back({std::move(send), Bytes(program.recv_bytes), Bytes(program.scratch_bytes)});
    }
  }
  // The receive buffers.
  std::vector<Bytes> operator()() {
    std::vector<std::size_t> next(programs_.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
        while (next[rank] < programs_[rank].steps.size() && execute(rank, programs_[rank].steps[next[rank]])) {
          ++next[rank];
          moved = true;
        }
      }
    }
    std::vector<Bytes> results;
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      EXPECT_EQ(next[rank], programs_[rank].steps.size());
      results.push_back(buffers_[rank][static_cast<std::size_t>(Buffer::recv)]);
    }
    return results;
  }

private:
  [[nodiscard]] Bytes read(std::size_t rank, std::span<const Slice> slices) const {
    Bytes bytes;
    for (const Slice& slice : slices) {
      for (std::uint64_t block = 0; block < slice.count; ++block) {
        const unsigned char* at = buffers_[rank][static_cast<std::size_t>(slice.buffer)].data() + slice.offset;
        bytes.insert(bytes.end(), at + (block * slice.stride), at + (block * slice.stride) + slice.length);
      }
    }
    return bytes;
  }
  void write(std::size_t rank, std::span<const Slice> slices, const Bytes& bytes) {
    const unsigned char* from = bytes.data();
    for (const Slice& slice : slices) {
      for (std::uint64_t block = 0; block < slice.count; ++block, from += slice.length) {
        unsigned char* at = buffers_[rank][static_cast<std::size_t>(slice.buffer)].data() + slice.offset;
        std::memcpy(at + (block * slice.stride), from, slice.length);
      }
    }
  }
  static Bytes sum(const Bytes& left, const Bytes& right) {
    Bytes result(left.size());
    for (std::size_t at = 0; at < left.size(); at += sizeof(double)) {
      double a = 0;
      double b = 0;
      std::memcpy(&a, &left[at], sizeof a);
      std::memcpy(&b, &right[at], sizeof b);
      a += b;
      std::memcpy(&result[at], &a, sizeof a);
    }
    return result;
  }
  // False if it has to wait for a message.
  bool execute(std::size_t rank, const Step& step) {
    const Program& program = programs_[rank];
    const auto peer = static_cast<std::size_t>(step.peer);
    if (step.kind == StepKind::send) {
      messages_[{rank, peer}].push(read(rank, program.sources(step)));
    } else if (step.kind == StepKind::recv) {
      std::queue<Bytes>& arrived = messages_[{peer, rank}];
      if (arrived.empty()) {
        return false;
      }
      const Bytes message = std::move(arrived.front());
      arrived.pop();
      const Bytes other = step.message == Operand::none ? Bytes() : read(rank, program.sources(step));
      write(rank, program.targets(step),
            step.message == Operand::none   ? message
            : step.message == Operand::left ? sum(message, other)
                                            : sum(other, message));
    } else if (step.kind == StepKind::copy) {
      write(rank, program.targets(step), read(rank, program.sources(step)));
    } else {
      const Operands both = operands(program, step);
      write(rank, program.targets(step), sum(read(rank, both.left), read(rank, both.right)));
    }
    return true;
  }

  const std::vector<Program>& programs_;
  std::vector<std::array<Bytes, 3>> buffers_; // of each rank, by Buffer
  std::map<std::pair<std::size_t, std::size_t>, std::queue<Bytes>> messages_;
};

// MPI wants an allreduce to give all ranks the same result.
TEST(BineAllreduce, GivesAllRanksTheSameBits) {
  constexpr std::uint64_t elements = 40;
  for (const Algorithm& algorithm : algorithms_of(Collective::allreduce)) {
    for (const int ranks : {2, 5, 8, 12, 16, 33}) {
      std::vector<std::vector<double>> operands(static_cast<std::size_t>(ranks), std::vector<double>(elements));
      for (std::size_t rank = 0; rank < operands.size(); ++rank) {
        for (std::size_t i = 0; i < elements; ++i) {
          operands[rank][i] = std::sin(static_cast<double>((rank * 97) + i)) * std::pow(10, (rank * 7 + i) % 9);
        }
      }
      const auto programs =
          programs_of(Collective::allreduce, std::string(algorithm.name), Layout::uniform(ranks, 4), elements);
      const std::vector<Bytes> results = Sums(programs, operands)();
      for (const Bytes& result : results) {
        EXPECT_EQ(result, results.front()) << algorithm.name << ", " << ranks << " ranks";
      }
    }
  }
}

} // namespace
} // namespace stoker::tests
