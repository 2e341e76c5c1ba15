// SPDX-License-Identifier: BSD-3-Clause
#include "api/reports/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

namespace stoker::reports {
namespace {

using Row = std::pair<AdvisedGroup, AdvisedSums>;

// The dearest first.
std::vector<Row> rows_of(const Advice& advice) {
  std::vector<Row> rows(advice.calls.begin(), advice.calls.end());
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const Row& row) { return row.second.call_seconds + row.second.exposed_seconds; });
  return rows;
}

// Reasons in the order in which rows name them.
class Footnotes {
public:
  [[nodiscard]] std::string mark(const std::string& reason) {
    if (reason.empty()) {
      return {};
    }
    auto found = std::ranges::find(reasons_, reason);
    if (found == reasons_.end()) {
      found = reasons_.insert(found, reason);
    }
    return fmt::format(" ({})", found - reasons_.begin() + 1);
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      text += fmt::format("({}) {}\n", i + 1, reasons_[i]);
    }
    return text;
  }

private:
  std::vector<std::string> reasons_;
};

std::string table_of(const Advice& advice) {
  constexpr std::size_t most = 24;
  const std::vector<Row> rows = rows_of(advice);
  const double ranks = std::max(advice.ranks, 1);
  Footnotes footnotes;
  std::string text = fmt::format("{:<30} {:>10} {:>11} {:>10} {:>10} {:>10} {:>10}  {:<16} {}\n", "function", "calls",
                                 "bytes", "call", "computing", "exposed", "at best", "stoker", "called from");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const auto& [group, sums] = rows[i];
    const auto seconds = [&](double of_all) {
      return group.form == "blocking" ? std::string("-") : fmt::format("{:.3f}", of_all / ranks);
    };
    text +=
        fmt::format("{:<30} {:>10} {:>11.0f} {:>10.3f} {:>10} {:>10} {:>10}  {:<16} {}\n", group.function, sums.calls,
                    static_cast<double>(sums.bytes) / static_cast<double>(std::max<std::uint64_t>(sums.calls, 1)),
                    sums.call_seconds / ranks, seconds(sums.computing_seconds), seconds(sums.exposed_seconds),
                    seconds(sums.hideable_seconds), group.plan + footnotes.mark(group.reason),
                    one_line(fmt::format("{}", fmt::join(group.called_from, " < "))));
  }
  if (rows.size() > most) {
    text += fmt::format("and {} more, which took less; a file whose name ends in .json has all\n", rows.size() - most);
  }
  return text + footnotes.text();
}

constexpr std::string_view explanations =
    "calls      of all ranks; bytes: of one call; times: seconds of one rank on average\n"
    "call       time in the function itself, or in MPI_Start\n"
    "computing  between that and the call that completes it\n"
    "exposed    in MPI_Wait and MPI_Test; what MPI did meanwhile while the program computed is not seen from outside\n"
    "at best    part of exposed that could have been hidden: no more than was computed between start and wait\n"
    "stoker     whether stoker run would take the call over, and with which option\n";

// The nonblocking form of a function.
std::string nonblocking(const std::string& function) {
  std::string name = function.substr(4);
  name.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(name.front())));
  return "MPI_I" + name;
}

std::string remark_on_blocking(const Advice& advice) {
  const std::vector<Row> rows = rows_of(advice);
  const auto dearest = std::ranges::find(rows, "blocking", [](const Row& row) { return row.first.form; });
  return dearest == rows.end()
             ? std::string()
             : fmt::format("Nothing of a blocking call can be hidden from outside: for {} the program would need {}, "
                           "a computation that does without its result, and MPI_Wait.\n",
                           dearest->first.function, nonblocking(dearest->first.function));
}

std::string conclusion_of(const Advice& advice) {
  const CoreForHelper core = core_for_helper(advice);
  std::string text = fmt::format(
      "Of the calls that stoker would take, {:.3f} s of each rank could be hidden at best.\n", core.hideable_seconds);
  if (core.hideable_seconds > 0) {
    text += fmt::format("A core of its own for a helper takes 1/n of the computation of a node of n ranks: {:.3f} s / "
                        "{:.4g} = {:.3f} s "
                        "of each rank. {}\n",
                        core.computing_seconds, core.ranks_per_node, core.cost_seconds(),
                        core.may_pay() ? "It may pay: compare runs with stoker run and without."
                                       : "It does not pay, unless the core is free anyway (stoker plan).");
  }
  return text;
}

} // namespace

std::string text_of(const Advice& advice) {
  const double ranks = std::max(advice.ranks, 1);
  std::string text = fmt::format("stoker: advice for {} ranks, {} node{}; nothing was taken over\n"
                                 "{:.3f} s from MPI_Init to MPI_Finalize, {:.3f} s of them in the functions below\n",
                                 advice.ranks, advice.hosts.size(), advice.hosts.size() == 1 ? "" : "s",
                                 advice.seconds / ranks, advice.mpi_seconds / ranks);
  if (advice.calls.empty()) {
    return text + "no collective, and no message with a request: stoker has nothing to offer\n";
  }
  text += table_of(advice);
  text += explanations;
  text += remark_on_blocking(advice);
  if (advice.not_followed != 0) {
    text += fmt::format("{} requests were too many at a time to be followed: their computing and exposed are missing\n",
                        advice.not_followed);
  }
  return text + conclusion_of(advice);
}

} // namespace stoker::reports
