// SPDX-License-Identifier: BSD-3-Clause
// Summaries and advice as JSON: for other programs, and for the way from one rank to another. What is no UTF-8 in a name becomes
// U+FFFD.
#pragma once

#include "api/reports/advice.hpp"
#include "api/reports/summary.hpp"

#include <ctime>
#include <string>

namespace stoker::reports {

// What a report does not know of its job.
struct Job {
  std::string program;
  std::string id;     // from the batch system; empty: none
  std::string mpi;    // the library and its version
  std::string stoker; // the version
  std::time_t finished = 0;
};

// All that the text has; docs/drop-in.md and docs/advise.md have the schemas.
[[nodiscard]] std::string json_of(const Job& job, const Summary& summary);
[[nodiscard]] std::string json_of(const Job& job, const Advice& advice);
// The job in one line.
[[nodiscard]] std::string line_of(const Job& job, const Summary& summary);

// A name as reports have it: what is no UTF-8 is replaced, so that it is the same name in all of them.
[[nodiscard]] std::string readable(const std::string& name);

[[nodiscard]] std::string packed(const Summary& summary);
[[nodiscard]] std::string packed(const Advice& advice);
template <class Report>
[[nodiscard]] Report unpacked(const std::string& text);

} // namespace stoker::reports
