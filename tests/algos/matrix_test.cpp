// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of the registry against every case: any number of ranks from 1 to 33, layouts, block sizes, in place
// or not. A new row in the registry is tested here without another line.
#include "cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace stoker::tests {
namespace {

using namespace stoker::algos;

class Matrix : public testing::TestWithParam<Choice> {};

TEST_P(Matrix, EveryCase) {
  const Choice choice = GetParam();
  constexpr std::array<std::uint64_t, 3> scales = {1, 8, 13};
  const std::vector<Execution> runs = all_executions();
  std::size_t cases = 0;
  std::size_t turns = 0;
  // Other parameters than the default ones at every third number, the first to the third in turns.
  const bool all = is_default(choice);
  const int first = all ? 1 : 1 + static_cast<int>(test_name(choice).size() % 3);
  for (int ranks = first; ranks <= most_ranks; ranks += all ? 1 : 3) {
    if (all && is_left_out(ranks)) {
      continue;
    }
    for (const auto& [layout_name, layout] : layouts_of(ranks)) {
      if (!applies(choice, layout)) {
        continue;
      }
      for (const bool in_place : {false, true}) {
        // Sizes and orders take turns: each meets every other at some number of ranks.
        const std::uint64_t bytes = scales[cases % scales.size()];
        for (const auto& [sizes_name, exchange] : exchanges_of(layout, bytes, in_place)) {
          if (choice.algorithm->collective == Collective::alltoall && sizes_name != "uniform") {
            continue;
          }
          // Many ranks take long to verify: the unequal sizes take turns there, too.
          if (ranks > 10 && sizes_name != "uniform" && ++turns % 4 != 0) {
            continue;
          }
          const auto programs = exchange.compile(choice);
          const std::array turn = {runs[cases % runs.size()], runs[(cases * 5 + 3) % runs.size()]};
          ++cases;
          const std::string defect = verify(programs, exchange.contents(), turn, 2);
          ASSERT_EQ(defect, "") << test_name(choice) << ", " << ranks << " ranks, " << layout_name << ", " << sizes_name
                                << " of " << bytes << " bytes" << (in_place ? ", in place" : "") << "\n"
                                << programs_text(programs);
        }
      }
    }
  }
  EXPECT_GT(cases, least_cases);
}

// All orders, and blocks of a page, where that is affordable. With equal sizes alltoallv is alltoall.
TEST_P(Matrix, EveryOrder) {
  const Choice choice = GetParam();
  if (choice.algorithm->collective != Collective::alltoall) {
    return; // a skip would be reported as one
  }
  for (const int ranks : {1, 2, 5, 9}) {
    for (const auto& [layout_name, layout] : layouts_of(ranks)) {
      if (!applies(choice, layout)) {
        continue;
      }
      for (const bool in_place : {false, true}) {
        for (const std::uint64_t bytes : {std::uint64_t{13}, std::uint64_t{4096}}) {
          if (bytes > 13 && (ranks != 5 || !is_default(choice))) {
            continue;
          }
          const auto uniform = WholeExchange::uniform(layout, bytes, in_place);
          ASSERT_EQ(verify(uniform.compile(choice), uniform.contents()), "")
              << test_name(choice) << ", " << ranks << " ranks, " << layout_name << (in_place ? ", in place" : "");
        }
      }
    }
  }
}

// A call without bytes has nothing to do, but that ranks which meet do so whatever they have to send.
TEST_P(Matrix, NothingToSendIsNoStep) {
  const auto exchange = WholeExchange::uniform(topology::Layout::uniform(12, 4), 0);
  for (const Program& program : exchange.compile(GetParam())) {
    EXPECT_TRUE(std::ranges::all_of(program.steps, [](const Step& step) { return step.kind == StepKind::fence; }));
    EXPECT_TRUE(program.steps.empty() || GetParam().algorithm->puts_into);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Matrix, testing::ValuesIn(choices()),
                         [](const auto& choice) { return test_name(choice.param); });

} // namespace
} // namespace stoker::tests
