// SPDX-License-Identifier: BSD-3-Clause
// What the multi-radix algorithms send and combine, against the formulas of the literature; and which factor lists
// there are.
#include "cases.hpp"

#include "algos/collectives/factor_rules.hpp"
#include "algos/schedule/listing.hpp"
#include "algos/schedule/traffic.hpp"
#include "algos/verify/whole_distributed_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

// All lists of factors from 2 to `members` that a rule lets through, of at most `members` factors.
std::set<std::string> lists_of(std::size_t members, std::string (*rule)(const FactorList&, std::size_t, Signs)) {
  std::set<std::string> found;
  std::vector<FactorList> open{FactorList{}};
  while (!open.empty()) {
    const FactorList list = open.back();
    open.pop_back();
    for (std::int32_t factor = 2; factor <= static_cast<std::int32_t>(members); ++factor) {
      FactorList longer = list;
      longer.add(factor);
      if (rule(longer, members, Signs::gathering).empty()) {
        found.insert(to_text(longer));
      }
      if (product(gathering(longer)) < members) {
        open.push_back(longer);
      }
    }
  }
  return found;
}

// Section 2.2.2 of the paper lists those of cyclic shift for eight.
TEST(FactorLists, OfEightMembers) {
  EXPECT_EQ(lists_of(8, cyclic_defect),
            (std::set<std::string>{"2 2 2", "2 3 2", "2 4", "3 2 2", "3 3", "4 2", "5 2", "6 2", "7 2", "8"}));
  EXPECT_EQ(lists_of(8, exchange_defect), (std::set<std::string>{"2 2 2", "2 4", "4 2", "8"}));
}

TEST(FactorLists, CyclicShiftMayCompletePartsInTheMiddle) {
  using Factors = std::vector<std::size_t>;
  const auto expect = [](const char* list, std::size_t members, std::size_t parts, const Factors& dividing,
                         const Factors& combining, const Factors& gathering) {
    const auto phases = cyclic_phases_of(parse_factors(list).value(), members);
    ASSERT_TRUE(phases) << list;
    EXPECT_EQ(phases->parts, parts) << list;
    EXPECT_EQ(phases->dividing, dividing) << list;
    EXPECT_EQ(phases->combining, combining) << list;
    EXPECT_EQ(phases->gathering, gathering) << list;
  };
  expect("-2 -2 -2 2 2 2", 7, 7, {2, 2, 2}, {}, {2, 2, 2});
  expect("-7 2 2 2", 7, 7, {7}, {}, {2, 2, 2}); // the product is larger on one side only
  expect("-2 -2 2 3", 6, 3, {2, 2}, {2}, {3});
  expect("-2 -2 7 2 2", 21, 3, {2, 2}, {7}, {2, 2});
  expect("-2 2 2 3 2", 24, 2, {2}, {2, 2, 3}, {2});
  EXPECT_FALSE(cyclic_phases_of(parse_factors("-2 -2 2 2").value(), 8));  // too small
  EXPECT_FALSE(cyclic_phases_of(parse_factors("-2 -2 5 3").value(), 14)); // 5 groups of neighbours are not 14 ranks
}

TEST(FactorLists, PresetsFit) {
  for (std::size_t members = 1; members <= 300; ++members) {
    for (const Signs signs : {Signs::dividing, Signs::gathering, Signs::both}) {
      if (members > 1) {
        EXPECT_EQ(exchange_defect(exchange_factors(members, signs), members, signs), "") << members;
        EXPECT_EQ(cyclic_defect(cyclic_factors(members, signs), members, signs), "") << members;
        EXPECT_EQ(tree_defect(cyclic_factors(members, signs), members, signs), "") << members;
        for (const std::size_t most : {2UL, 3UL, 5UL, 17UL, 128UL}) {
          EXPECT_EQ(tree_defect(even_factors(members, most, signs), members, signs), "") << members << ", " << most;
        }
      } else {
        EXPECT_TRUE(exchange_factors(members, signs).empty());
      }
    }
  }
}

