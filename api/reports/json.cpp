// SPDX-License-Identifier: BSD-3-Clause
#include "api/reports/json.hpp"

#include "api/reports/totals.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace stoker::reports {

// Members have the names that JSON has for them.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CallGroup, called_from, collective, form, communicator)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CallSums, calls, calls_by_mpi, bytes, exchange_seconds, hidden_seconds,
                                   exposed_seconds, algorithm)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LeftCalls, collective, form, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Helper, rank, busy_seconds, idle_seconds, sleeping_seconds, busy_rounds, idle_rounds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MessageHelp, ranks, helped_ranks, intervals, helped_intervals, helped_seconds,
                                   alone_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Background, messages, unfinished, given_up, polls, poll_seconds, help)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Summary, ranks, hosts, calls, left, helpers, in_background, background)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdvisedGroup, called_from, function, form, plan, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdvisedSums, calls, bytes, call_seconds, computing_seconds, exposed_seconds,
                                   test_seconds, hideable_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Advice, ranks, hosts, seconds, mpi_seconds, calls, not_followed)

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <class Json>
std::string dump(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// What all reports begin with: of the job, and of its summary or advice.
template <class Report>
ordered_json head(const Job& job, const Report& report) {
  return {{"format", 1},
          {"stoker", job.stoker},
          {"mpi", job.mpi},
          {"program", job.program},
          {"job", job.id.empty() ? ordered_json() : ordered_json(job.id)},
          {"finished", fmt::format("{:%FT%TZ}", fmt::gmtime(job.finished))},
          {"ranks", report.ranks},
          {"nodes", report.hosts.size()}};
}

json rows_of_calls(const Summary& summary) {
  json rows = json::array();
  for (const auto& [group, sums] : summary.calls) {
    json row = group;
    row.update(json(sums));
    row["verdict"] = verdict(sums, group.blocking());
    rows.push_back(std::move(row));
  }
  return rows;
}

json rows_of_calls(const Advice& advice) {
  json rows = json::array();
  for (const auto& [group, sums] : advice.calls) {
    json row = group;
    row.update(json(sums));
    row["reason"] = group.reason.empty() ? json() : json(group.reason);
    rows.push_back(std::move(row));
  }
  return rows;
}

json rows_of_left(const Summary& summary) {
  json rows = json::array();
  for (const auto& [group, count] : summary.left) {
    json row = group;
    row["calls"] = count;
    rows.push_back(std::move(row));
  }
  return rows;
}

json object_of(const Background& background) {
  const auto seconds = [](const std::vector<double>& known) { return known.empty() ? json() : json(mean(known)); };
  json object = background;
  object["help"] = json::array();
  for (const auto& [bytes, learned] : background.help) {
    json row = learned;
    row["least_bytes"] = bytes;
    row["helped_seconds"] = seconds(learned.helped_seconds);
    row["alone_seconds"] = seconds(learned.alone_seconds);
    object["help"].push_back(std::move(row));
  }
  return object;
}

} // namespace

std::string json_of(const Job& job, const Summary& summary) {
  ordered_json report = head(job, summary);
  report["calls"] = rows_of_calls(summary);
  report["left_to_mpi"] = rows_of_left(summary);
  report["helpers"] = json(summary.helpers);
  report["background"] = summary.in_background ? object_of(summary.background) : json();
  return dump(report, 2) + '\n';
}

std::string json_of(const Job& job, const Advice& advice) {
  ordered_json report = head(job, advice);
  report["seconds"] = advice.seconds;
  report["mpi_seconds"] = advice.mpi_seconds;
  report["calls"] = rows_of_calls(advice);
  report["not_followed"] = advice.not_followed;
  const CoreForHelper core = core_for_helper(advice);
  report["core_for_helper"] = {{"ranks_per_node", core.ranks_per_node},
                               {"computing_seconds", core.computing_seconds},
                               {"cost_seconds", core.cost_seconds()},
                               {"hideable_seconds", core.hideable_seconds},
                               {"may_pay", core.may_pay()}};
  return dump(report, 2) + '\n';
}

std::string line_of(const Job& job, const Summary& summary) {
  CallSums sums;
  bool blocking = true; // all of them
  for (const auto& [group, of_group] : summary.calls) {
    sums.add(of_group);
    blocking = blocking && group.blocking();
  }
  ordered_json line = head(job, summary);
  const Totals totals = totals_of(summary);
  for (const TotalRow& row : total_rows()) {
    std::visit([&](auto member) { line[std::string(row.name)] = totals.*member; }, row.member);
  }
  line["verdict"] = verdict(sums, blocking);
  return dump(line) + '\n';
}

std::string readable(const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return plain ? name : json::parse(dump(json(name))).get<std::string>();
}

std::string packed(const Summary& summary) { return dump(json(summary)); }

std::string packed(const Advice& advice) { return dump(json(advice)); }

template <class Report>
Report unpacked(const std::string& text) {
  return json::parse(text).get<Report>();
}
template Summary unpacked<Summary>(const std::string& text);
template Advice unpacked<Advice>(const std::string& text);

} // namespace stoker::reports
