// SPDX-License-Identifier: BSD-3-Clause
// The registry's rows, the default choice among them, and how both read.
#include "algos/schedule/print.hpp"
#include "algos/select/selection.hpp"
#include "algos/simulate/expectation.hpp"
#include "algos/verify/whole_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

TEST(Registry, RowsAreCompleteAndFoundByTheirName) {
  std::set<std::pair<Collective, std::string_view>> names;
  for (const Algorithm& row : registry()) {
    EXPECT_TRUE(names.insert({row.collective, row.name}).second) << row.name << " is there twice";
    EXPECT_EQ(find(row.collective, row.name), &row);
    EXPECT_FALSE(row.name.empty() || row.summary.empty() || row.source.empty()) << row.name;
    EXPECT_TRUE(std::visit([](auto compile) { return compile != nullptr; }, row.compile)) << row.name;
    EXPECT_NE(row.name, "auto") << "is what users write for the default";
  }
  EXPECT_EQ(find(Collective::alltoall, "no such"), nullptr);
}

TEST(Choice, ReadsWhatItWrites) {
  for (const char* text :
       {"nonblocking", "radix:r=4", "radix2:r1=3,r2=5", "multileader:leaders=domains,between=pairwise",
        "locality-aware:groups=2,between=radix-3,within=bruck", "node-aware:within=batched-4",
        "hierarchical:between=radix"}) {
    EXPECT_EQ(to_text(parse_choice(Collective::alltoall, text)), text);
  }
}

