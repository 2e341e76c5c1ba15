// SPDX-License-Identifier: BSD-3-Clause
// The finding of one check of `stoker doctor`.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::cli {

enum class Verdict { ok, slow, fails };

inline constexpr std::array<std::string_view, 3> verdict_names{"ok", "slow", "fails"};
constexpr std::string_view name_of(Verdict verdict) { return verdict_names[static_cast<std::size_t>(verdict)]; }

struct Finding {
  std::string check; // the same wording wherever it is run
  Verdict verdict = Verdict::ok;
  std::string found;  // what was seen or measured
  std::string remedy; // empty when there is nothing to do
};

using Findings = std::vector<Finding>;

} // namespace stoker::cli