TEST(FactorLists, AsFewAndAsEvenAsCanBe) {
  const auto list = [](std::size_t members, std::size_t most, Signs signs) {
    return to_text(even_factors(members, most, signs));
  };
  EXPECT_EQ(list(1, 8, Signs::both), "");
  EXPECT_EQ(list(8, 8, Signs::gathering), "8");
  EXPECT_EQ(list(9, 8, Signs::gathering), "3 3");
  EXPECT_EQ(list(32, 17, Signs::both), "-6 -6 6 6");
  EXPECT_EQ(list(30, 4, Signs::dividing), "-2 -4 -4");
}

TEST(FactorLists, RefusedWithOneThatWorks) {
  const auto refusal = [](Collective collective, const char* text, int ranks) {
    try {
      (void)resolve(parse_choice(collective, text), Layout::uniform(ranks, ranks));
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto expect = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
    }
  };
  expect(refusal(Collective::allreduce, "recursive-exchange:factors=-2 2", 8),
         {"factors=-2 2", "too small", "8 members", "-8 8"});
  expect(refusal(Collective::allreduce, "recursive-exchange:factors=-4 -4 4 4", 8), {"do not multiply", "-8 8"});
  expect(refusal(Collective::allreduce, "recursive-exchange:factors=-8 4", 8), {"8 parts, but gathers 4", "-8 8"});
  expect(refusal(Collective::allreduce, "recursive-exchange:factors=2 -4 2", 8), {"behind a positive one"});
  expect(refusal(Collective::allreduce, "cyclic-shift:factors=-2 -2 -2 -2 2 2 2", 8), {"more factors than it takes"});
  expect(refusal(Collective::allreduce, "cyclic-shift:factors=-2 -4 2 8", 8), {"too large", "4 would do"});
  expect(refusal(Collective::allreduce, "cyclic-shift:factors=-2 -2 2 2", 8), {"too small"});
  expect(refusal(Collective::bcast, "tree:factors=-2 -4", 8), {"negative factor", "nothing to divide"});
  expect(refusal(Collective::reduce, "tree:factors=2 4", 8), {"positive factor", "nothing to gather"});
  expect(refusal(Collective::allreduce, "recursive-exchange:factors=0 8", 8), {"at least 2"});
  expect(refusal(Collective::allreduce, "recursive-exchange:factors=1 8", 8), {"at least 2"});
  expect(refusal(Collective::allreduce, "recursive-exchange:factors=", 8), {"at least 2"});
}

// Per rank: messages and bytes that it takes in, and how many of those bytes are combined.
struct Taken {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t combined = 0;
};
Taken taken_by(const Program& program) {
  Taken taken;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::recv) {
      ++taken.messages;
      taken.bytes += step.bytes;
    }
    taken.combined += combines(step) ? step.bytes : 0;
  }
  return taken;
}

// A reduce_scatter of factors f and an allgather of factors g: n (P - 1) / P each, the least that is possible, whatever
// the factors; sum(f - 1) + sum(g - 1) messages.
TEST(Counts, AnyFactorsThatFitReachTheOptimum) {
  constexpr int ranks = 24;
  constexpr std::uint64_t bytes = 24UL * 64;
  for (const char* factors : {"-24 24", "-4 -6 6 4", "-2 -3 -4 4 3 2", "-2 -2 -2 -3 8 3", "-6 -4 2 2 2 3"}) {
    for (const char* name : {"recursive-exchange", "cyclic-shift"}) {
      if (std::string(name) == "cyclic-shift" && std::string(factors) == "-2 -2 -2 -3 8 3") {
        continue;
      }
      const Choice choice = resolve(parse_choice(Collective::allreduce, std::string(name) + ":factors=" + factors),
                                    Layout::uniform(ranks, ranks));
      std::uint64_t messages = 0;
      for (const std::int32_t factor : choice.tuning.factors.all()) {
        messages += static_cast<std::uint64_t>(std::abs(factor)) - 1;
      }
      for (const Program& program :
           WholeDistributedVector::uniform(Collective::allreduce, Layout::uniform(ranks, ranks), bytes / 8, 8)
               .compile(choice)) {
        const Taken taken = taken_by(program);
        EXPECT_EQ(taken.bytes, 2 * bytes / ranks * (ranks - 1)) << name << " " << factors;
        EXPECT_EQ(taken.combined, bytes / ranks * (ranks - 1)) << name << " " << factors;
        EXPECT_EQ(taken.messages, messages) << name << " " << factors;
      }
    }
  }
}