TEST(Choice, SaysWhatIsWrongAndWhatWouldBeRight) {
  const auto complaint = [](auto call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const auto parsing = [&](const char* text) {
    return complaint([&] { (void)parse_choice(Collective::alltoallv, text); });
  };
  EXPECT_EQ(parsing("radix:r=4,r=5"), "radix: r is given twice");
  EXPECT_EQ(parsing("radix:"), "radix has no parameter ; expected one of r; did you mean r?");
  EXPECT_EQ(parsing("radix:r=4,"), "radix has no parameter ; expected one of r; did you mean r?");
  EXPECT_EQ(parsing("radix:r"), "radix: r needs a value, as in r=...");
  EXPECT_EQ(parsing("radix:r=1"), "radix: r=1; expected a number from 2");
  EXPECT_EQ(parsing("multileader:leaders=-1"), "multileader: leaders=-1; expected a number from 1, or domains");
  EXPECT_EQ(parsing("bruck:r=2"), "bruck has no parameter r; expected none");
  EXPECT_NE(parsing("node-aware:within=radix-1").find("expected nonblocking, pairwise"), std::string::npos);
  EXPECT_NE(parsing("hierachical").find("did you mean hierarchical?"), std::string::npos);

  const Layout layout = Layout::uniform(8, 4);
  const Choice many = parse_choice(Collective::alltoall, "multileader:leaders=5");
  EXPECT_EQ(complaint([&] { (void)resolve(many, layout); }),
            "multileader: leaders=5 is out of range for 8 ranks on 2 nodes; expected 1 to 4; the nearest is leaders=4");
  EXPECT_EQ(to_text(resolve(many, layout, Misfit::adapt)), "multileader:leaders=4");
  EXPECT_EQ(to_text(resolve(many, layout, Misfit::adapt_numbers)), "multileader:leaders=4");
  const Choice list = parse_choice(Collective::reduce, "recursive-exchange:factors=-3 -3,part=8");
  const std::string refusal = "recursive-exchange: factors=-3 -3 has a product of 9 for 8 members; expected, for "
                              "example, -8";
  EXPECT_EQ(complaint([&] { (void)resolve(list, layout); }), refusal);
  EXPECT_EQ(complaint([&] { (void)resolve(list, layout, Misfit::adapt_numbers); }), refusal);
  EXPECT_EQ(to_text(resolve(list, layout, Misfit::adapt)), "recursive-exchange:factors=-8,part=8");
  EXPECT_EQ(to_text(resolve(parse_choice(Collective::alltoall, "radix2"), layout)), "radix2:r1=2,r2=2");
}

// The values that ranks agree on.
std::string selected(Collective collective, const Layout& layout, std::uint64_t bytes, Driver driver) {
  std::vector<double> seconds;
  const std::vector<Choice> choices = candidates(collective, layout, bytes);
  const TypicalCall call{.collective = collective, .layout = layout, .bytes = bytes};
  for (const Choice& choice : choices) {
    seconds.push_back(expectation(choice, call, typical_cluster(), driver).seconds);
  }
  return to_text(choices[preferred(seconds)]);
}

TEST(Selection, SmallBlocksOnSharedNodesAreAggregatedAndLargeOnesAreNot) {
  for (const Collective collective : {Collective::alltoall, Collective::alltoallv}) {
    for (const Driver driver : {Driver::rank, Driver::helper}) {
      EXPECT_NE(selected(collective, Layout::uniform(32, 8), 8, driver), "nonblocking");
      EXPECT_EQ(selected(collective, Layout::uniform(1, 1), 0, driver), "nonblocking");
    }
  }
}

TEST(Selection, CandidatesAreDifferentAndAlltoallvForwardsNothing) {
  for (const auto& [collective, layout] : {std::pair(Collective::alltoall, Layout::uniform(8, 2)),
                                           std::pair(Collective::alltoallv, Layout::uniform(64, 16)),
                                           std::pair(Collective::allreduce, Layout::uniform(24, 6)),
                                           std::pair(Collective::neighbor_alltoall, Layout::uniform(8, 4))}) {
    for (const std::uint64_t bytes : {8U, 1U << 20U}) {
      std::set<std::string> texts;
      for (const Choice& choice : candidates(collective, layout, bytes)) {
        EXPECT_TRUE(texts.insert(to_text(choice)).second) << to_text(choice);
        EXPECT_TRUE(collective != Collective::alltoallv || knowledge_of(choice) != Knowledge::all) << to_text(choice);
        EXPECT_FALSE(choice.algorithm->puts_into);
      }
      EXPECT_GT(texts.size(), 1U);
    }
  }
}

TEST(Selection, ParameterisedFamiliesAreCandidates) {
  std::set<std::string_view> names;
  for (const Choice& choice : candidates(Collective::alltoall, Layout::uniform(64, 16, 4), 64)) {
    names.insert(choice.algorithm->name);
  }
  for (const char* name : {"radix", "radix2", "batched", "multileader", "node-aware", "locality-aware"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Selection, WithinOneNodeAndWithOneRankPerNodeNothingIsAggregated) {
  for (const Layout& layout : {Layout::uniform(16, 16, 4), Layout::uniform(16, 1)}) {
    for (const Choice& choice : candidates(Collective::alltoall, layout, 8)) {
      EXPECT_NE(choice.algorithm->name, "hierarchical");
      EXPECT_NE(choice.algorithm->name, "node-aware");
    }
  }
}

TEST(Selection, AFamilyOfManyHoldsThatOfFew) {
  const Layout layout = Layout::uniform(48, 12, 2);
  for (const char* name : {"radix", "multileader-node-aware"}) {
    const Algorithm& algorithm = *find(Collective::alltoall, name);
    const std::vector<Choice> many = family(algorithm, layout, 64, Breadth::many);
    for (const Choice& choice : family(algorithm, layout, 64)) {
      EXPECT_NE(std::ranges::find(many, choice), many.end()) << to_text(choice);
    }
  }
}

TEST(Selection, TheSimplestOfThoseCloseToTheFastestIsTaken) {
  EXPECT_EQ(preferred(std::vector{1.0}), 0U);
  EXPECT_EQ(preferred(std::vector{1.005, 1.0, 1.2}), 0U);
  EXPECT_EQ(preferred(std::vector{2.0, 1.005, 1.0}), 1U);
  EXPECT_EQ(preferred(std::vector{2.0, 1.5, 1.0}), 2U);
}

TEST(Print, AProgramReadsAsText) {
  const auto exchange = WholeExchange::uniform(Layout::uniform(4, 2), 8);
  const auto programs = exchange.compile(parse_choice(Collective::alltoall, "hierarchical"));
  EXPECT_EQ(to_text(programs[2]), "rank 2 of 4: send 32 B, recv 32 B, scratch 96 B, 9 steps\n"
                                  "  0: copy, 16 B: scratch[0..16) = send[0..16)\n"
                                  "  1: recv from 3, 16 B: scratch[16..32)\n"
                                  "  2: recv from 0, 32 B: scratch[64..96)\n"
                                  "  3: send to 0, 32 B: scratch[0..32), after 0 1\n"
                                  "  4: copy, 16 B: recv[0..16) = scratch[64..72) x2 every 16, after 2\n"
                                  "  5: send to 3, 16 B: scratch[72..80) x2 every 16, after 2\n"
                                  "  6: recv from 3, 8 B: recv[24..32)\n"
                                  "  7: send to 3, 8 B: send[24..32)\n"
                                  "  8: copy, 8 B: recv[16..24) = send[16..24)\n");
}

} // namespace
} // namespace stoker::tests
