// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a node form a domain, from their bindings on described machines.
#include "topology/node.hpp"

#include "tests/topology/described_machines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stoker::topology {
namespace {

// Ranks first, first + 1, ... with these bindings; "" is an unbound one.
std::vector<NodeRank> ranks_bound_to(const Machine& machine, const std::vector<std::string>& bindings, int first = 0) {
  std::vector<NodeRank> ranks;
  for (const std::string& list : bindings) {
    const bool bound = !list.empty();
    ranks.push_back({first + static_cast<int>(ranks.size()), bound ? CpuSet::parse(list) : machine.allowed_cpus(),
                     bound, machine.allowed_cpus()});
  }
  return ranks;
}

// "0:0,1 1:2": NUMA domain 0 has ranks 0 and 1, domain 1 has rank 2.
std::string text(const std::vector<NodeDomain>& domains) {
  std::string result;
  for (const NodeDomain& domain : domains) {
    result += (result.empty() ? "" : " ") + std::to_string(domain.numa.value) + ":";
    for (std::size_t i = 0; i < domain.ranks.size(); ++i) {
      result += (i == 0 ? "" : ",") + std::to_string(domain.ranks[i]);
    }
  }
  return result;
}

std::string domains_of(const std::string& machine_description, const std::vector<std::string>& bindings,
                       DomainKind kind = DomainKind::numa, int threads = 1) {
  const Machine machine(machine_description);
  return text(assign_domains(machine, ranks_bound_to(machine, bindings), kind, threads));
}

TEST(AssignDomains, BoundRanksBelongWhereTheyAreBound) {
  EXPECT_EQ(domains_of(two_by_four, {"0", "4", "1", "5"}), "0:0,2 1:1,3");
  EXPECT_EQ(domains_of(two_by_four, {"4-7", "0-3"}), "1:0 0:1"); // in the order of their lowest ranks
  EXPECT_EQ(domains_of(two_by_four, {"5", "6", "7"}), "1:0,1,2");
}

TEST(AssignDomains, UnboundRanksAreSpreadInConsecutiveRuns) {
  EXPECT_EQ(domains_of("core:4 pu:1", {"", "", ""}), "0:0,1,2");
  EXPECT_EQ(domains_of(two_by_four, {""}), "0:0");
  EXPECT_EQ(domains_of(two_by_four, {"", ""}), "0:0 1:1");
  EXPECT_EQ(domains_of(two_by_four, {"", "", "", "", ""}), "0:0,1,2 1:3,4");
  EXPECT_EQ(domains_of(four_numa_smt, {"", ""}), "0:0 2:1"); // one per package
  EXPECT_EQ(domains_of(four_numa_smt, {"", "", "", "", "", "", ""}), "0:0,1 1:2,3 2:4,5 3:6");
}

TEST(AssignDomains, RanksBoundAcrossDomainsAreSpreadOverThese) {
  EXPECT_EQ(domains_of(four_numa_smt, {"0-15", "16-31", "0-15", "16-31"}), "0:0 2:1 1:2 3:3");
  EXPECT_EQ(domains_of(four_numa_smt, {"7-8", "7-8", "0"}), "0:0,2 1:1");
}

TEST(AssignDomains, BoundAndUnboundRanksMix) { EXPECT_EQ(domains_of(two_by_four, {"4", "", "", "5"}), "1:0,2,3 0:1"); }

TEST(AssignDomains, ThreadsCutDomainsIntoRuns) {
  EXPECT_EQ(domains_of("core:8 pu:1", {"", "", "", "", ""}, DomainKind::numa, 2), "0:0,1 0:2,3,4");
  EXPECT_EQ(domains_of("core:8 pu:1", {"", ""}, DomainKind::numa, 4), "0:0 0:1"); // never more than ranks
  EXPECT_EQ(domains_of(two_by_four, {"0", "4", "1", "5", "2"}, DomainKind::numa, 2), "0:0 1:1 0:2,4 1:3");
}

TEST(AssignDomains, TheWholeNodeAsOneDomain) {
  EXPECT_EQ(domains_of(two_by_four, {"4", "0", "1"}, DomainKind::node), "1:0,1,2");
  EXPECT_EQ(domains_of(two_by_four, {"", "", "", ""}, DomainKind::node, 2), "0:0,1 0:2,3");
}

TEST(AssignDomains, RanksKeepTheirNumbersInTheCommunicator) {
  const Machine machine(two_by_four);
  std::vector<NodeRank> ranks = ranks_bound_to(machine, {"4", "0", "5"});
  ranks[0].rank = 3;
  ranks[1].rank = 10;
  ranks[2].rank = 11;
  EXPECT_EQ(text(assign_domains(machine, ranks, DomainKind::numa, 1)), "1:3,11 0:10");
}

TEST(AssignDomains, Refusals) {
  EXPECT_THROW(domains_of(two_by_four, {""}, DomainKind::numa, 0), TopologyError);
  try {
    domains_of(two_by_four, {"0", "99"});
    FAIL();
  } catch (const TopologyError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 runs on CPUs 99, none of which this machine has"),
              std::string::npos);
  }
}

} // namespace
} // namespace stoker::topology
