// SPDX-License-Identifier: BSD-3-Clause
// The default choice: it is nearly as fast as the best that there is, by simulation; estimates are near the simulator's
// times; and on machines like the literature's the literature's choices come out.
#include "cases.hpp"

#include "algos/select/selection.hpp"
#include "algos/simulate/estimate.hpp"
#include "algos/simulate/expectation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

double simulated(const Choice& choice, const TypicalCall& call, Driver driver) {
  return simulate(
             call.layout, typical_cluster(), [&](int rank) { return compile(choice, call, rank); },
             scenario_of(driver, call.layout))
      .seconds;
}

double expected(const std::string& algorithm, const Layout& layout, std::uint64_t bytes, Driver driver = Driver::rank) {
  return expectation(resolve(parse_choice(Collective::alltoall, algorithm), layout), {.layout = layout, .bytes = bytes},
                     typical_cluster(), driver)
      .seconds;
}

// Some algorithms take operations that are not commutative with some lists of factors only.
TEST(DefaultChoice, EveryCandidateTakesTheOperation) {
  for (const Layout& layout :
       {Layout::uniform(8, 4, 2), Layout::uniform(13, 5), Layout({{0, 0}, {0, 1}, {0, 0}, {1, 0}, {1, 1}})}) {
    for (const Collective collective :
         {Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::scan}) {
      for (const std::uint64_t bytes : {8U, 65536U}) {
        const TypicalCall call{
            .collective = collective, .layout = layout, .bytes = bytes, .element_bytes = 8, .commutative = false};
        const std::vector<Choice> all = candidates(collective, layout, bytes, false);
        EXPECT_FALSE(all.empty());
        for (const Choice& choice : all) {
          EXPECT_NO_THROW(static_cast<void>(compile(choice, call, 0))) << name_of(collective) << " " << to_text(choice);
        }
      }
    }
  }
}

// With few receives posted at a time a rank that is late once stays behind, where a message that comes too early
// costs more than its share of a port.
TEST(DefaultChoice, FewPostedReceivesAreARisk) {
  const Layout layout = Layout::uniform(256, 2, 2);
  const auto risk = [&](const std::string& algorithm, std::uint64_t bytes, const Machine& machine) {
    const Choice choice = resolve(parse_choice(Collective::alltoall, algorithm), layout);
    const TypicalCall call{.layout = layout, .bytes = bytes};
    return estimated(std::vector{compile(choice, call, 0), compile(choice, call, 1)}, layout, machine, Driver::rank)
        .seconds_at_risk;
  };
  Machine machine = typical_cluster();
  EXPECT_GT(risk("batched:batch=4", 8192, machine), risk("batched:batch=16", 8192, machine));
  EXPECT_GT(risk("batched:batch=16", 8192, machine), risk("batched:batch=64", 8192, machine));
  EXPECT_EQ(risk("nonblocking", 8192, machine), 0);
  EXPECT_EQ(risk("batched:batch=4", 2 * machine.eager_bytes, machine), 0);
  machine.port.seconds_per_byte *= 100;
  EXPECT_EQ(risk("batched:batch=4", 8192, machine), 0);

  // So the default posts many, although few are as fast where all ranks are in step.
  EXPECT_GT(expected("batched:batch=16", layout, 8192), expected("batched:batch=128", layout, 8192));
  std::vector<double> seconds;
  const std::vector<Choice> all = candidates(Collective::alltoall, layout, 8192);
  for (const Choice& choice : all) {
    seconds.push_back(expected(to_text(choice), layout, 8192));
  }
  EXPECT_EQ(to_text(all[preferred(seconds)]), "batched:batch=128");
}

// The seconds of the default choice over those of the best of many candidates.
double over_best(const TypicalCall& call, Driver driver) {
  const std::vector<Choice> few = candidates(call.collective, call.layout, call.bytes);
  std::vector<double> seconds;
  for (const Choice& choice : few) {
    seconds.push_back(expectation(choice, call, typical_cluster(), driver).seconds);
  }
  const double taken = simulated(few[preferred(seconds)], call, driver);
  double best = taken;
  for (const Choice& choice : candidates(call.collective, call.layout, call.bytes, true, Breadth::many)) {
    best = std::min(best, simulated(choice, call, driver));
  }
  return best > 0 ? taken / best : 1;
}

// bench/inside/default_choice.cpp does the same for whole machines.
TEST(DefaultChoice, IsNearlyAsFastAsTheBest) {
  std::vector<double> ratios;
  for (const Layout& layout : {Layout::uniform(8, 4, 2), Layout::uniform(24, 6, 2)}) {
    if (layout.ranks() > most_ranks) {
      continue;
    }
    for (const Collective collective :
         {Collective::alltoall, Collective::allreduce, Collective::reduce, Collective::bcast, Collective::allgather,
          Collective::reduce_scatter, Collective::gather, Collective::scatter, Collective::scan}) {
      for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{4096}, std::uint64_t{1} << 20U}) {
        const TypicalCall call{.collective = collective, .layout = layout, .bytes = bytes, .element_bytes = 8};
        for (const Driver driver : {Driver::rank, Driver::helper}) {
          ratios.push_back(over_best(call, driver));
          EXPECT_LE(ratios.back(), 1.25) << name_of(collective) << ", " << layout.ranks() << " ranks, " << bytes
                                         << (driver == Driver::helper ? ", helpers" : "");
        }
      }
    }
  }
  std::ranges::sort(ratios);
  EXPECT_LE(ratios[ratios.size() / 2], 1.05);
}

