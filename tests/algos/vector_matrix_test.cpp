// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm for vector calls against every case: any number of ranks, layouts, sizes, roots, in place or not,
// commutative operations or not. A new row in the registry is tested here without another line.
#include "cases.hpp"

#include "algos/verify/whole_distributed_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace stoker::tests {
namespace {

using namespace stoker::algos;

class VectorMatrix : public testing::TestWithParam<Choice> {};

// The sizes that a call of the kind can have.
std::vector<WholeDistributedVector> calls_of(Collective collective, const topology::Layout& layout,
                                             std::uint64_t elements, std::uint64_t element_bytes) {
  std::vector<WholeDistributedVector> calls{
      WholeDistributedVector::uniform(collective, layout, elements, element_bytes)};
  const bool any_sizes = collective == Collective::reduce_scatter || collective == Collective::allgatherv ||
                         collective == Collective::gatherv || collective == Collective::scatterv;
  if (any_sizes) {
    calls.push_back(calls.front());
    for (std::size_t block = 0; block < calls.back().sizes.size(); ++block) {
      calls.back().sizes[block] = (block * 7 + elements) % 4 * element_bytes;
    }
    calls.back().gap = 3;
  }
  return calls;
}

bool can_be_in_place(Collective collective) {
  return collective != Collective::bcast && collective != Collective::barrier;
}

TEST_P(VectorMatrix, EveryCase) {
  const Choice choice = GetParam();
  const Collective collective = choice.algorithm->collective;
  const std::vector<Execution> runs = all_executions();
  // Sizes of the vector, or of each of its blocks.
  const std::array<std::uint64_t, 4> scales = {1, 5, 0, has_blocks(collective) ? 9U : 70U};
  std::size_t cases = 0;
  const bool all = is_default(choice);
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    if (is_left_out(ranks)) {
      continue;
    }
    for (const auto& [layout_name, layout] : layouts_of(ranks)) {
      Choice resolved;
      try {
        resolved = resolve(choice, layout);
      } catch (const std::invalid_argument&) {
        ASSERT_FALSE(all) << "the default parameters do not fit " << ranks << " ranks, " << layout_name;
        continue;
      }
      for (const bool commutative : {true, false}) {
        if (!commutative && (!combines(collective) || choice.algorithm->commutative)) {
          continue;
        }
        for (const bool in_place : {false, true}) {
          if (in_place && !can_be_in_place(collective)) {
            continue;
          }
          const std::uint64_t elements = ranks > 12 ? scales[cases % 2] : scales[cases % scales.size()];
          for (WholeDistributedVector& call : calls_of(collective, layout, elements, cases % 3 == 0 ? 2 : 1)) {
            call.in_place = in_place;
            call.commutative = commutative;
            call.root = has_root(collective) ? static_cast<int>(cases * 5 % static_cast<std::size_t>(ranks)) : 0;
            Terms terms(commutative);
            std::vector<Program> programs;
            try {
              programs = call.compile(resolved);
            } catch (const std::invalid_argument& error) {
              // Algorithms that need nodes in order, or a commutative operation, must say so.
              const std::string what = error.what();
              ASSERT_TRUE(what.find("not consecutive") != what.npos ||
                          (!all && what.find("not commutative") != what.npos))
                  << what;
              continue;
            }
            const std::vector<Contents> contents = call.contents(terms);
            const std::array turn = {runs[cases % runs.size()], runs[(cases * 5 + 3) % runs.size()]};
            ++cases;
            const std::string defect = verify(programs, contents, turn, 2, terms);
            ASSERT_EQ(defect, "") << test_name(choice) << ", " << ranks << " ranks, " << layout_name << ", " << elements
                                  << " elements of " << call.element_bytes << " bytes, root " << call.root
                                  << (in_place ? ", in place" : "") << (commutative ? "" : ", not commutative") << "\n"
                                  << programs_text(programs);
          }
        }
      }
    }
  }
  EXPECT_GT(cases, all ? 40U : 1U);
}

TEST_P(VectorMatrix, EveryOrder) {
  const Choice choice = GetParam();
  const Collective collective = choice.algorithm->collective;
  for (const int ranks : {2, 5, std::min(8, most_ranks / 4)}) {
    for (const auto& [layout_name, layout] : layouts_of(ranks)) {
      for (const bool in_place : {false, true}) {
        Choice resolved;
        try {
          resolved = resolve(choice, layout);
        } catch (const std::invalid_argument&) {
          continue;
        }
        auto call = WholeDistributedVector::uniform(collective, layout, has_blocks(collective) ? 9 : 67, 2);
        call.in_place = in_place && can_be_in_place(collective);
        call.root = has_root(collective) ? ranks - 1 : 0;
        Terms terms(true);
        std::vector<Program> programs;
        try {
          programs = call.compile(resolved);
        } catch (const std::invalid_argument& error) {
          ASSERT_NE(std::string(error.what()).find("not consecutive"), std::string::npos) << error.what();
          continue;
        }
        const std::vector<Contents> contents = call.contents(terms);
        ASSERT_EQ(verify(programs, contents, terms), "")
            << test_name(choice) << ", " << ranks << " ranks, " << layout_name << (in_place ? ", in place" : "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, VectorMatrix, testing::ValuesIn(vector_choices()),
                         [](const auto& choice) { return test_name(choice.param); });

} // namespace
} // namespace stoker::tests
