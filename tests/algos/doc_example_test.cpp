// SPDX-License-Identifier: BSD-3-Clause
// The example of docs/add-an-algorithm.md: it compiles, it works, and the page shows this very code.
#include "cases.hpp"

#include "algos/schedule/builder.hpp"
#include "algos/schedule/print.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <utility>

namespace stoker::algos {

// [example]
// Ring all-to-all: every rank sends to its right neighbour only, and blocks travel on until they are where they belong.
// Each has one partner to send to and one to receive from; the price is that a block crosses half the ring on average.
Program compile_ring(const Exchange& exchange, const Tuning&) {
  const int ranks = exchange.layout.ranks();
  const int rank = exchange.rank;
  const int right = (rank + 1) % ranks;
  const int left = (rank + ranks - 1) % ranks;
  const std::uint64_t bytes = exchange.sizes(rank, rank); // one size for all: alltoall only
  Builder builder(rank, ranks, exchange.send_bytes(), exchange.recv_bytes());
  if (bytes == 0) {
    return std::move(builder).finish();
  }

  // What goes to the right next, the block with the shortest way first, and the step that it waits for.
  std::vector<Slice> bundle;
  for (int distance = 1; distance < ranks; ++distance) {
    bundle.push_back(exchange.outgoing((rank + distance) % ranks));
  }
  std::vector<StepId> ready;
  if (exchange.in_place) { // recvbuf will be written: set everything aside
    const std::uint64_t all = bundle.size() * bytes;
    const Slice aside{Buffer::scratch, builder.scratch(all), all};
    ready = {builder.copy({&aside, 1}, bundle)};
    bundle = {aside};
  }
  const std::vector<StepId> recvbuf_free = ready;

  for (int step = 1; step < ranks; ++step) {
    builder.send(right, bundle, ready);
    // The first block that arrives is ours, the others go on.
    const std::uint64_t others = static_cast<std::uint64_t>(ranks - 1 - step) * bytes;
    const Slice transit{Buffer::scratch, builder.scratch(others), others};
    const int source = (rank + ranks - step) % ranks;
    ready = {builder.recv(left, std::vector{exchange.incoming(source), transit}, recvbuf_free)};
    bundle = {transit};
  }
  if (!exchange.in_place) {
    builder.copy(exchange.incoming(rank), exchange.outgoing(rank));
  }
  return std::move(builder).finish();
}
// [example]

} // namespace stoker::algos

namespace stoker::tests {
namespace {

using namespace stoker::algos;

std::string content(const std::string& path) {
  std::ifstream file(std::string(STOKER_SOURCE_ROOT) + "/" + path);
  EXPECT_TRUE(file) << "cannot read " << path;
  return (std::stringstream() << file.rdbuf()).str();
}

// The text between the first `open` and the next `close`.
std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t begin = text.find(open);
  const std::size_t end = begin == std::string::npos ? begin : text.find(close, begin + open.size());
  return end == std::string::npos ? "" : text.substr(begin + open.size(), end - begin - open.size());
}

TEST(DocExample, Works) {
  const Algorithm ring{Collective::alltoall,  "ring", Knowledge::own, "each block from neighbour to neighbour",
                       "a textbook exercise", {},     compile_ring};
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const auto& [name, layout] : layouts_of(ranks)) {
      for (const bool in_place : {false, true}) {
        for (const std::uint64_t bytes : {0, 1, 13}) {
          const auto exchange = WholeExchange::uniform(layout, bytes, in_place);
          EXPECT_EQ(verify(exchange.compile({&ring, {}}), exchange.contents()), "") << ranks << " ranks, " << name;
        }
      }
    }
  }
}

TEST(DocExample, IsWhatThePageShows) {
  const std::string code = between(content("tests/algos/doc_example_test.cpp"), "// [example]\n", "// [example]\n");
  const std::string page = content("docs/add-an-algorithm.md");
  ASSERT_NE(code, "");
  EXPECT_EQ(between(page, "```cpp\n// Ring all-to-all", "```"), code.substr(std::string("// Ring all-to-all").size()));
}

// The page prints the program of one rank.
TEST(DocExample, PrintsWhatThePageShows) {
  const Algorithm ring{Collective::alltoall, "ring", Knowledge::own, "", "", {}, compile_ring};
  const auto exchange = WholeExchange::uniform(topology::Layout::uniform(4, 2), 8);
  const std::string page = content("docs/add-an-algorithm.md");
  EXPECT_EQ("rank 1 of 4" + between(page, "```\nrank 1 of 4", "```"), to_text(exchange.compile({&ring, {}})[1]));
}

} // namespace
} // namespace stoker::tests
