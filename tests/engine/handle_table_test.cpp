// SPDX-License-Identifier: BSD-3-Clause
// The drop-in library's table of handles, against a map.
#include "api/pmpi/handle_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

namespace stoker::pmpi {
namespace {

TEST(HandleTable, HoldsWhatAMapHolds) {
  std::mt19937 random(12345);
  for (const int handles : {3, 40, 5000}) {
    HandleTable<int, int> table;
    std::map<int, int> map;
    for (int i = 0; i < 60'000; ++i) {
      const int handle = 0x2c000000 + (8 * static_cast<int>(random() % static_cast<unsigned>(handles)));
      if (random() % 2 == 0) {
        EXPECT_EQ(table.insert(handle, i), map.insert_or_assign(handle, i).second);
      } else {
        const auto known = map.find(handle);
        const std::optional<int> expected = known == map.end() ? std::nullopt : std::optional(known->second);
        const int* const found = table.find(handle);
        EXPECT_EQ(found == nullptr ? std::nullopt : std::optional(*found), expected);
        EXPECT_EQ(table.take(handle), expected);
        map.erase(handle);
      }
      ASSERT_EQ(table.size(), map.size());
    }
    const std::size_t odd = table.take_if([](int value) { return value % 2 == 1; });
    EXPECT_EQ(odd, std::erase_if(map, [](const auto& each) { return each.second % 2 == 1; }));
    for (const auto& [handle, value] : map) {
      EXPECT_EQ(table.take(handle), value);
    }
    EXPECT_EQ(table.size(), 0U);
  }
}

TEST(HandleTable, PointersAreHandles) {
  HandleTable<const int*, int> table;
  const int values[2] = {};
  table.insert(&values[0], 7);
  EXPECT_EQ(table.take(&values[1]), std::nullopt);
  EXPECT_EQ(table.take(&values[0]), 7);
  EXPECT_EQ(table.take(&values[0]), std::nullopt);
}

} // namespace
} // namespace stoker::pmpi
