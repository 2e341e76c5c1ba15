// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "api/reports/summary.hpp"

#include <string>

namespace stoker::reports {

// The summary for people.
[[nodiscard]] std::string text_of(const Summary& summary);

} // namespace stoker::reports