// Combining factors in between: n / N (e - 1) more for each.
TEST(Counts, NestedAllreduce) {
  constexpr std::uint64_t bytes = 64UL * 24;
  const Layout layout = Layout::uniform(24, 24);
  const auto per_rank = [&](const char* factors) {
    const Choice choice =
        resolve(parse_choice(Collective::allreduce, "recursive-exchange:factors=" + std::string(factors)), layout);
    return taken_by(
        WholeDistributedVector::uniform(Collective::allreduce, layout, bytes / 8, 8).compile(choice).front());
  };
  EXPECT_EQ(per_rank("24").bytes, 23 * bytes);
  EXPECT_EQ(per_rank("2 3 4").bytes, (1 + 2 + 3) * bytes);
  EXPECT_EQ(per_rank("-4 6 4").bytes, (2 * bytes / 4 * 3) + (bytes / 4 * 5));
  EXPECT_EQ(per_rank("-4 2 3 2 2").bytes, (2 * bytes / 4 * 3) + (bytes / 4 * (1 + 2)));
}

// Out of place the first combination is also the copy to the receive buffer: nothing is copied besides.
TEST(Counts, NoCopiesOutOfPlace) {
  const Layout layout = Layout::uniform(8, 8);
  for (const char* text : {"recursive-exchange:factors=-8 8", "recursive-exchange:factors=-2 -4 4 2",
                           "recursive-exchange:factors=2 2 2", "cyclic-shift:factors=-2 -2 -2 2 2 2"}) {
    const Choice choice = resolve(parse_choice(Collective::allreduce, text), layout);
    for (const Program& program :
         WholeDistributedVector::uniform(Collective::allreduce, layout, 64, 8).compile(choice)) {
      EXPECT_TRUE(std::ranges::none_of(program.steps, [](const Step& step) {
        return step.kind == StepKind::copy || step.kind == StepKind::reduce;
      })) << text;
    }
  }
}

// Through a node's port: with lanes 2 n (Q - 1) / Q, however many ranks it has; without regard to nodes, many times
// that.
TEST(Counts, NodeAwareBetweenNodes) {
  constexpr int nodes = 4;
  constexpr std::uint64_t bytes = 64UL * 64;
  const Layout layout = Layout::uniform(16, 4);
  for (const char* text : {"node-aware:lanes=1,between=-4 4", "node-aware:lanes=4,between=-2 -2 2 2"}) {
    const Choice choice = resolve(parse_choice(Collective::allreduce, text), layout);
    const auto programs = WholeDistributedVector::uniform(Collective::allreduce, layout, bytes / 8, 8).compile(choice);
    for (const Traffic& node : traffic_by_node(programs, layout)) {
      EXPECT_EQ(node.sent_at(Level::network).bytes, 2 * bytes / nodes * (nodes - 1)) << text;
    }
  }
}

TEST(Counts, Parts) {
  const auto parts = [](std::uint64_t bytes, const char* parameters) {
    const Layout layout = Layout::uniform(4, 4);
    const Choice choice = resolve(
        parse_choice(Collective::allreduce, "recursive-exchange:factors=-4 4" + std::string(parameters)), layout);
    std::vector<std::uint64_t> combined;
    for (const Program& program :
         WholeDistributedVector::uniform(Collective::allreduce, layout, bytes / 8, 8).compile(choice)) {
      combined.push_back(taken_by(program).combined / 3);
    }
    return combined;
  };
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(parts(64, ""), (Sizes{64, 0, 0, 0})); // not less than a cache line
  EXPECT_EQ(parts(256, ""), (Sizes{64, 64, 64, 64}));
  EXPECT_EQ(parts(64, ",part=8"), (Sizes{16, 16, 16, 16}));
  EXPECT_EQ(parts(1024, ",fixed=64"), (Sizes{64, 64, 64, 832})); // fixed ones, the last has the rest
  EXPECT_EQ(parts(1024, ",fixed=2048"), (Sizes{1024, 0, 0, 0})); // a tree
}

