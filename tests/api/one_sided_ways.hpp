// SPDX-License-Identifier: BSD-3-Clause
// In which ways requests with one-sided algorithms are run, and what these say of their puts.
#pragma once

#include "tests/api/support.hpp"

#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <string>
#include <tuple>

namespace api_tests {

using OneSidedWay = std::tuple<std::string, std::string, std::string>; // ranks_per_node, executor, rma

inline auto one_sided_ways() {
  return ::testing::Combine(::testing::Values("0", "1", "2"), ::testing::Values("engine", "inline"),
                            ::testing::Values("auto", "messages", "window"));
}

inline std::string name_of_way(const ::testing::TestParamInfo<OneSidedWay>& test) {
  const auto& [ranks_per_node, executor, rma] = test.param;
  return (ranks_per_node == "0" ? "one_node" : ranks_per_node + "_per_node") + "_" + executor + "_" + rma;
}

// stoker_statistics.puts
inline std::string puts_of(stoker_request request) {
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_request_statistics(request, &statistics)));
  return statistics.puts;
}

} // namespace api_tests
