// SPDX-License-Identifier: BSD-3-Clause
// How much computation could have hidden, and what an advice becomes as text and as JSON.
#include "api/reports/advice.hpp"
#include "api/reports/computation.hpp"
#include "api/reports/json.hpp"
#include "api/reports/text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace stoker::reports {
namespace {

TEST(Computation, ItsClockStandsStillInCalls) {
  Computation computation;
  computation.called(100, 130);
  EXPECT_EQ(computation.clock(150), 120U);
  computation.called(160, 170);
  EXPECT_EQ(computation.clock(170), 130U);
  EXPECT_EQ(computation.in_calls_ns(), 40U);
}

TEST(Computation, CallsOfThreadsThatOverlapCountOnce) {
  Computation computation;
  computation.called(10, 20);
  computation.called(15, 30);
  computation.called(12, 18);
  EXPECT_EQ(computation.in_calls_ns(), 20U);
}

TEST(Computation, HidesNoMoreThanWasComputedAndNoMoreThanWasWaited) {
  Computation computation;
  EXPECT_EQ(computation.hide(0, 10, 4), 4U);
  EXPECT_EQ(computation.hide(20, 25, 100), 5U);
  EXPECT_EQ(computation.hide(25, 25, 100), 0U);
}

TEST(Computation, HidesNothingTwice) {
  Computation computation;
  EXPECT_EQ(computation.hide(0, 10, 6), 6U);
  EXPECT_EQ(computation.hide(0, 10, 6), 4U);
  EXPECT_EQ(computation.hide(0, 10, 6), 0U);
  EXPECT_EQ(computation.hide(5, 12, 6), 2U);
}

TEST(Computation, FindsWhatIsLeftBetweenWhatIsUsed) {
  Computation computation;
  EXPECT_EQ(computation.hide(10, 20, 10), 10U); // a later start is waited for first
  EXPECT_EQ(computation.hide(30, 40, 5), 5U);
  EXPECT_EQ(computation.hide(0, 40, 100), 25U); // 0 to 10, 20 to 30, 35 to 40
}

TEST(Computation, ForgetsTheOldestOfVeryMany) {
  Computation computation;
  constexpr std::uint64_t spans = 1000;
  for (std::uint64_t i = 0; i < spans; ++i) {
    EXPECT_EQ(computation.hide(10 * i, (10 * i) + 5, 5), 5U);
  }
  EXPECT_EQ(computation.hide(10 * (spans - 1), (10 * spans) - 5, 5), 0U);
}

const AdvisedGroup nonblocking{.called_from = {"exchange", "main"},
                               .function = "MPI_Ialltoall",
                               .form = "nonblocking",
                               .plan = std::string(name_of(Plan::taken)),
                               .reason = ""};
const AdvisedGroup blocking{.called_from = {"norm"},
                            .function = "MPI_Allreduce",
                            .form = "blocking",
                            .plan = std::string(name_of(Plan::left)),
                            .reason = "too short"};

Advice rank_on(const std::string& host) {
  Advice advice{.ranks = 1, .hosts = {host}, .seconds = 10, .mpi_seconds = 4, .calls = {}, .not_followed = 0};
  advice.calls[nonblocking] = {.calls = 5,
                               .bytes = 500,
                               .call_seconds = 0.5,
                               .computing_seconds = 6,
                               .exposed_seconds = 2.5,
                               .test_seconds = 0.25,
                               .hideable_seconds = 2};
  advice.calls[blocking] = {.calls = 3, .bytes = 24, .call_seconds = 1};
  return advice;
}

Advice advised_job() {
  Advice advice;
  for (const char* const host : {"a", "a", "b", "b"}) {
    advice.add(rank_on(host));
  }
  return advice;
}

TEST(Advice, ACoreCostsTheComputationOfANodeByItsRanks) {
  const CoreForHelper core = core_for_helper(advised_job());
  EXPECT_EQ(core.ranks_per_node, 2);
  EXPECT_EQ(core.computing_seconds, 6);
  EXPECT_EQ(core.hideable_seconds, 2);
  EXPECT_EQ(core.cost_seconds(), 3);
  EXPECT_FALSE(core.may_pay());
}

TEST(Advice, CallsThatAreLeftDoNotPayForACore) {
  Advice advice = advised_job();
  advice.calls[blocking].hideable_seconds = 1000;
  EXPECT_FALSE(core_for_helper(advice).may_pay());
  advice.calls[nonblocking].hideable_seconds = 1000;
  EXPECT_TRUE(core_for_helper(advice).may_pay());
}

TEST(Advice, SurvivesTheWayToRank0) {
  EXPECT_EQ(packed(unpacked<Advice>(packed(advised_job()))), packed(advised_job()));
}

TEST(Advice, AsText) {
  const std::string text = text_of(advised_job());
  for (
      const char* const part :
      {"advice for 4 ranks, 2 nodes; nothing was taken over\n10.000 s from MPI_Init to MPI_Finalize, 4.000 s of them",
       "MPI_Ialltoall                          20         100      0.500      6.000      2.500      2.000  by default  "
       "     exchange < main\n",
       "MPI_Allreduce                          12           8      1.000          -          -          -  left to MPI "
       "(1)  norm\n(1) too short\n",
       "6.000 s / 2 = 3.000 s of each rank. It does not pay, unless",
       "for MPI_Allreduce the program would need "
       "MPI_Iallreduce"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
}

TEST(Advice, WithoutCallsSaysSo) {
  EXPECT_NE(text_of(Advice{}).find("stoker has nothing to offer"), std::string::npos);
}

TEST(Advice, AsJson) {
  const Job described{.program = "solver", .id = "", .mpi = "MPI 1", .stoker = "0.0.0", .finished = 0};
  const nlohmann::json report = nlohmann::json::parse(json_of(described, advised_job()));
  EXPECT_EQ(report["ranks"], 4);
  EXPECT_EQ(report["nodes"], 2);
  EXPECT_EQ(report["seconds"], 40);
  EXPECT_EQ(report["core_for_helper"]["cost_seconds"], 3);
  EXPECT_EQ(report["core_for_helper"]["may_pay"], false);
  ASSERT_EQ(report["calls"].size(), 2U);
  for (const auto& row : report["calls"]) {
    const bool blocks = row["form"] == "blocking";
    EXPECT_EQ(row["calls"], blocks ? 12 : 20);
    EXPECT_EQ(row["reason"], blocks ? nlohmann::json("too short") : nlohmann::json());
    EXPECT_EQ(row["exposed_seconds"], blocks ? 0 : 10);
  }
}

} // namespace
} // namespace stoker::reports
