// SPDX-License-Identifier: BSD-3-Clause
// The builder: how slices are joined and what steps wait for.
#include "algos/schedule/builder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace stoker::tests {
namespace {

using namespace stoker::algos;

Builder builder() { return Builder(0, 4, 1000, 1000); }

std::vector<Slice> sources_of_send(std::vector<Slice> slices) {
  Builder b = builder();
  b.send(1, slices);
  const Program program = std::move(b).finish();
  const auto sources = program.sources(program.steps[0]);
  return {sources.begin(), sources.end()};
}

// The steps that each step waits for, found by reversing the successors.
std::vector<std::vector<StepId>> predecessors(const Program& program) {
  std::vector<std::vector<StepId>> result(program.steps.size());
  for (StepId id = 0; id < program.steps.size(); ++id) {
    for (const StepId successor : program.successors_of(program.steps[id])) {
      result[successor].push_back(id);
    }
  }
  return result;
}

using Lists = std::vector<std::vector<StepId>>;

TEST(Builder, TouchingBlocksBecomeOneSlice) {
  EXPECT_EQ(sources_of_send({{Buffer::send, 8, 4}, {Buffer::send, 12, 6}}),
            (std::vector<Slice>{{Buffer::send, 8, 10, 0, 1}}));
}

TEST(Builder, EvenlySpacedBlocksBecomeOneSlice) {
  EXPECT_EQ(sources_of_send({{Buffer::send, 0, 4}, {Buffer::send, 10, 4}, {Buffer::send, 20, 4}}),
            (std::vector<Slice>{{Buffer::send, 0, 4, 10, 3}}));
}

TEST(Builder, AStrideOfTheLengthIsContiguous) {
  EXPECT_EQ(sources_of_send({{Buffer::send, 0, 4, 4, 5}}), (std::vector<Slice>{{Buffer::send, 0, 20, 0, 1}}));
}

TEST(Builder, EmptySlicesAreDropped) {
  EXPECT_EQ(sources_of_send({{Buffer::send, 7, 0}, {Buffer::send, 8, 1}, {Buffer::send, 50, 4, 8, 0}}),
            (std::vector<Slice>{{Buffer::send, 8, 1, 0, 1}}));
}

TEST(Builder, OrderLengthAndBufferKeepBlocksApart) {
  const std::vector<Slice> apart = {
      {Buffer::send, 8, 4, 0, 1},  // the next lies before
      {Buffer::send, 0, 4, 0, 1},  // the next is longer
      {Buffer::send, 20, 5, 0, 1}, // the next is elsewhere
      {Buffer::recv, 25, 5, 0, 1},
  };
  EXPECT_EQ(sources_of_send(apart), apart);
}

TEST(Builder, SpacingThatBreaksStartsANewSlice) {
  EXPECT_EQ(sources_of_send({{Buffer::send, 0, 4}, {Buffer::send, 10, 4}, {Buffer::send, 30, 4}}),
            (std::vector<Slice>{{Buffer::send, 0, 4, 10, 2}, {Buffer::send, 30, 4, 0, 1}}));
}

TEST(Builder, SlicesOfDifferentStepsStayApart) {
  Builder b = builder();
  b.send(1, Slice{Buffer::send, 0, 4});
  b.send(2, Slice{Buffer::send, 4, 4});
  const Program program = std::move(b).finish();
  EXPECT_EQ(program.steps[1].source.count, 1U);
  EXPECT_EQ(program.steps[1].bytes, 4U);
  EXPECT_EQ(find_defect(program), "");
}

TEST(Builder, StepsWaitForWhatTheySayOnce) {
  Builder b = builder();
  const StepId a = b.recv(1, Slice{Buffer::recv, 0, 4});
  const StepId c = b.recv(2, Slice{Buffer::recv, 4, 4});
  b.send(3, Slice{Buffer::recv, 0, 8}, std::array{c, a, c});
  const Program program = std::move(b).finish();
  EXPECT_EQ(predecessors(program), (Lists{{}, {}, {0, 1}}));
  EXPECT_EQ(program.steps[2].predecessors, 2U);
  EXPECT_EQ(find_defect(program), "");
}

TEST(Builder, WaitAllHoldsBackWhatComesLater) {
  Builder b = builder();
  b.send(1, Slice{Buffer::send, 0, 4});
  b.recv(1, Slice{Buffer::recv, 0, 4});
  b.wait_all();
  const StepId send = b.send(2, Slice{Buffer::send, 4, 4});
  b.recv(2, Slice{Buffer::recv, 4, 4});
  b.copy(Slice{Buffer::recv, 8, 4}, Slice{Buffer::send, 8, 4}, std::array{send});
  EXPECT_EQ(predecessors(std::move(b).finish()), (Lists{{}, {}, {0, 1}, {0, 1}, {2}}));
}

TEST(Builder, WaitAllWaitsForTheLastOfEachChainOnly) {
  Builder b = builder();
  const StepId first = b.recv(1, Slice{Buffer::scratch, 0, 4});
  b.send(2, Slice{Buffer::scratch, 0, 4}, std::array{first});
  b.wait_all();
  b.wait_all(); // nothing new to wait for
  // A step that is waited for anyway needs no second edge.
  b.send(3, Slice{Buffer::send, 0, 4}, std::array{first});
  EXPECT_EQ(predecessors(std::move(b).finish()), (Lists{{}, {0}, {1}}));
}

TEST(Builder, WaitAllBetweenManyStepsNeedsFewEdges) {
  constexpr std::uint64_t many = 100;
  Builder b(0, 2, many, 0);
  for (const int half : {0, 1}) {
    for (std::uint64_t i = 0; i < many; ++i) {
      b.send(1, Slice{Buffer::send, i, 1});
    }
    if (half == 0) {
      b.wait_all();
    }
  }
  const Program program = std::move(b).finish();
  EXPECT_EQ(program.successors.size(), 2 * many);
  EXPECT_EQ(find_defect(program), "");
  // An empty copy in the middle joins them.
  EXPECT_EQ(program.steps[many].kind, StepKind::copy);
  EXPECT_EQ(program.steps[many].predecessors, many);
  EXPECT_EQ(program.steps[many].bytes, 0U);
}

TEST(Builder, StepsThatWaitForTheSameManyNeedFewEdges) {
  constexpr std::uint64_t many = 100;
  Builder b(0, 2, many, many);
  std::vector<StepId> arrivals;
  for (std::uint64_t i = 0; i < many; ++i) {
    arrivals.push_back(b.recv(1, Slice{Buffer::recv, i, 1}));
  }
  std::vector<StepId> sends;
  for (std::uint64_t i = 0; i < many; ++i) {
    sends.push_back(b.send(1, Slice{Buffer::recv, i, 1}, arrivals));
  }
  const Program program = std::move(b).finish();
  EXPECT_EQ(find_defect(program), "");
  EXPECT_EQ(program.successors.size(), 3 * many - 1);
  // The first one waits for each of them, an empty copy likewise, all others for that copy.
  EXPECT_EQ(program.steps[sends[0]].predecessors, many);
  EXPECT_EQ(program.steps[sends[0] + 1].kind, StepKind::copy);
  EXPECT_EQ(program.steps[sends[0] + 1].predecessors, many);
  for (std::size_t i = 1; i < many; ++i) {
    EXPECT_EQ(program.steps[sends[i]].predecessors, 1U);
  }
}

TEST(Builder, ScratchIsAlignedAndDisjoint) {
  Builder b = builder();
  EXPECT_EQ(b.scratch(1), 0U);
  EXPECT_EQ(b.scratch(65), 64U);
  EXPECT_EQ(b.scratch(8), 192U);
  EXPECT_EQ(b.scratch(1000), 256U);
  b.copy(Slice{Buffer::scratch, 192, 8}, Slice{Buffer::send, 0, 8});
  EXPECT_EQ(std::move(b).finish().scratch_bytes, 200U) << "what no step reaches is not asked for";
}

TEST(Builder, RefusesWhatCannotBe) {
  Builder b = builder();
  EXPECT_THROW(b.send(1, Slice{Buffer::send, 0, 4}, std::array{StepId{0}}), std::logic_error);
  EXPECT_THROW(b.copy(Slice{Buffer::recv, 0, 4}, Slice{Buffer::send, 0, 5}), std::logic_error);
  EXPECT_THROW(Builder(4, 4, 0, 0), std::invalid_argument);
  EXPECT_THROW(Builder(-1, 4, 0, 0), std::invalid_argument);
}

} // namespace
} // namespace stoker::tests
