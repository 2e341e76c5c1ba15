// SPDX-License-Identifier: BSD-3-Clause
// discover() on any number of ranks of one host: the real node, forced nodes, described machines, errors met by one
// rank. Every rank runs every test; what differs between ranks fails on the rank that differs.
#include "topology/discover.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace stoker::topology {
namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

std::vector<int> labels_of(const Layout& layout) {
  std::vector<int> labels;
  for (int r = 0; r < layout.ranks(); ++r) {
    labels.insert(labels.end(), {layout.node_of(r), layout.domain_of(r)});
  }
  return labels;
}

void expect_equal_everywhere(MPI_Comm comm, const Layout& layout) {
  const std::vector<int> mine = labels_of(layout);
  std::vector<int> first = mine;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_INT, 0, comm);
  EXPECT_EQ(mine, first);
}

void expect_consistent(MPI_Comm comm, const Machine& machine, const Discovery& found) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  expect_equal_everywhere(comm, found.layout);
  std::vector<int> members;
  for (const NodeRank& member : found.node_ranks) {
    members.push_back(member.rank);
    EXPECT_FALSE(member.binding.empty());
    EXPECT_TRUE(member.allowed.contains(member.binding));
    EXPECT_EQ(member.bound, member.binding != member.allowed);
  }
  const auto node = found.layout.node_ranks(found.layout.node_of(rank));
  EXPECT_EQ(members, std::vector<int>(node.begin(), node.end()));

  const std::vector<NodeDomain> domains = found.node_domains();
  ASSERT_EQ(domains.size(), found.domain_numa.size());
  int previous = -1;
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const int number = found.layout.domain_of(domains[d].ranks.front());
    EXPECT_GT(number, previous);
    previous = number;
    const auto ranks = found.layout.domain_ranks(number);
    EXPECT_EQ(domains[d].ranks, std::vector<int>(ranks.begin(), ranks.end()));
    EXPECT_EQ(domains[d].numa.value, found.domain_numa[d]);
    EXPECT_LT(domains[d].numa.value, static_cast<int>(machine.numa_domains().size()));
  }
}

TEST(Discover, RanksOfThisHostAreOneNode) {
  const Machine machine;
  const Discovery found = discover(MPI_COMM_WORLD, machine, {});
  expect_consistent(MPI_COMM_WORLD, machine, found);
  EXPECT_EQ(found.layout.nodes(), 1);
  EXPECT_LE(found.layout.domains(), static_cast<int>(machine.numa_domains().size()));
}

TEST(Discover, ForcedNodes) {
  const Machine machine("core:4 pu:1");
  for (const int per_node : {1, 2, 3, world_size()}) {
    const Discovery found = discover(MPI_COMM_WORLD, machine, {.ranks_per_node = per_node});
    expect_consistent(MPI_COMM_WORLD, machine, found);
    EXPECT_EQ(found.layout, Layout::uniform(world_size(), per_node));
  }
}

TEST(Discover, UnboundRanksAreSpreadOverADescribedMachine) {
  const Machine machine("package:2 numa:2 core:4 pu:2");
  const int size = world_size();
  const Discovery found = discover(MPI_COMM_WORLD, machine, {});
  expect_consistent(MPI_COMM_WORLD, machine, found);
  EXPECT_EQ(found.layout.domains(), std::min(size, 4));
  const std::vector<NodeDomain> domains = found.node_domains();
  const auto [least, most] = std::minmax_element(
      domains.begin(), domains.end(), [](const auto& a, const auto& b) { return a.ranks.size() < b.ranks.size(); });
  EXPECT_LE(most->ranks.size() - least->ranks.size(), 1U);
  for (const NodeDomain& domain : domains) {
    EXPECT_EQ(domain.ranks.back() - domain.ranks.front(), static_cast<int>(domain.ranks.size()) - 1); // a run
  }
}

TEST(Discover, DomainsOfForcedNodesAndThreads) {
  const Machine machine("package:2 [numa] core:4 pu:1");
  const int size = world_size();
  const Discovery found = discover(MPI_COMM_WORLD, machine, {.ranks_per_node = 3, .threads_per_domain = 2});
  expect_consistent(MPI_COMM_WORLD, machine, found);
  // Three ranks: two in the first NUMA domain, one in the second; every domain is cut in two where it has two ranks.
  for (int r = 0; r < size; ++r) {
    EXPECT_EQ(found.layout.domain_of(r), r);
  }
  const Discovery whole =
      discover(MPI_COMM_WORLD, machine, {.ranks_per_node = 3, .domains = DomainKind::node, .threads_per_domain = 2});
  expect_consistent(MPI_COMM_WORLD, machine, whole);
  EXPECT_EQ(whole.layout.domains(), size / 3 * 2 + std::min(size % 3, 2));
}

TEST(Discover, AnyCommunicator) {
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &reversed);
  const Machine machine("package:2 [numa] core:4 pu:1");
  const Discovery found = discover(reversed, machine, {.ranks_per_node = 2});
  expect_consistent(reversed, machine, found);
  EXPECT_EQ(found.layout, Layout::uniform(world_size(), 2, 2));
  MPI_Comm_free(&reversed);

  const Discovery alone = discover(MPI_COMM_SELF, Machine(), {});
  EXPECT_EQ(alone.layout, Layout({{0, 0}}));
  EXPECT_EQ(alone.node_ranks.size(), 1U);
}

TEST(Discover, AnErrorOnOneRankIsAnErrorOnAll) {
  const int last = world_size() - 1;
  const bool faulty = world_rank() == last;
  const std::string who = "rank " + std::to_string(last) + ": ";
  const auto message = [](const DiscoverOptions& options) -> std::string {
    try {
      (void)discover(MPI_COMM_WORLD, Machine(), options);
      return "no error";
    } catch (const TopologyError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message({.ranks_per_node = faulty ? -1 : 0}),
            who + "ranks_per_node is -1, expected 0 (real nodes) or more");
  EXPECT_EQ(message({.threads_per_domain = faulty ? 0 : 1}), who + "threads_per_domain is 0, expected at least 1");
  EXPECT_EQ(message({}), "no error"); // and the communicator is still in order
}

} // namespace
} // namespace stoker::topology

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
