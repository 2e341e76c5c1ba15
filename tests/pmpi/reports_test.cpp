// SPDX-License-Identifier: BSD-3-Clause
// What a summary becomes as text and as JSON.
#include "api/reports/json.hpp"
#include "api/reports/text.hpp"
#include "api/reports/totals.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

namespace stoker::reports {
namespace {

using nlohmann::json;

const Job job{.program = "solver", .id = "4711", .mpi = "MPI 1", .stoker = "0.0.0", .finished = 0};

// As two ranks of a node would have it, one of which hosts a helper.
Summary rank_with(const CallGroup& group, const CallSums& sums) {
  Summary summary;
  summary.ranks = 1;
  summary.hosts = {"node"};
  summary.calls[group] = sums;
  summary.left[{.collective = "barrier", .form = "blocking", .reason = "form off"}] = 4;
  return summary;
}

TEST(Names, AreTheSameInAllReportsWhateverTheirBytes) {
  EXPECT_EQ(readable("world"), "world");
  EXPECT_EQ(readable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(readable("caf\xe9"), readable("caf\xe8"));
  CallGroup odd;
  odd.communicator = readable("caf\xe9");
  CallSums three;
  three.calls = 3;
  EXPECT_EQ(unpacked<Summary>(packed(rank_with(odd, three))).calls.at(odd).calls, 3);
}

const CallGroup group{.called_from = {"exchange", "main"},
                      .collective = "alltoall",
                      .form = "nonblocking",
                      .communicator = "MPI_COMM_WORLD"};
const CallSums sums{.calls = 5,
                    .calls_by_mpi = 1,
                    .bytes = 500,
                    .exchange_seconds = 0.5,
                    .hidden_seconds = 0.25,
                    .exposed_seconds = 0.125,
                    .algorithm = "radix"};

Summary job_of_two() {
  Summary summary = rank_with(group, sums);
  summary.helpers.push_back({.rank = 0,
                             .busy_seconds = 1.5,
                             .idle_seconds = 0.25,
                             .sleeping_seconds = 2,
                             .busy_rounds = 7,
                             .idle_rounds = 9});
  summary.add(rank_with(group, sums));
  return summary;
}

json parsed(const Summary& summary) { return json::parse(json_of(job, summary)); }

std::ptrdiff_t lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(Reports, SumsOverRanks) {
  const json report = parsed(job_of_two());
  EXPECT_EQ(report["ranks"], 2);
  EXPECT_EQ(report["nodes"], 1);
  ASSERT_EQ(report["calls"].size(), 1U);
  const json& row = report["calls"][0];
  EXPECT_EQ(row["calls"], 10);
  EXPECT_EQ(row["calls_by_mpi"], 2);
  EXPECT_EQ(row["bytes"], 1000);
  EXPECT_EQ(row["exchange_seconds"], 1.0);
  EXPECT_EQ(row["called_from"], json({"exchange", "main"}));
  EXPECT_EQ(row["verdict"], "worth it");
  EXPECT_EQ(report["left_to_mpi"][0]["calls"], 8);
  EXPECT_EQ(report["helpers"][0]["idle_seconds"], 0.25);
  EXPECT_EQ(report["background"], nullptr);
}

TEST(Reports, TheTextHasMeansOfTheSame) {
  const std::string text = text_of(job_of_two());
  for (const char* const part :
       {"summary of 2 ranks", " 10         100   100000.0    50000.0    25000.0    20%  worth it     exchange < main",
        "barrier              blocking             8  form off",
        "helper at rank 0: busy 1.500 s, idle 0.250 s, sleeping 2.000 s; 7 busy rounds, 9 idle"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
  EXPECT_EQ(text.find("background"), std::string::npos);
}

TEST(Reports, PlacesAreToldApart) {
  Summary summary = job_of_two();
  CallGroup elsewhere = group;
  elsewhere.called_from.back() = "other";
  summary.add(rank_with(elsewhere, sums));
  EXPECT_EQ(parsed(summary)["calls"].size(), 2U);
}

TEST(Reports, LearnedHelpIsAMeanOfRanksThatKnow) {
  Summary summary;
  for (const double seconds : {1.0, 3.0}) {
    Summary rank;
    rank.in_background = true;
    rank.background.messages = 2;
    rank.background.help[1024] = {.ranks = 1,
                                  .helped_ranks = seconds > 2 ? 1U : 0U,
                                  .intervals = 10,
                                  .helped_intervals = 4,
                                  .helped_seconds = {seconds},
                                  .alone_seconds = {}};
    summary.add(rank);
  }
  const json background = parsed(summary)["background"];
  EXPECT_EQ(background["messages"], 4);
  const json& row = background["help"][0];
  EXPECT_EQ(row["least_bytes"], 1024);
  EXPECT_EQ(row["intervals"], 20);
  EXPECT_EQ(row["helped_ranks"], 1);
  EXPECT_EQ(row["ranks"], 2);
  EXPECT_EQ(row["helped_seconds"], 2.0);
  EXPECT_EQ(row["alone_seconds"], nullptr);
  EXPECT_NE(text_of(summary).find("messages from 1024 bytes on: 20 intervals, 8 with help; with help 2000000.0 us, "
                                  "without not tried; help pays at 1 of 2 ranks"),
            std::string::npos)
      << text_of(summary);
}

TEST(Reports, NamesMayHoldAnything) {
  CallGroup odd = group;
  odd.communicator = "a \"b\"\\\n\tc\xff";
  odd.called_from = {"operator<<", "caf\xc3\xa9\n"};
  const Summary summary = rank_with(odd, sums);
  const json row = parsed(summary)["calls"][0];
  EXPECT_EQ(row["communicator"], "a \"b\"\\\n\tc\xef\xbf\xbd");
  EXPECT_EQ(row["called_from"], json({"operator<<", "caf\xc3\xa9\n"}));
  EXPECT_EQ(lines_of(text_of(summary)), lines_of(text_of(rank_with(group, sums))));
  EXPECT_NE(text_of(summary).find("operator<< < caf\xc3\xa9"), std::string::npos);
}

TEST(Reports, ArriveAsTheyWereSent) {
  const Summary sent = job_of_two();
  const Summary arrived = unpacked<Summary>(packed(sent));
  EXPECT_EQ(json_of(job, arrived), json_of(job, sent));
  EXPECT_EQ(text_of(arrived), text_of(sent));
}

TEST(Reports, AJobIsOneLine) {
  Job odd = job;
  odd.program = "a\nb";
  const std::string line = line_of(odd, job_of_two());
  EXPECT_EQ(lines_of(line), 1);
  EXPECT_TRUE(line.ends_with("}\n"));
  const json told = json::parse(line);
  EXPECT_EQ(told["program"], "a\nb");
  EXPECT_EQ(told["job"], "4711");
  EXPECT_EQ(told["finished"], "1970-01-01T00:00:00Z");
  EXPECT_EQ(told["calls_by_engine"], 8);
  EXPECT_EQ(told["calls_by_mpi"], 10);
  EXPECT_EQ(told["hidden_seconds"], 0.5);
  EXPECT_EQ(told["helpers_busy_seconds"], 1.5);
  EXPECT_EQ(told["helpers_sleeping_seconds"], 2.0);
  EXPECT_EQ(told["helpers_idle_rounds"], 9);
  EXPECT_EQ(told["bytes"], 1000);
  EXPECT_EQ(told["verdict"], "worth it");
}

TEST(Reports, EachTotalHasARow) {
  static_assert(sizeof(std::uint64_t) == sizeof(double));
  EXPECT_EQ(total_rows().size() * sizeof(double), sizeof(Totals));
  Totals totals;
  double number = 1;
  for (const TotalRow& row : total_rows()) {
    std::visit(
        [&](auto member) {
          EXPECT_EQ(totals.*member, 0) << row.name << ": of another row, too";
          totals.*member = static_cast<std::remove_reference_t<decltype(totals.*member)>>(number++);
          const bool in_seconds = std::is_same_v<decltype(member), double Totals::*>;
          EXPECT_EQ(in_seconds, row.quantity == Quantity::seconds) << row.name;
        },
        row.member);
  }
}

TEST(Reports, TotalsOfTheBackground) {
  Summary summary;
  summary.background = {.messages = 4, .unfinished = 1, .given_up = 2, .polls = 9, .poll_seconds = 0.5, .help = {}};
  const Totals totals = totals_of(summary);
  EXPECT_EQ(totals.messages_watched, 4U);
  EXPECT_EQ(totals.messages_given_up, 2U);
  EXPECT_EQ(totals.polls, 9U);
  EXPECT_EQ(totals.poll_seconds, 0.5);
}

TEST(Reports, AJobWithoutCallsIsLeftToMpi) {
  Job alone = job;
  alone.id.clear();
  const json told = json::parse(line_of(alone, Summary()));
  EXPECT_EQ(told["verdict"], "left to MPI");
  EXPECT_EQ(told["job"], nullptr);
}

} // namespace
} // namespace stoker::reports
