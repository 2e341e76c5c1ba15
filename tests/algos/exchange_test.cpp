// SPDX-License-Identifier: BSD-3-Clause
// Block sizes as one rank knows them, and where its blocks are.
#include "algos/collectives/exchange.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

TEST(BlockSizes, UniformIsTheSameForAllPairs) {
  const BlockSizes sizes = BlockSizes::uniform(3, 8);
  EXPECT_EQ(sizes(0, 2), 8U);
  EXPECT_EQ(sizes(1, 1), 8U);
  EXPECT_EQ(sizes.ranks(), 3);
}

TEST(BlockSizes, APairIsKnownFromItsRowOrItsColumn) {
  BlockSizes sizes = BlockSizes::table(3);
  sizes.set_row(1, {10, 11, 12});
  sizes.set_column(2, {2, 12, 22});
  EXPECT_EQ(sizes(1, 0), 10U);
  EXPECT_EQ(sizes(1, 2), 12U);
  EXPECT_EQ(sizes(0, 2), 2U);
  EXPECT_THROW((void)sizes(0, 1), std::logic_error);
  EXPECT_THROW((void)sizes(2, 0), std::logic_error);
}

TEST(BlockSizes, RefusesListsOfTheWrongShape) {
  BlockSizes sizes = BlockSizes::table(3);
  EXPECT_THROW(sizes.set_row(0, {1, 2}), std::invalid_argument);
  EXPECT_THROW(sizes.set_column(3, {1, 2, 3}), std::invalid_argument);
  EXPECT_THROW(sizes.set_row(-1, {1, 2, 3}), std::invalid_argument);
}

TEST(Exchange, BlocksLieAtTheirOffsets) {
  const Layout layout = Layout::uniform(3, 3);
  BlockSizes sizes = BlockSizes::table(3);
  sizes.set_row(1, {4, 5, 0});
  sizes.set_column(1, {7, 5, 0});
  // An empty block may have any offset.
  const Exchange exchange{layout, 1, sizes, {100, 0, 9999}, {30, 10, 9999}};
  EXPECT_EQ(exchange.outgoing(0), (Slice{Buffer::send, 100, 4}));
  EXPECT_EQ(exchange.incoming(0), (Slice{Buffer::recv, 30, 7}));
  EXPECT_EQ(exchange.send_bytes(), 104U);
  EXPECT_EQ(exchange.recv_bytes(), 37U);
}

TEST(Exchange, InPlaceBlocksLeaveFromRecvbuf) {
  const Layout layout = Layout::uniform(2, 2);
  const BlockSizes sizes = BlockSizes::uniform(2, 8);
  const Exchange exchange{layout, 0, sizes, {}, {16, 32}, true};
  EXPECT_EQ(exchange.outgoing(1), (Slice{Buffer::recv, 32, 8}));
  EXPECT_EQ(exchange.send_bytes(), 0U);
  EXPECT_EQ(exchange.recv_bytes(), 40U);
}

} // namespace
} // namespace stoker::tests
