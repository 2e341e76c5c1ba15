// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/settings.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace stoker::pmpi {
namespace {

constexpr std::string_view prefix = "STOKER_PMPI_";
constexpr std::array<std::string_view, 8> names{"PERSISTENT",  "NONBLOCKING", "BLOCKING", "RMA",
                                                "LEAST_BYTES", "TIMEOUT",     "TRIALS",   "SUMMARY"};

// Never destroyed: MPI_Finalize may come late.
Settings& current = *new Settings;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<bool> flag(std::string_view text) {
  return text == "0" || text == "1" ? std::optional(text == "1") : std::nullopt;
}

std::optional<std::uint64_t> bytes(std::string_view text) {
  std::uint64_t unit = 1;
  if (!text.empty()) {
    const char last = text.back();
    unit = last == 'K' ? 1U << 10 : last == 'M' ? 1U << 20 : last == 'G' ? 1U << 30 : 1;
  }
  const auto value = whole_number(unit == 1 ? text : text.substr(0, text.size() - 1));
  std::uint64_t product = 0;
  return value && !__builtin_mul_overflow(*value, unit, &product) ? std::optional(product) : std::nullopt;
}

void warn_of_unknown() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with(prefix) && std::ranges::find(names, name.substr(prefix.size())) == names.end()) {
      fmt::print(stderr, "stoker: environment variable {} is not a setting and is ignored\n", name);
    }
  }
}

} // namespace

Settings settings_of_environment(bool complain) {
  Settings result;
  const auto read = [&]<class Value>(std::size_t name, Value& value, std::optional<Value> (*parse)(std::string_view),
                                     std::string_view expected) {
    const std::string variable = fmt::format("{}{}", prefix, names[name]);
    const char* const text = std::getenv(variable.c_str());
    if (text == nullptr) {
      return;
    }
    if (const auto parsed = parse(text)) {
      value = *parsed;
    } else if (complain) {
      fmt::print(stderr, "stoker: {}={} is not accepted: expected {}; {} is taken\n", variable, text, expected,
                 static_cast<std::uint64_t>(value));
    }
  };
  read(0, result.persistent, flag, "0 or 1");
  read(1, result.nonblocking, flag, "0 or 1");
  read(2, result.blocking, flag, "0 or 1");
  read(3, result.rma, flag, "0 or 1");
  read(4, result.least_bytes, bytes, "bytes, a whole number; K, M and G stand for KiB, MiB and GiB");
  read(5, result.timeout_seconds, whole_number, "seconds, a whole number");
  read(6, result.trials, flag, "0 or 1");
  if (const char* const text = std::getenv("STOKER_PMPI_SUMMARY"); text != nullptr && std::string_view(text) != "0") {
    result.summary = text;
  }
  if (complain) {
    warn_of_unknown();
  }
  return result;
}

Settings agreed(MPI_Comm comm, Settings mine) {
  // The file's name is rank 0's business, which writes it; that there is one is everybody's.
  std::array<std::uint64_t, 7> values{mine.persistent,
                                      mine.nonblocking,
                                      mine.blocking,
                                      mine.rma,
                                      mine.least_bytes,
                                      mine.trials,
                                      mine.summary.empty() ? 0U : 1U};
  MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_UINT64_T, 0, comm);
  mine.persistent = values[0] != 0;
  mine.nonblocking = values[1] != 0;
  mine.blocking = values[2] != 0;
  mine.rma = values[3] != 0;
  mine.least_bytes = values[4];
  mine.trials = values[5] != 0;
  if (values[6] == 0) {
    mine.summary.clear();
  } else if (mine.summary.empty()) {
    mine.summary = "1";
  }
  return mine;
}

Settings& settings() { return current; }

} // namespace stoker::pmpi
