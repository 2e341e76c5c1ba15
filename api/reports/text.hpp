// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "api/reports/advice.hpp"
#include "api/reports/summary.hpp"

#include <string>

namespace stoker::reports {

// For people.
[[nodiscard]] std::string text_of(const Summary& summary);
[[nodiscard]] std::string text_of(const Advice& advice);

// A name in one line, as tables need it.
[[nodiscard]] std::string one_line(std::string name);

} // namespace stoker::reports
