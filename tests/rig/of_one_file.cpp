// SPDX-License-Identifier: BSD-3-Clause
#include "tests/rig/of_one_file.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fnmatch.h>
#include <sstream>
#include <string>

namespace rig {
namespace {

// `patterns`: with a ':' between them.
bool matches(const std::string& name, const std::string& patterns) {
  std::istringstream all(patterns);
  for (std::string pattern; std::getline(all, pattern, ':');) {
    if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) {
      return true;
    }
  }
  return false;
}

// As GoogleTest's filters: "POSITIVE[-NEGATIVE]", or "-NEGATIVE".
bool taken(const std::string& name, const std::string& filter) {
  const auto minus = filter.find('-');
  const std::string positive = filter.substr(0, minus);
  return matches(name, positive.empty() ? "*" : positive) &&
         (minus == std::string::npos || !matches(name, filter.substr(minus + 1)));
}

} // namespace

bool only_tests_of_one_file(int argc, char** argv) {
  if (argc < 2) {
    return true;
  }
  const std::string file = argv[1];
  const std::string filter = GTEST_FLAG_GET(filter);
  std::string chosen;
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    std::string names;
    int count = 0;
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      const std::string name = std::string(suite.name()) + '.' + test.name();
      if (std::filesystem::path(test.file()).filename() == file && taken(name, filter)) {
        names += name + ':';
        ++count;
      }
    }
    // GoogleTest prints the filter.
    chosen += count == suite.total_test_count() ? std::string(suite.name()) + ".*:" : names;
  }
  if (chosen.empty()) {
    std::fprintf(stderr, "no test of this program is written in %s and taken by the filter %s\n", file.c_str(),
                 filter.c_str());
    return false;
  }
  GTEST_FLAG_SET(filter, chosen);
  return true;
}

} // namespace rig
