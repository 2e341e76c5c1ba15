// SPDX-License-Identifier: BSD-3-Clause
// The finding of one check of `stoker doctor`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::cli {

enum class Verdict { ok, slow, fails };

constexpr std::string_view name_of(Verdict verdict) {
  switch (verdict) {
  case Verdict::ok:
    return "ok";
  case Verdict::slow:
    return "slow";
  case Verdict::fails:
    return "fails";
  }
  return "";
}

struct Finding {
  std::string check; // the same wording wherever it is run
  Verdict verdict = Verdict::ok;
  std::string found;  // what was seen or measured
  std::string remedy; // empty when there is nothing to do
};

using Findings = std::vector<Finding>;

} // namespace stoker::cli
