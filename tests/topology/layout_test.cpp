// SPDX-License-Identifier: BSD-3-Clause
#include "topology/layout.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace stoker::topology {
namespace {

std::vector<int> list(std::span<const int> ranks) { return {ranks.begin(), ranks.end()}; }

TEST(Layout, RaggedNodesInAnyOrder) {
  // Node 7 holds ranks 0, 2, 5; node 3 holds 1, 4; node 9 holds 3. Equal domain labels on different nodes differ.
  const Layout layout({{7, 1}, {3, 1}, {7, 0}, {9, 1}, {3, 1}, {7, 1}});
  EXPECT_EQ(layout.ranks(), 6);
  EXPECT_EQ(layout.nodes(), 3);
  EXPECT_EQ(list(layout.node_ranks(0)), (std::vector{0, 2, 5}));
  EXPECT_EQ(list(layout.node_ranks(1)), (std::vector{1, 4}));
  EXPECT_EQ(list(layout.node_ranks(2)), (std::vector{3}));
  EXPECT_EQ(layout.domains(), 4);
  EXPECT_EQ(list(layout.domain_ranks(0)), (std::vector{0, 5}));
  EXPECT_EQ(list(layout.domain_ranks(1)), (std::vector{1, 4}));
  EXPECT_EQ(list(layout.domain_ranks(2)), (std::vector{2}));
  EXPECT_EQ(list(layout.domain_ranks(3)), (std::vector{3}));
  EXPECT_EQ(layout.node_leader(1), 1);
  EXPECT_EQ(layout.local_index(5), 2);
  EXPECT_TRUE(layout.same_node(0, 2));
  EXPECT_FALSE(layout.same_domain(0, 2));
}

TEST(Layout, UniformHasAShortLastNode) {
  const Layout layout = Layout::uniform(7, 3, 2);
  EXPECT_EQ(layout.nodes(), 3);
  EXPECT_EQ(list(layout.node_ranks(2)), (std::vector{6}));
  EXPECT_EQ(list(layout.domain_ranks(0)), (std::vector{0, 1}));
  EXPECT_EQ(list(layout.domain_ranks(1)), (std::vector{2}));
  EXPECT_EQ(layout.domains(), 5);
}

TEST(Layout, ASubsetIsNumberedAfresh) {
  const Layout layout = Layout::uniform(6, 2);
  const std::vector<int> members{5, 1, 0};
  const Layout part = layout.restricted_to(members);
  EXPECT_EQ(part, Layout({{0, 0}, {1, 1}, {1, 1}}));
}

TEST(Layout, TablesInOnePieceServeAnotherLayout) {
  for (const Layout& layout : {Layout({{7, 1}, {3, 1}, {7, 0}, {9, 1}, {3, 1}, {7, 1}}), Layout::uniform(7, 3, 2)}) {
    const auto tables = layout.tables();
    const auto bytes = std::make_shared<std::vector<std::byte>>(tables.begin(), tables.end());
    const Layout other = Layout::over({bytes, bytes->data()});
    EXPECT_NE(other.tables().data(), tables.data());
    EXPECT_EQ(other, layout);
    EXPECT_EQ(other.nodes(), layout.nodes());
    EXPECT_EQ(other.domains(), layout.domains());
    for (int n = 0; n < layout.nodes(); ++n) {
      EXPECT_EQ(list(other.node_ranks(n)), list(layout.node_ranks(n)));
    }
    for (int d = 0; d < layout.domains(); ++d) {
      EXPECT_EQ(list(other.domain_ranks(d)), list(layout.domain_ranks(d)));
    }
    for (int r = 0; r < layout.ranks(); ++r) {
      EXPECT_EQ(other.local_index(r), layout.local_index(r));
    }
  }
}

TEST(Layout, RefusesWhatIsNoLayout) {
  EXPECT_THROW(Layout({}), std::invalid_argument);
  EXPECT_THROW(Layout::uniform(0, 1), std::invalid_argument);
  EXPECT_THROW(Layout::uniform(4, 0), std::invalid_argument);
  EXPECT_THROW((void)Layout::uniform(4, 2).node_of(4), std::out_of_range);
  EXPECT_THROW((void)Layout::uniform(4, 2).node_of(-1), std::out_of_range);
}

} // namespace
} // namespace stoker::topology