// Fences, puts and bytes of scratch of the one-sided forms.
struct PutCounts {
  std::size_t fences = 0;
  std::size_t puts = 0;
  std::uint64_t scratch = 0;
};
PutCounts put_counts(Collective collective, const char* algorithm, int ranks, std::uint64_t bytes) {
  const Layout layout = Layout::uniform(ranks, ranks);
  const Choice choice = resolve(parse_choice(collective, algorithm), layout);
  const auto programs = WholeDistributedVector::uniform(collective, layout, bytes).compile(choice);
  PutCounts counts;
  counts.fences = static_cast<std::size_t>(std::ranges::count(programs[0].steps, StepKind::fence, &Step::kind));
  for (const Program& program : programs) {
    counts.puts += static_cast<std::size_t>(std::ranges::count(program.steps, StepKind::put, &Step::kind));
    counts.scratch = std::max(counts.scratch, program.scratch_bytes);
    for (const Step& step : program.steps) {
      for (const Slice& target : step.kind == StepKind::put ? program.targets(step) : std::span<const Slice>()) {
        EXPECT_EQ(target.buffer, *choice.algorithm->puts_into) << algorithm;
      }
    }
  }
  return counts;
}

TEST(OneSided, HasAFenceBeforeAndAfterEachRoundOfPuts) {
  const auto expect = [](Collective collective, const char* algorithm, std::size_t fences, std::size_t puts) {
    const PutCounts counts = put_counts(collective, algorithm, 12, 64UL * 11 * 12);
    EXPECT_EQ(counts.fences, fences) << algorithm;
    EXPECT_EQ(counts.puts, puts) << algorithm;
  };
  expect(Collective::allgather, "rma-fence", 2, 12 * 11);
  expect(Collective::allgather, "rma-lock", 1, 12 * 11);
  expect(Collective::bcast, "rma-fence:factors=3 2 2", 4, 11);
  expect(Collective::bcast, "rma-lock:factors=3 2 2", 3, 11);
  expect(Collective::bcast, "rma-lock:factors=12", 1, 11);
  expect(Collective::bcast, "rma-scatter-allgather", 3, 11 + (11 * 10));
  expect(Collective::reduce_scatter, "rma-fence:batch=4", 6, 12 * 11);
  expect(Collective::reduce_scatter, "rma-lock:batch=4", 3, 12 * 11);
  expect(Collective::reduce_scatter, "rma-lock:batch=11", 1, 12 * 11);
}

TEST(OneSided, ReduceScatterHasRoomForABatchAndASum) {
  constexpr std::uint64_t bytes = 6400;
  EXPECT_EQ(put_counts(Collective::reduce_scatter, "rma-fence:batch=3", 12, bytes).scratch, (3 + 1) * bytes);
  EXPECT_EQ(put_counts(Collective::reduce_scatter, "rma-fence:batch=11", 12, bytes).scratch, (11 + 1) * bytes);
}

TEST(Listing, SaysWhatARankDoes) {
  const Layout layout = Layout::uniform(4, 2);
  const Choice choice = resolve(parse_choice(Collective::allreduce, "recursive-exchange:factors=-2 2 2"), layout);
  const auto programs = WholeDistributedVector::uniform(Collective::allreduce, layout, 32, 8).compile(choice);
  const std::string text = listing(programs, layout, 0);
  EXPECT_EQ(text, "  SET_NODE_BARRIER 1\n"
                  "  WAIT_NODE_BARRIER 1\n"
                  "  SREDUCE TEMPBUF[0]+0 SENDBUF[0]+0 SENDBUF[1]+0 128\n"
                  "  ISEND TEMPBUF[0]+0 128 2\n"
                  "  IRECV TEMPBUF[0]+256 128 2\n"
                  "  WAITALL\n"
                  "  SREDUCE RECVBUF[0]+0 TEMPBUF[0]+0 TEMPBUF[0]+256 128\n"
                  "  SET_NODE_BARRIER 1\n"
                  "  WAIT_NODE_BARRIER 1\n"
                  "  SMEMCPY RECVBUF[0]+128 RECVBUF[1]+128 128\n"
                  "  RETURN\n");
}

} // namespace
} // namespace stoker::tests
