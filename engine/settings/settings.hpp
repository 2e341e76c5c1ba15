// SPDX-License-Identifier: BSD-3-Clause
// Every setting, of an engine and of the drop-in library: its type, its default, and where its value came from.
// Precedence: the call's settings, then the environment (STOKER_<KEY>), then the TOML file that STOKER_SETTINGS_FILE
// names, then the default.
#pragma once

#include "algos/select/choice.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::engine {

enum class ExecutorChoice { automatic, engine, inline_ };
enum class AccessChoice { automatic, own, mapped, cma, staged, device };
enum class DomainChoice { numa, node };
enum class WakeChoice { automatic, always };
enum class XpmemChoice { automatic, never };
enum class RmaChoice { automatic, window, messages };
enum class LogLevel { error, warn, info, debug };

// No value: worked out by the engine.
using AutoBytes = std::optional<std::uint64_t>;

// The initialisers are the defaults. What each member means is said once, in setting_table.cpp.
struct Settings {
  ExecutorChoice executor = ExecutorChoice::automatic;
  AccessChoice access = AccessChoice::automatic;
  XpmemChoice xpmem = XpmemChoice::never; // no machine with it has been at hand
  DomainChoice domains = DomainChoice::numa;
  int threads_per_domain = 1;
  std::string reserve = "auto";
  bool best_effort = false;
  std::string machine;
  int ranks_per_node = 0;
  algos::Choices algorithms;
  bool deterministic = false;
  std::string cost_model;
  std::string tuning;
  std::string wisdom;
  std::uint64_t arena_bytes = 0;
  std::uint64_t eager_bytes = 256 * 1024;
  std::uint64_t staged_bytes = 32768;
  AutoBytes wire_piece_bytes;
  RmaChoice rma = RmaChoice::automatic;
  std::string device_kernel = "auto"; // or "never", or a path
  int batch = 32;
  int spin_us = 20;
  int nap_us = 300;
  int wait_spin_us = 50;
  WakeChoice wake = WakeChoice::automatic;
  bool inline_times = false;
  int baseline_calls = 0;
  int stall_seconds = 60;
  std::string trace;
  LogLevel log = LogLevel::warn;

  bool pmpi_persistent = true;
  bool pmpi_nonblocking = true;
  bool pmpi_blocking = false;
  bool pmpi_advise = false;
  bool pmpi_trials = true;
  bool pmpi_rma = false;
  bool pmpi_p2p = false;
  bool pmpi_alloc_mem = false;
  std::uint64_t pmpi_heap = 0;
  std::uint64_t pmpi_least_bytes = 16384;
  std::uint64_t pmpi_p2p_least_bytes = 65536;
  int pmpi_communicators = 384;
  int pmpi_timeout = 20;
  std::string pmpi_summary; // "1": on standard error; else a file
  std::string pmpi_job_line;
  static constexpr int most_pmpi_depth = 16;
  int pmpi_depth = 1;

  bool operator==(const Settings&) const = default;
};

// {key, value}, as passed to stoker_engine_create. If a key occurs twice, the last one counts.
using SettingText = std::pair<std::string_view, std::string_view>;

enum class Origin { default_, file, environment, call };
[[nodiscard]] std::string_view name_of(Origin origin);

struct SettingRow;
struct EffectiveSetting {
  const SettingRow* row;
  std::string value; // canonical text: parsing it gives the same value again
  Origin origin;
};

// Both throw Error(Code::setting) that names key, value, origin and what is accepted. Every value given is checked,
// also one that a stronger origin overrides. MPI need not be initialised. The drop-in library's settings are left alone
// where their values are not accepted: they are no business of programs without it, and no reason to do without it.
[[nodiscard]] Settings load_settings(std::span<const SettingText> call_settings = {});
[[nodiscard]] std::vector<EffectiveSetting> effective_settings(std::span<const SettingText> call_settings = {});

// One line for each value of the drop-in library's settings that is not accepted. Throws what load_settings() does.
[[nodiscard]] std::vector<std::string> refused_drop_in_settings();

// One line for each STOKER_* environment variable that is no setting: worth a warning, since it may be a typing error
// or belong to a newer version.
[[nodiscard]] std::vector<std::string> environment_warnings();

} // namespace stoker::engine
