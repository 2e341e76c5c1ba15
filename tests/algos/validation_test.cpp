// SPDX-License-Identifier: BSD-3-Clause
// find_defect: each kind of defect is found in a program that is sound but for it, and conflicts between steps are
// found exactly where a byte-by-byte check finds them.
#include "algos/schedule/builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <random>
#include <set>

namespace stoker::tests {
namespace {

using namespace stoker::algos;

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

// Rank 1 of 4. Steps: 0 recv, 1 copy, 2 send after both, 3 recv over the copy's source, after it.
// Slices: 0 the recv's, 1 the copy's source, 2 and 3 its target, 4 the send's, 5 the last recv's.
Program sound() {
  Builder b(1, 4, 64, 64);
  const std::uint64_t place = b.scratch(48);
  const StepId recv = b.recv(0, Slice{Buffer::scratch, place, 16, 32, 2});
  const StepId copy = b.copy(std::array{Slice{Buffer::scratch, place + 16, 8}, Slice{Buffer::recv, 0, 8}},
                             std::array{Slice{Buffer::recv, 32, 16}});
  b.send(2, Slice{Buffer::scratch, place, 48}, std::array{recv, copy});
  b.recv(3, Slice{Buffer::recv, 32, 16}, std::array{copy});
  return std::move(b).finish();
}

struct Defect {
  std::string name;
  std::function<void(Program&)> make;
  std::string complaint; // part of the message
};

class Validation : public testing::TestWithParam<Defect> {};

TEST_P(Validation, FindsDefect) {
  Program program = sound();
  ASSERT_EQ(find_defect(program), "");
  GetParam().make(program);
  const std::string defect = find_defect(program);
  EXPECT_NE(defect.find(GetParam().complaint), std::string::npos) << "found instead: '" << defect << "'";
}

INSTANTIATE_TEST_SUITE_P(
    EachKind, Validation,
    testing::Values(
        Defect{"RankOutside", [](Program& p) { p.rank = 4; }, "rank 4 is not one of 4 ranks"},
        Defect{"RankNegative", [](Program& p) { p.rank = -1; }, "rank -1 is not one of 4 ranks"},
        Defect{"NoRanks", [](Program& p) { p.ranks = 0; }, "not one of 0 ranks"},
        Defect{"UnknownKind", [](Program& p) { p.steps[1].kind = static_cast<StepKind>(9); },
               "step 1 (unknown kind 9) is of no known kind"},
        Defect{"SlicesOutside", [](Program& p) { p.steps[2].source.begin = 99; },
               "step 2 (send to 2) has slices outside"},
        Defect{"SlicesWrap",
               [](Program& p) {
                 p.steps[2].source = {5, 0xffffffffU};
               },
               "has slices outside"},
        Defect{"SuccessorsOutside", [](Program& p) { p.steps[0].successors.count = 99; }, "has successors outside"},
        Defect{"SuccessorMissing", [](Program& p) { p.successors[0] = 4; }, "step 4, which does not exist"},
        Defect{"WaitsForItself", [](Program& p) { p.successors[0] = 0; }, "not topological"},
        Defect{"WaitsForLater", [](Program& p) { p.successors[p.steps[1].successors.begin] = 0; }, "not topological"},
        Defect{"PredecessorsTooMany", [](Program& p) { p.steps[2].predecessors = 3; },
               "step 2 (send to 2) claims 3 predecessors, but 2 lead to it"},
        Defect{"PredecessorsTooFew", [](Program& p) { p.steps[3].predecessors = 0; }, "claims 0 predecessors"},
        Defect{"PeerOutside", [](Program& p) { p.steps[0].peer = 4; }, "step 0 (recv from 4) has a peer outside the 4"},
        Defect{"PeerNegative", [](Program& p) { p.steps[2].peer = -1; }, "has a peer outside"},
        Defect{"PeerItself", [](Program& p) { p.steps[2].peer = 1; }, "has its own rank as its peer"},
        Defect{"CopyWithPeer", [](Program& p) { p.steps[1].peer = 0; }, "step 1 (copy) has a peer"},
        Defect{"RecvWithSource", [](Program& p) { p.steps[0].source = p.steps[2].source; }, "has a source"},
        Defect{"SendWithTarget", [](Program& p) { p.steps[2].target = p.steps[0].target; }, "has a target"},
        Defect{"UnknownBuffer", [](Program& p) { p.slices[0].buffer = static_cast<Buffer>(3); }, "unknown buffer"},
        Defect{"WritesSend", [](Program& p) { p.slices[0].buffer = Buffer::send; }, "writes the send buffer"},
        Defect{"NoLength", [](Program& p) { p.slices[0].length = 0; }, "empty slice"},
        Defect{"NoCount", [](Program& p) { p.slices[0].count = 0; }, "empty slice"},
        Defect{"BeyondBuffer", [](Program& p) { p.slices[5].offset = 49; }, "reaches beyond the 64 bytes"},
        Defect{"BufferTooSmall", [](Program& p) { p.scratch_bytes = 47; }, "reaches beyond the 47 bytes"},
        Defect{"StrideBeyondBuffer", [](Program& p) { p.slices[0].stride = 33; }, "reaches beyond the 48 bytes"},
        Defect{"OffsetWraps", [](Program& p) { p.slices[5].offset = huge - 7; }, "reaches beyond"},
        Defect{"LengthWraps", [](Program& p) { p.slices[5].length = huge - 31; }, "reaches beyond"},
        Defect{"StrideWraps", [](Program& p) { p.slices[0].stride = (huge >> 1) + 1; }, "reaches beyond"},
        Defect{"CountWraps", [](Program& p) { p.slices[0].count = huge / 32 + 2; }, "reaches beyond"},
        Defect{"BlocksOverlap", [](Program& p) { p.slices[0].stride = 15; }, "has overlapping blocks in"},
        Defect{"BytesOfSend", [](Program& p) { p.steps[2].bytes = 47; }, "claims 47 bytes, but its source holds 48"},
        Defect{"BytesOfRecv", [](Program& p) { p.steps[0].bytes = 33; }, "claims 33 bytes, but its target holds 32"},
        Defect{"CopySizesDiffer", [](Program& p) { p.slices[1].length = 15; },
               "claims 16 bytes, but its source holds 15"},
        Defect{"CopyOntoItself", [](Program& p) { p.slices[3].offset = 25; },
               "step 1 (copy) writes where it reads: recv[25..33) and recv[32..48) overlap"},
        Defect{"TargetTwice",
               [](Program& p) {
                 p.slices[3] = p.slices[2];
                 p.slices[3].offset += 7;
               },
               "step 1 (copy) writes twice where scratch[16..24) and scratch[23..31) overlap"},
        Defect{"EdgeMissing",
               [](Program& p) {
                 --p.steps[0].successors.count;
                 --p.steps[2].predecessors;
               },
               "step 0 (recv from 0) and step 2 (send to 2) touch one place"},
        Defect{"WriteBeforeRead",
               [](Program& p) {
                 --p.steps[1].successors.count;
                 --p.steps[3].predecessors;
               },
               "step 1 (copy) and step 3 (recv from 3) touch one place"},
        Defect{"WritesMeet",
               [](Program& p) {
                 p.slices[5].offset = 4;
                 p.slices[1].offset = 20;
                 p.steps[1].successors.count = 1;
                 --p.steps[3].predecessors;
               },
               "step 1 (copy) and step 3 (recv from 3) touch one place"}),
    [](const auto& row) { return row.param.name; });

TEST(Validation, AnEmptyProgramIsSound) {
  EXPECT_EQ(find_defect(Program{}), "");
  EXPECT_EQ(find_defect(Builder(2, 3, 0, 0).finish()), "");
}

// Strided slices that interleave without touching are not in conflict.
TEST(Validation, InterleavedSlicesAreApart) {
  Builder b(0, 2, 0, 64);
  b.recv(1, Slice{Buffer::recv, 0, 8, 16, 4});
  b.recv(1, Slice{Buffer::recv, 8, 8, 16, 4});
  EXPECT_EQ(find_defect(std::move(b).finish()), "");

  Builder c(0, 2, 0, 65);
  c.recv(1, Slice{Buffer::recv, 0, 9, 16, 4});
  c.recv(1, Slice{Buffer::recv, 8, 8, 16, 4});
  EXPECT_NE(find_defect(std::move(c).finish()), "");
}

// More than 64 steps lead to conflicts, over long paths: each step overwrites what the one before has read.
TEST(Validation, LongChainsAreFollowed) {
  constexpr int steps = 1000;
  for (const int missing : {-1, 1, 500, steps - 1}) {
    Builder b(0, 2, 8, 8);
    StepId last = 0;
    for (int i = 0; i < steps; ++i) {
      const std::array after{last};
      const bool waits = i > 0 && i != missing;
      last = b.copy(Slice{Buffer::recv, 0, 8}, Slice{Buffer::send, 0, 8},
                    waits ? std::span<const StepId>(after) : std::span<const StepId>());
    }
    EXPECT_EQ(find_defect(std::move(b).finish()).empty(), missing == -1) << missing;
  }
}

// The defects that a slow and obvious check finds: touched bytes as sets, reachability step by step.
bool has_conflict(const Program& program) {
  const std::size_t n = program.steps.size();
  std::vector<std::array<std::set<std::pair<Buffer, std::uint64_t>>, 2>> touched(n); // read, written
  std::vector<std::vector<bool>> leads(n, std::vector<bool>(n));
  const auto bytes = [](std::span<const Slice> slices, auto& set) {
    bool twice = false;
    for (const Slice& slice : slices) {
      for (std::uint64_t i = 0; i < slice.bytes(); ++i) {
        const std::uint64_t place = slice.offset + i / slice.length * slice.stride + i % slice.length;
        twice |= !set.insert({slice.buffer, place}).second;
      }
    }
    return twice;
  };
  const auto meet = [](const auto& a, const auto& b) {
    return std::any_of(a.begin(), a.end(), [&](const auto& place) { return b.contains(place); });
  };
  for (std::size_t i = 0; i < n; ++i) {
    bytes(program.sources(program.steps[i]), touched[i][0]);
    if (bytes(program.targets(program.steps[i]), touched[i][1]) || meet(touched[i][0], touched[i][1])) {
      return true;
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (const StepId successor : program.successors_of(program.steps[i])) {
      leads[i][successor] = true;
      for (std::size_t j = 0; j < n; ++j) {
        leads[i][j] = leads[i][j] || leads[successor][j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const bool apart = !meet(touched[i][1], touched[j][0]) && !meet(touched[i][1], touched[j][1]) &&
                         !meet(touched[i][0], touched[j][1]);
      if (!apart && !leads[i][j]) {
        return true;
      }
    }
  }
  return false;
}

// Whatever a program has been spoilt to, the check comes to an end, and what it lets pass is sound.
TEST(Validation, SurvivesAnyProgram) {
  std::mt19937_64 random(11);
  // Mostly near what fits, now and then anything.
  const auto value = [&]() -> std::uint64_t { return random() % 4 == 0 ? random() >> random() % 64 : random() % 50; };
  int passed = 0;
  for (int round = 0; round < 50000; ++round) {
    Program program = sound();
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      Step& step = program.steps[random() % program.steps.size()];
      Slice& slice = program.slices[random() % program.slices.size()];
      const std::array<std::function<void()>, 15> spoil = {
          [&] { step.kind = static_cast<StepKind>(value()); },
          [&] { step.peer = static_cast<std::int32_t>(value()); },
          [&] {
            step.source = {static_cast<std::uint32_t>(value() % 8), static_cast<std::uint32_t>(value())};
          },
          [&] {
            step.target = {static_cast<std::uint32_t>(value() % 8), static_cast<std::uint32_t>(value())};
          },
          [&] {
            step.successors = {static_cast<std::uint32_t>(value() % 5), static_cast<std::uint32_t>(value())};
          },
          [&] { step.predecessors = static_cast<std::uint32_t>(value()); },
          [&] { step.bytes = value(); },
          [&] { slice.buffer = static_cast<Buffer>(value() % 5); },
          [&] { slice.offset = value(); },
          [&] { slice.length = value(); },
          [&] { slice.stride = value(); },
          [&] { slice.count = value(); },
          [&] { program.successors[random() % program.successors.size()] = static_cast<StepId>(value()); },
          [&] { program.scratch_bytes = value(); },
          [&] { program.rank = static_cast<std::int32_t>(value()); },
      };
      spoil[random() % spoil.size()]();
    }
    if (find_defect(program).empty()) {
      ++passed;
      ASSERT_FALSE(has_conflict(program)) << "round " << round;
    }
  }
  EXPECT_GT(passed, 100);
}

TEST(Validation, AgreesWithAByteByByteCheck) {
  std::mt19937 random(7);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  int sound_programs = 0;
  int defective_programs = 0;
  for (int round = 0; round < 4000; ++round) {
    Builder b(0, 2, 0, 96);
    b.scratch(96);
    const std::uint64_t steps = 2 + below(5);
    for (StepId id = 0; id < steps; ++id) {
      std::vector<StepId> after;
      for (StepId before = 0; before < id; ++before) {
        if (below(3) == 0) {
          after.push_back(before);
        }
      }
      const auto slice = [&] {
        const std::uint64_t length = 1 + below(4);
        const std::uint64_t count = 1 + below(4);
        const std::uint64_t stride = length + below(8);
        return Slice{below(2) == 0 ? Buffer::recv : Buffer::scratch, below(96 - 3 * 11 - 4), length, stride, count};
      };
      switch (below(3)) {
      case 0:
        b.send(1, slice(), after);
        break;
      case 1:
        b.recv(1, slice(), after);
        break;
      default: {
        const Slice source = slice();
        Slice target = source;
        target.buffer = below(2) == 0 ? Buffer::recv : Buffer::scratch;
        target.offset = below(96 - 3 * 11 - 4);
        b.copy(target, source, after);
      }
      }
    }
    const Program program = std::move(b).finish();
    const std::string defect = find_defect(program);
    ASSERT_EQ(defect.empty(), !has_conflict(program)) << "round " << round << ": " << defect;
    ++(defect.empty() ? sound_programs : defective_programs);
  }
  EXPECT_GT(sound_programs, 200);
  EXPECT_GT(defective_programs, 200);
}

} // namespace
} // namespace stoker::tests
