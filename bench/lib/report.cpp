// SPDX-License-Identifier: BSD-3-Clause
// Tables and JSON lines: see report.hpp.
#include "bench/lib/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace stoker::bench {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string cell(const Json& row, const std::string& key) {
  const Json& value = row.contains(key) ? row.at(key) : Json(nullptr);
  if (value.is_null()) {
    return key == "break_even" && !row.at("init_us").is_null() ? "never" : "-";
  }
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    const int decimals = key == "break_even" ? 0 : key.ends_with("_ns") ? 1 : 3;
    return fmt::format("{:.{}f}", number, std::abs(number) < 1000 ? decimals : 0);
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::size_t width_of(const std::string& key) {
  constexpr std::size_t least = 10;
  constexpr std::size_t names = 23; // "mpi-rma-fence-hierarchy"
  const bool is_name =
      key == "executor" || key == "algorithm" || key == "condition" || key == "baseline" || key == "matrix";
  return std::max({is_name ? names : least, key.size()});
}

} // namespace

std::optional<double> break_even(const Row& row) {
  if (!row.init_us || !row.baseline_us || !(*row.baseline_us > row.time.median)) {
    return std::nullopt;
  }
  return std::ceil(*row.init_us / (*row.baseline_us - row.time.median));
}

Report::Report(bool writes, const std::string& file) : writes_(writes) {
  if (writes_ && !file.empty()) {
    file_.open(file);
    if (!file_) {
      throw std::runtime_error("--json: cannot write " + file);
    }
  }
}

void Report::note(const std::string& text) const {
  if (writes_) {
    fmt::print("# {}\n", text);
  }
}

void Report::constant(const std::string& key, Json value) { constants_[key] = std::move(value); }

void Report::table(std::vector<std::string> keys) {
  columns_ = std::move(keys);
  if (writes_) {
    for (const auto& key : columns_) {
      fmt::print("{:>{}} ", key, width_of(key));
    }
    fmt::print("\n");
  }
}

void Report::add(const Row& row) {
  if (!writes_) {
    return;
  }
  Json json;
  json["benchmark"] = row.benchmark;
  json["collective"] = or_null(row.collective);
  json["algorithm"] = or_null(row.algorithm);
  json["executor"] = row.executor;
  for (const char* key : {"mpi", "nodes", "ppn"}) {
    json[key] = constants_.at(key);
  }
  json["bytes"] = or_null(row.bytes);
  json["iterations"] = row.time.iterations;
  json["median_us"] = row.time.median;
  json["min_us"] = row.time.min;
  json["max_us"] = row.time.max;
  json["overall_us"] = or_null(row.overall_us);
  json["compute_us"] = or_null(row.compute_us);
  json["efficiency"] = or_null(row.efficiency);
  json["baseline_us"] = or_null(row.baseline_us);
  json["ratio"] = or_null(row.ratio);
  json["baseline"] = row.baseline.empty() ? Json(nullptr) : Json(row.baseline);
  json["mad_us"] = row.time.mad;
  json["init_us"] = or_null(row.init_us);
  json["break_even"] = or_null(break_even(row));
  json.update(row.more);
  json.update(constants_);

  for (const auto& key : columns_) {
    fmt::print("{:>{}} ", cell(json, key), width_of(key));
  }
  fmt::print("\n");
  std::fflush(stdout);
  if (file_.is_open()) {
    file_ << json.dump() << std::endl;
  }
}

} // namespace stoker::bench
