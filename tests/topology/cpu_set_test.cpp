// SPDX-License-Identifier: BSD-3-Clause
#include "topology/cpu_set.hpp"

#include <gtest/gtest.h>

namespace stoker::topology {
namespace {

TEST(CpuSet, PrintsWhatItReadsInTheKernelsFormat) {
  for (const char* list : {"", "0", "0-3", "0-3,8", "2,4,6", "0,64-127,4095"}) {
    EXPECT_EQ(CpuSet::parse(list).to_string(), list);
  }
  EXPECT_EQ(CpuSet::parse("3,1,2").to_string(), "1-3");
  EXPECT_EQ(CpuSet::parse("5-5").to_string(), "5");
}

TEST(CpuSet, RefusesWhatIsNoList) {
  for (const char* text : {",", "1,", ",1", "1,,2", "1-", "-1", "3-1", "a", "1 2", "1, 2", "0x3", "1;2", "70000",
                           "99999999999999999999", "1-99999999999", "all"}) {
    EXPECT_THROW((void)CpuSet::parse(text), TopologyError) << text;
  }
  try {
    (void)CpuSet::parse("3-1");
    FAIL();
  } catch (const TopologyError& error) {
    EXPECT_STREQ(error.what(), "'3-1' is not a list of CPUs: the range 3-1 runs backwards");
  }
}

TEST(CpuSet, BehavesAsAValue) {
  CpuSet a = CpuSet::parse("0-3");
  const CpuSet b = a;
  a |= CpuSet(OsIndex{9});
  EXPECT_EQ(a.to_string(), "0-3,9");
  EXPECT_EQ(b.to_string(), "0-3");
  a = b;
  EXPECT_EQ(a, b);
  CpuSet& itself = a;
  a = itself;
  EXPECT_EQ(a, b);
  std::vector<CpuSet> many(100, a);
  many.erase(many.begin());
  EXPECT_EQ(many.front(), b);
}

TEST(CpuSet, SetOperations) {
  const CpuSet a = CpuSet::parse("0-3");
  const CpuSet b = CpuSet::parse("2-5");
  EXPECT_EQ((a | b).to_string(), "0-5");
  EXPECT_EQ((a & b).to_string(), "2-3");
  EXPECT_EQ((a - b).to_string(), "0-1");
  EXPECT_TRUE(a.intersects(b));
  EXPECT_FALSE(a.intersects(CpuSet::parse("7")));
  EXPECT_FALSE(a.intersects(CpuSet()));
  EXPECT_TRUE(a.contains(CpuSet::parse("1,3")));
  EXPECT_FALSE(a.contains(b));
  EXPECT_TRUE(a.contains(OsIndex{3}));
  EXPECT_FALSE(a.contains(OsIndex{4}));
  EXPECT_FALSE(a.contains(OsIndex{-1}));
  EXPECT_EQ(a.size(), 4);
  EXPECT_EQ(b.first(), OsIndex{2});
  EXPECT_EQ((a & b).members(), (std::vector{OsIndex{2}, OsIndex{3}}));
  EXPECT_TRUE(CpuSet().empty());
  EXPECT_EQ(CpuSet().size(), 0);
  EXPECT_FALSE(a.empty());
  EXPECT_NE(a, b);
}

} // namespace
} // namespace stoker::topology
