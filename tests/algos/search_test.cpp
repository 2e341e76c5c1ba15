// SPDX-License-Identifier: BSD-3-Clause
// The search for the fastest choice: the space holds every algorithm with values that fit, of every collective and
// layout; and the search finds the best of a made-up landscape without trying everything.
#include "cases.hpp"

#include "algos/select/search.hpp"
#include "algos/select/tuning_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace stoker::algos {
namespace {

using topology::Layout;

std::vector<Collective> tunable() {
  std::vector<Collective> all;
  for (std::size_t c = 0; c < collectives_with_algorithms; ++c) {
    if (is_tunable(static_cast<Collective>(c))) {
      all.push_back(static_cast<Collective>(c));
    }
  }
  return all;
}

void expect_good(const std::vector<Choice>& choices, const SearchProblem& problem) {
  std::set<std::string> texts;
  for (const Choice& choice : choices) {
    const std::string text = to_text(choice);
    EXPECT_EQ(choice.algorithm->collective, problem.collective);
    EXPECT_EQ(resolve(choice, problem.layout), choice) << text;
    EXPECT_EQ(resolve(parse_choice(problem.collective, text), problem.layout), choice) << text << " cannot be written";
    EXPECT_TRUE(texts.insert(text).second) << text << " twice";
    EXPECT_FALSE(choice.algorithm->puts_into) << text;
  }
}

TEST(SearchSpace, AllChoicesFitAreDifferentAndCanBeWritten) {
  for (const int ranks : {1, 2, 7, 24}) {
    for (const auto& [name, layout] : tests::layouts_of(ranks)) {
      for (const Collective collective : tunable()) {
        const SearchProblem problem{collective, layout, 1 << 16};
        const std::vector<Choice> points = starting_points(problem);
        EXPECT_FALSE(points.empty());
        expect_good(points, problem);
        for (const std::size_t i : {std::size_t{0}, points.size() / 2, points.size() - 1}) {
          const std::vector<Choice> near = neighbors_of(points[i], problem);
          expect_good(near, problem);
          EXPECT_EQ(std::ranges::find(near, points[i]), near.end());
        }
      }
    }
  }
}

TEST(SearchSpace, EveryAlgorithmIsThereFirstAsItIsByDefault) {
  const Layout layout = Layout::uniform(32, 8, 2);
  for (const Collective collective : {Collective::alltoall, Collective::allreduce, Collective::bcast}) {
    const std::vector<Choice> points = starting_points({collective, layout, 4096});
    std::size_t next = 0;
    for (const Algorithm& algorithm : algorithms_of(collective)) {
      if (!algorithm.puts_into) {
        EXPECT_EQ(points.at(next++), resolve({&algorithm, {}}, layout)) << algorithm.name;
      }
    }
  }
}

bool has(const std::vector<Choice>& choices, Collective collective, const Layout& layout, const char* text) {
  return std::ranges::find(choices, resolve(parse_choice(collective, text), layout)) != choices.end();
}

TEST(SearchSpace, FamiliesAndTheirNeighborsAreThere) {
  const Layout layout = Layout::uniform(24, 12, 2);
  const SearchProblem exchange{Collective::alltoall, layout, 64};
  const auto alltoall = starting_points(exchange);
  for (const char* text : {"radix:r=2", "radix:r=8", "radix:r=12", "radix2:r1=4", "batched:batch=16",
                           "multileader:leaders=6", "locality-aware:groups=4", "node-aware:between=radix"}) {
    EXPECT_TRUE(has(alltoall, Collective::alltoall, layout, text)) << text;
  }
  const auto near =
      neighbors_of(resolve(parse_choice(Collective::alltoall, "multileader:leaders=3"), layout), exchange);
  for (const char* text : {"multileader:leaders=2", "multileader:leaders=4", "multileader:leaders=domains",
                           "multileader:leaders=3,between=pairwise", "multileader:leaders=3,between=radix-8"}) {
    EXPECT_TRUE(has(near, Collective::alltoall, layout, text)) << text;
  }
  const SearchProblem reduction{Collective::allreduce, layout, 1 << 20};
  const auto allreduce = starting_points(reduction);
  for (const char* text : {"recursive-exchange:factors=-24 24", "recursive-exchange:factors=-2 -2 -2 -3 3 2 2 2",
                           "cyclic-shift:factors=-2 -2 -2 -2 -2 2 2 2 2 2", "node-aware:lanes=4"}) {
    EXPECT_TRUE(has(allreduce, Collective::allreduce, layout, text)) << text;
  }
  const auto segments = [&](std::uint64_t bytes) {
    const SearchProblem problem{Collective::allreduce, layout, bytes};
    return neighbors_of(resolve(parse_choice(Collective::allreduce, "cyclic-copy-in:fixed=16384"), layout), problem);
  };
  EXPECT_TRUE(has(segments(1 << 20), Collective::allreduce, layout, "cyclic-copy-in:fixed=65536"));
  EXPECT_FALSE(has(segments(512), Collective::allreduce, layout, "cyclic-copy-in:fixed=65536")); // longer than they are
}

// The best is nowhere on the grid of the beginning: r = 11 of 64.
TEST(Search, FindsWhatIsBetweenTheStartingPoints) {
  const Layout layout = Layout::uniform(64, 8);
  const auto seconds = [](const Choice& choice) {
    return choice.algorithm->name == "radix" ? 1 + std::abs(choice.tuning.radix - 11) : 1000;
  };
  std::size_t asked = 0;
  const auto found = search({Collective::alltoall, layout, 8}, 1000, [&](const Choice& choice) {
    ++asked;
    return seconds(choice);
  });
  EXPECT_EQ(to_text(found.front().choice), "radix:r=11");
  EXPECT_EQ(asked, found.size());
  EXPECT_TRUE(std::ranges::is_sorted(found, {}, &Found::seconds));
}

// Both parameters are away from their defaults: one at a time would find neither.
TEST(Search, FollowsTwoParameters) {
  const Layout layout = Layout::uniform(256, 16);
  const auto found = search({Collective::alltoall, layout, 8}, 1000, [](const Choice& choice) {
    return choice.algorithm->name == "radix2"
               ? std::abs(choice.tuning.radix_within - 13) + std::abs(choice.tuning.radix_between - 3)
               : 1000;
  });
  EXPECT_EQ(to_text(found.front().choice), "radix2:r1=13,r2=3");
}

TEST(Search, FollowsFactorLists) {
  const Layout layout = Layout::uniform(60, 60);
  const auto found = search({Collective::allgather, layout, 8}, 1000, [](const Choice& choice) {
    if (choice.algorithm->name != "recursive-exchange") {
      return 1000.0;
    }
    const auto factors = choice.tuning.factors.all();
    return std::abs(factors.front() - 6.0) + std::abs(static_cast<double>(factors.size()) - 2);
  });
  EXPECT_EQ(to_text(found.front().choice), "recursive-exchange:factors=6 10");
}

TEST(Search, KeepsToItsLimit) {
  const Layout layout = Layout::uniform(64, 8);
  for (const std::size_t limit : {1, 5, 40}) {
    std::size_t asked = 0;
    const auto found =
        search({Collective::alltoall, layout, 8}, limit, [&](const Choice&) { return static_cast<double>(++asked); });
    EXPECT_EQ(asked, limit);
    EXPECT_EQ(found.size(), limit);
  }
}

} // namespace
} // namespace stoker::algos