// The schedules are some in which all nodes do alike. Beside helpers few leaders are left out: how long they wait
// for their node no program of theirs tells.
TEST(DefaultChoice, EstimatesAreNearTheSimulation) {
  const Layout layout = Layout::uniform(32, 8, 2);
  const auto expect_near = [&](const char* algorithm, Driver driver) {
    for (const std::uint64_t bytes : {8U, 512U, 65536U}) {
      const TypicalCall call{.layout = layout, .bytes = bytes};
      const Choice choice = resolve(parse_choice(Collective::alltoall, algorithm), layout);
      const double estimate =
          algos::estimate(
              layout, typical_cluster(), driver, [&](int rank) { return compile(choice, call, rank); }, 0)
              .seconds;
      const double truth = simulated(choice, call, driver);
      const std::string what = std::string(algorithm) + ", " + std::to_string(bytes) + " bytes, " +
                               (driver == Driver::helper ? "helpers" : "ranks");
      EXPECT_GT(estimate, 0.75 * truth) << what;
      EXPECT_LT(estimate, 1.25 * truth) << what;
    }
  };
  for (const char* algorithm :
       {"nonblocking", "radix:r=2", "radix:r=4", "radix2", "node-aware", "locality-aware:groups=2",
        "multileader:leaders=2", "multileader-node-aware:leaders=4"}) {
    expect_near(algorithm, Driver::rank);
    expect_near(algorithm, Driver::helper);
  }
  for (const char* algorithm : {"hierarchical", "multileader-node-aware:leaders=2"}) {
    expect_near(algorithm, Driver::rank);
  }
}

// So what needs longer than another choice takes cannot be better.
TEST(DefaultChoice, NoSimulationGoesBelowTheLeastTime) {
  const Layout layout = Layout::uniform(has_address_sanitizer ? 8 : 24, has_address_sanitizer ? 4 : 6, 2);
  for (const Driver driver : {Driver::rank, Driver::helper}) {
    for (const Collective collective : {Collective::alltoall, Collective::allreduce, Collective::bcast,
                                        Collective::gather, Collective::reduce_scatter, Collective::scan}) {
      for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{4096}, std::uint64_t{1} << 20U}) {
        const TypicalCall call{.collective = collective, .layout = layout, .bytes = bytes, .element_bytes = 8};
        for (const Choice& choice : candidates(collective, layout, bytes)) {
          std::vector<Program> node;
          for (const int rank : layout.node_ranks(0)) {
            node.push_back(compile(choice, call, rank));
          }
          EXPECT_LE(least_seconds(node, layout, typical_cluster(), driver),
                    simulated(choice, call, driver) * (1 + 1e-9))
              << name_of(collective) << " " << to_text(choice) << ", " << bytes << " bytes";
        }
      }
    }
  }
}

TEST(DefaultChoice, SmallSchedulesAreSimulatedAndLargeOnesEstimated) {
  const auto is_simulated = [](const char* algorithm, const Layout& layout) {
    return expectation(resolve(parse_choice(Collective::alltoall, algorithm), layout), {.layout = layout, .bytes = 8},
                       typical_cluster(), Driver::rank)
        .simulated;
  };
  EXPECT_TRUE(is_simulated("nonblocking", Layout::uniform(8, 4)));
  EXPECT_FALSE(is_simulated("nonblocking", Layout::uniform(512, 64)));
}

// The n-th message from another node is taken to come when the n-th to one has arrived.
TEST(DefaultChoice, AnEstimateOfOneMessageIsExact) {
  const Layout layout = Layout::uniform(2, 1);
  const TypicalCall call{.layout = layout, .bytes = 8};
  const Choice choice = resolve(parse_choice(Collective::alltoall, "nonblocking"), layout);
  const Program program = compile(choice, call, 0);
  EXPECT_NEAR(estimated({&program, 1}, layout, typical_cluster(), Driver::rank).seconds,
              simulated(choice, call, Driver::rank), 1e-7);
}

// A helper does one thing after the other for all its ranks, so fewer messages in all are worth more to it than
// messages that ranks send side by side.
TEST(DefaultChoice, HelpersPreferFewerMessages) {
  const Layout layout = Layout::uniform(512, 64);
  const auto gain = [&](Driver driver) {
    return expected("nonblocking", layout, 8, driver) / expected("node-aware", layout, 8, driver);
  };
  EXPECT_GT(gain(Driver::helper), gain(Driver::rank));
}

// ---- the literature's choices ----

int fastest(const std::string& prefix, const std::vector<int>& values, const Layout& layout, std::uint64_t bytes) {
  return *std::ranges::min_element(values, {},
                                   [&](int value) { return expected(prefix + std::to_string(value), layout, bytes); });
}

// Kinkead et al., 32 nodes of 112 ranks: several leaders, but not many, for small blocks; then node-aware.
TEST(DefaultChoice, PicksTheLeadersOfKinkeadEtAl) {
  const Layout dane = Layout::uniform(3584, 112, 8);
  EXPECT_NE(fastest("multileader:leaders=", {1, 4, 28}, dane, 4), 1);
  EXPECT_LT(expected("multileader-node-aware", dane, 4), expected("nonblocking", dane, 4));
  EXPECT_LT(expected("node-aware", dane, 4096), expected("multileader-node-aware", dane, 4096));
}

// Fan et al.: small radices for small blocks, larger ones for larger blocks, N between nodes in two layers.
TEST(DefaultChoice, PicksTheRadicesOfFanEtAl) {
  const Layout theta = Layout::uniform(1024, 32);
  const int small = fastest("radix:r=", {2, 8, 32, 256}, theta, 8);
  const int large = fastest("radix:r=", {2, 8, 32, 256}, theta, 2048);
  EXPECT_LE(small, 32);
  EXPECT_GE(large, small);
  EXPECT_EQ(fastest("radix2:r1=8,r2=", {2, 4, 32}, theta, 512), 32);
}

} // namespace
} // namespace stoker::tests
