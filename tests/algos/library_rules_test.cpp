// SPDX-License-Identifier: BSD-3-Clause
// The decision rules of MPICH and Open MPI: on both sides of their thresholds, and that every choice can be carried
// out.
#include "algos/libraries/library_rules.hpp"
#include "algos/verify/whole_distributed_vector.hpp"
#include "algos/verify/whole_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

struct Expected {
  Library library;
  Collective collective;
  int ranks;
  int ranks_per_node;
  std::uint64_t bytes;
  std::string_view algorithm;
  std::string_view choice;
  std::uint64_t element_bytes = 1;
  bool commutative = true;
};

void expect(const std::vector<Expected>& table) {
  for (const Expected& row : table) {
    const LibraryChoice found = library_choice(row.library, Layout::uniform(row.ranks, row.ranks_per_node),
                                               {row.collective, row.bytes, row.element_bytes, row.commutative});
    const std::string what = std::string(name_of(row.library)) + " " + std::string(name_of(row.collective)) + ", " +
                             std::to_string(row.ranks) + " ranks, " + std::to_string(row.bytes) + " B";
    EXPECT_EQ(found.algorithm, row.algorithm) << what;
    EXPECT_EQ(to_text(found.choice), row.choice) << what;
  }
}

constexpr auto mpich = Library::mpich;
constexpr auto openmpi = Library::openmpi;
using enum Collective;

TEST(LibraryRules, MpichsAllToAlls) {
  expect({{mpich, alltoall, 7, 7, 256, "scattered", "nonblocking"},
          {mpich, alltoall, 8, 8, 256, "brucks", "bruck"},
          {mpich, alltoall, 8, 8, 257, "scattered", "nonblocking"},
          {mpich, alltoall, 32, 8, 32768, "scattered", "nonblocking"},
          {mpich, alltoall, 33, 8, 32768, "scattered", "batched:batch=32"},
          {mpich, alltoall, 33, 8, 32769, "pairwise", "pairwise"},
          {mpich, alltoall, 7, 7, 32769, "pairwise", "pairwise"},
          {mpich, alltoall, 3584, 112, 256, "brucks", "bruck"},
          {mpich, alltoall, 3584, 112, 1024, "scattered", "batched:batch=32"},
          {mpich, alltoallv, 448, 112, 1 << 20, "scattered", "batched:batch=32"}});
}

// 8 elements are enough for a power of two of 8 to 15 ranks or nodes.
TEST(LibraryRules, MpichsReductionsOfAllRanks) {
  const std::string_view doubling = "recursive_doubling";
  const std::string_view rabenseifner = "reduce_scatter_allgather";
  expect({{mpich, allreduce, 13, 1, 8, doubling, "building-blocks:factors=2 2 2,part=1"},
          {mpich, allreduce, 13, 1, 9, rabenseifner, "building-blocks:factors=-2 -2 -2 2 2 2,part=1"},
          {mpich, allreduce, 13, 1, 56, doubling, "building-blocks:factors=2 2 2,part=1", 8},
          {mpich, allreduce, 13, 1, 64, rabenseifner, "building-blocks:factors=-2 -2 -2 2 2 2,part=1", 8},
          {mpich, allreduce, 13, 1, 64, doubling, "building-blocks:factors=2 2 2,part=1", 8, false},
          {mpich, allreduce, 16, 4, 64, doubling, "building-blocks:factors=2 2 2 2,part=1", 8, false},
          {mpich, reduce, 8, 1, 2048, "binomial", "tree:factors=-2 -2 -2"},
          {mpich, reduce, 8, 1, 2049, "reduce_scatter_gather", "recursive-exchange:factors=-2 -2 -2,part=1"},
          {mpich, reduce, 9, 1, 2049, "reduce_scatter_gather", "cyclic-shift:factors=-2 -2 -2 -2,part=1"},
          {mpich, reduce_scatter, 8, 1, 65535, "recursive_halving", "recursive-exchange:factors=-2 -2 -2"},
          {mpich, reduce_scatter_block, 8, 1, 65536, "pairwise", "recursive-exchange:factors=-8"},
          {mpich, reduce_scatter, 8, 1, 65536, "noncommutative", "recursive-exchange:factors=-2 -2 -2", 1, false}});
}

TEST(LibraryRules, MpichsStages) {
  expect(
      {{mpich, allreduce, 16, 16, 4096, "composition gamma: release_gather", "hierarchical:within=-4 -4 4 4,part=64"},
       {mpich, allreduce, 16, 4, 8, "composition alpha: recursive_doubling between nodes",
        "hierarchical:within=-4 4,between=2 2,part=1"},
       {mpich, allreduce, 16, 4, 9, "composition alpha: reduce_scatter_allgather between nodes",
        "hierarchical:within=-4 4,between=-2 -2 2 2,part=1"},
       {mpich, allreduce, 24, 4, 9, "composition alpha: reduce_scatter_allgather between nodes",
        "hierarchical:within=-4 4,between=-2 -2 2 2,part=1"}, // 6 nodes: a power of two of them
       {mpich, reduce, 16, 4, 2048, "composition beta: binomial between nodes", "hierarchical:within=-4,between=-2 -2"},
       {mpich, reduce, 16, 4, 2049, "composition alpha: reduce_scatter_gather between nodes",
        "hierarchical:within=-4,between=-2 -2"},
       {mpich, barrier, 16, 4, 0, "composition alpha: dissemination between nodes", "node-aware:between=2 2"},
       {mpich, barrier, 16, 1, 0, "dissemination", "cyclic-shift:factors=2 2 2 2"}});
}

TEST(LibraryRules, MpichsBroadcasts) {
  const std::string_view trees = "composition alpha: binomial between nodes";
  const std::string_view ring = "scatter_ring_allgather";
  const std::string_view doubling = "scatter_recursive_doubling_allgather";
  expect({{mpich, bcast, 7, 1, 1 << 20, "binomial", "tree:factors=2 2 2"},
          {mpich, bcast, 8, 1, 12288, "binomial", "tree:factors=2 2 2"},
          {mpich, bcast, 8, 1, 12289, doubling, "scatter-allgather:factors=-2 -2 -2 2 2 2,part=1"},
          {mpich, bcast, 8, 1, 524288, doubling, "scatter-allgather:factors=-2 -2 -2 2 2 2,part=1"},
          {mpich, bcast, 8, 1, 524289, ring, "scatter-ring:factors=2 2 2,part=1"},
          {mpich, bcast, 9, 1, 12289, ring, "scatter-ring:factors=2 2 2 2,part=1"},
          {mpich, bcast, 6, 3, 1 << 20, trees, "hierarchical:within=3,between=2,part=64"},
          {mpich, bcast, 12, 4, 12287, trees, "hierarchical:within=4,between=2 2,part=64"},
          {mpich, bcast, 12, 4, 12288, "binomial", "tree:factors=2 2 2 2"},
          {mpich, bcast, 12, 4, 12289, ring, "scatter-ring:factors=2 2 2 2,part=1"},
          {mpich, bcast, 32, 4, 12287, trees, "hierarchical:within=4,between=2 2 2,part=64"},
          {mpich, bcast, 32, 4, 12289, "composition beta: scatter and allgather between nodes",
           "hierarchical:within=4,between=-2 -2 -2 2 2 2,part=1"},
          {mpich, bcast, 32, 4, 524287, "composition beta: scatter and allgather between nodes",
           "hierarchical:within=4,between=-2 -2 -2 2 2 2,part=1"},
          {mpich, bcast, 16, 4, 524287, "composition beta: binomial between nodes",
           "hierarchical:within=4,between=2 2,part=64"},
          {mpich, bcast, 32, 4, 524288, doubling, "scatter-allgather:factors=-2 -2 -2 -2 -2 2 2 2 2 2,part=1"},
          {mpich, bcast, 32, 4, 524289, ring, "scatter-ring:factors=2 2 2 2 2,part=1"}});
}

TEST(LibraryRules, MpichsOthers) {
  expect({{mpich, allgather, 8, 4, 65535, "recursive_doubling", "recursive-exchange:factors=2 2 2"},
          {mpich, allgather, 8, 4, 65536, "ring", "ring"},
          {mpich, allgatherv, 10, 5, 8191, "brucks", "cyclic-shift:factors=2 2 2 2"},
          {mpich, allgatherv, 10, 5, 8192, "ring", "ring"},
          {mpich, gather, 5, 5, 9, "binomial", "tree:factors=-2 -2 -2"},
          {mpich, scatter, 5, 5, 9, "binomial", "tree:factors=2 2 2"},
          {mpich, gatherv, 5, 5, 9, "linear", "tree:factors=-5"},
          {mpich, scatterv, 5, 5, 9, "linear", "tree:factors=5"}});
}

TEST(LibraryRules, OpenMpisAllToAlls) {
  expect({{openmpi, alltoall, 2, 2, 1, "pairwise", "pairwise"},
          {openmpi, alltoall, 2, 2, 2, "two_proc", "nonblocking"},
          {openmpi, alltoall, 8, 8, 262143, "linear_sync", "nonblocking"},
          {openmpi, alltoall, 8, 8, 262144, "linear", "nonblocking"},
          {openmpi, alltoall, 31, 31, 3, "linear_sync", "nonblocking"},
          {openmpi, alltoall, 31, 31, 4, "modified_bruck", "bruck"},
          {openmpi, alltoall, 127, 127, 262143, "linear", "nonblocking"},
          {openmpi, alltoall, 127, 127, 262144, "pairwise", "pairwise"},
          {openmpi, alltoall, 448, 112, 1023, "modified_bruck", "bruck"},
          {openmpi, alltoall, 448, 112, 1024, "linear_sync", "nonblocking"},
          {openmpi, alltoall, 3584, 112, 1023, "modified_bruck", "bruck"},
          {openmpi, alltoall, 3584, 112, 1024, "linear_sync", "nonblocking"},
          {openmpi, alltoall, 4096, 112, 1024, "modified_bruck", "bruck"},
          {openmpi, alltoallv, 63, 9, 8, "linear", "nonblocking"},
          {openmpi, alltoallv, 64, 8, 8, "pairwise", "pairwise"},
          {openmpi, alltoallv, 1024, 8, 8, "linear", "nonblocking"}});
}

TEST(LibraryRules, OpenMpisReductions) {
  expect({{openmpi, allreduce, 8, 8, 8191, "recursive_doubling", "building-blocks:factors=2 2 2,part=1"},
          {openmpi, allreduce, 8, 8, 8192, "rabenseifner", "building-blocks:factors=-2 -2 -2 2 2 2,part=1"},
          {openmpi, allreduce, 3, 3, 262143, "segmented_ring", "ring:part=1"},
          {openmpi, allreduce, 3, 3, 262144, "rabenseifner", "building-blocks:factors=-2 2,part=1"},
          {openmpi, allreduce, 5, 5, 4, "ring", "building-blocks:factors=2 2,part=1"}, // fewer elements than ranks
          {openmpi, allreduce, 5, 5, 5, "ring", "ring:part=1"},
          {openmpi, allreduce, 448, 112, 4095, "nonoverlapping", "tree:factors=-2 -2 -2 -2 -2 -2 -2 -2 -2 4 4 4 4 4"},
          {openmpi, allreduce, 448, 112, 4096, "rabenseifner",
           "building-blocks:factors=-2 -2 -2 -2 -2 -2 -2 -2 2 2 2 2 2 2 2 2,part=1"},
          {openmpi, allreduce, 448, 112, 4096, "recursive_doubling", "building-blocks:factors=2 2 2 2 2 2 2 2,part=1",
           8, false},
          {openmpi, allreduce, 3, 3, 131072, "basic_linear", "tree:factors=-3 3", 8, false},
          {openmpi, reduce, 8, 8, 8191, "binary", "tree:factors=-2 -2 -2"},
          {openmpi, reduce, 8, 8, 8192, "binomial", "tree:factors=-2 -2 -2"},
          {openmpi, reduce, 7, 7, 4096, "chain", "chain:part=64,fixed=4096"},
          {openmpi, reduce, 2, 2, 7, "rabenseifner", "recursive-exchange:factors=-2,part=1"},
          {openmpi, reduce, 2, 2, 7, "rabenseifner, for few elements linear", "tree:factors=-2", 7},
          {openmpi, reduce, 7, 7, 4096, "linear", "tree:factors=-7", 8, false},
          {openmpi, reduce_scatter, 16, 4, 16383, "recursive_halving", "recursive-exchange:factors=-2 -2 -2 -2"},
          {openmpi, reduce_scatter, 16, 4, 16384, "ring", "ring"},
          {openmpi, reduce_scatter_block, 16, 4, 31, "basic_linear", "recursive-exchange:factors=-2 -2 -2 -2"},
          {openmpi, reduce_scatter_block, 13, 13, 32, "butterfly", "cyclic-shift:factors=-2 -2 -2 -2"},
          {openmpi, reduce_scatter_block, 13, 13, 31, "recursive_halving", "cyclic-shift:factors=-2 -2 -2 -2"}});
}

TEST(LibraryRules, OpenMpisOthers) {
  expect(
      {{openmpi, bcast, 8, 8, 7, "knomial", "tree:factors=4 4"},
       {openmpi, bcast, 8, 8, 8, "binary_tree", "tree:factors=2 2 2"},
       {openmpi, bcast, 8, 8, 32768, "basic_linear", "tree:factors=8"},
       {openmpi, bcast, 7, 7, 1048576, "chain", "chain:part=64,fixed=1048576"},
       {openmpi, bcast, 16, 16, 1048575, "binomial", "tree:factors=2 2 2 2"},
       {openmpi, bcast, 16, 16, 1048576, "scatter_allgather", "scatter-allgather:factors=-2 -2 -2 -2 2 2 2 2,part=1"},
       {openmpi, allgather, 31, 31, 1 << 20, "recursive_doubling, for other numbers of ranks bruck",
        "cyclic-shift:factors=2 2 2 2 2"},
       {openmpi, allgather, 32, 8, 1023, "recursive_doubling", "recursive-exchange:factors=2 2 2 2 2"},
       {openmpi, allgather, 32, 8, 1024, "neighbor", "neighbor-exchange"},
       {openmpi, allgather, 32, 8, 65536, "ring", "ring"},
       {openmpi, allgatherv, 8, 8, 1023, "default", "cyclic-shift:factors=2 2 2"},
       {openmpi, allgatherv, 8, 8, 1024, "bruck", "cyclic-shift:factors=2 2 2"},
       {openmpi, gather, 7, 7, 1023, "binomial", "tree:factors=-2 -2 -2"},
       {openmpi, gather, 7, 7, 1024, "basic_linear", "tree:factors=-7"},
       {openmpi, scatter, 64, 8, 511, "binomial", "tree:factors=2 2 2 2 2 2"},
       {openmpi, scatter, 64, 8, 512, "linear_nb", "tree:factors=64"},
       {openmpi, barrier, 63, 63, 0, "recursive_doubling", "cyclic-shift:factors=2 2 2 2 2 2"},
       {openmpi, barrier, 64, 8, 0, "bruck", "cyclic-shift:factors=2 2 2 2 2 2"},
       {openmpi, barrier, 256, 8, 0, "tree", "tree"}});
}

// A choice that sends other messages says so.
TEST(LibraryRules, DifferencesAreNamed) {
  const auto difference = [](Library library, Collective collective, int ranks, int per_node, std::uint64_t bytes) {
    return library_choice(library, Layout::uniform(ranks, per_node), {collective, bytes}).difference;
  };
  EXPECT_EQ(difference(mpich, alltoall, 448, 112, 64), "");
  EXPECT_EQ(difference(openmpi, alltoall, 448, 112, 64), "");
  EXPECT_EQ(difference(mpich, allreduce, 13, 1, 1 << 20), "");
  EXPECT_NE(difference(mpich, allreduce, 16, 4, 1 << 20), "");
  EXPECT_NE(difference(openmpi, allreduce, 13, 13, 1 << 20), "");
  EXPECT_EQ(difference(openmpi, allreduce, 16, 4, 1 << 20), "");
}

TEST(LibraryRules, RefusesWhatTheyDoNotKnow) {
  EXPECT_EQ(find_library("openmpi"), openmpi);
  EXPECT_EQ(find_library("mvapich"), std::nullopt);
  for (const Library library : {mpich, openmpi}) {
    for (const Collective collective : {scan, exscan, neighbor_alltoall, neighbor_alltoallv}) {
      EXPECT_THROW((void)library_choice(library, Layout::uniform(4, 2), {collective, 8}), std::invalid_argument);
    }
  }
  EXPECT_THROW((void)library_choice(mpich, Layout::uniform(4, 2), {allreduce, 8, 0}), std::invalid_argument);
}

// ---- every choice ----

std::vector<Layout> layouts(int ranks) {
  std::vector<Layout> result;
  for (const int per_node : {1, 4, 112, ranks}) {
    if (per_node <= ranks && (per_node != 1 || ranks > 1)) {
      result.push_back(Layout::uniform(ranks, per_node));
    }
  }
  return result;
}

// Both sides of every power of two, and of three of them, up to 4 MiB.
std::vector<std::uint64_t> sizes() {
  std::set<std::uint64_t> result{0};
  for (std::uint64_t bytes = 8; bytes <= std::uint64_t{4} << 20U; bytes *= 2) {
    result.insert({bytes - 8, bytes, bytes * 3 / 2});
  }
  return {result.begin(), result.end()};
}

constexpr std::array collectives = {
    alltoall, alltoallv, allgather,      allgatherv, allreduce, reduce,  bcast,
    gather,   gatherv,   reduce_scatter, scatter,    scatterv,  barrier, reduce_scatter_block};

template <class Visit>
void for_each_choice(const Layout& layout, Visit visit) {
  for (const Library library : {mpich, openmpi}) {
    for (const Collective collective : collectives) {
      for (const bool commutative : {true, false}) {
        std::set<std::string> seen;
        for (const std::uint64_t bytes : sizes()) {
          const LibraryCall call{collective, bytes, 8, commutative};
          const LibraryChoice found = library_choice(library, layout, call);
          EXPECT_FALSE(found.algorithm.empty());
          EXPECT_EQ(resolve(found.choice, layout), found.choice);
          if (seen.insert(to_text(found.choice)).second) {
            visit(found.choice, call);
          }
        }
      }
    }
  }
}

TEST(LibraryRules, EveryChoiceCompilesAtScale) {
  constexpr int ranks = 448;
  std::size_t compiled = 0;
  for (const Layout& layout : layouts(ranks)) {
    for_each_choice(layout, [&](const Choice& choice, const LibraryCall& call) {
      ++compiled;
      for (const int rank : {0, 5, ranks - 1}) {
        Program program;
        if (pattern_of(call.collective) == Pattern::exchange) {
          const BlockSizes blocks = BlockSizes::uniform(ranks, call.bytes);
          const auto offsets = equal_offsets(ranks, call.bytes);
          program = compile(choice, Exchange{layout, rank, blocks, offsets, offsets});
        } else {
          auto whole = WholeDistributedVector::uniform(call.collective, layout, call.bytes / 8, 8);
          whole.commutative = call.commutative;
          program = compile(choice, whole.of(rank));
        }
        EXPECT_EQ(program.ranks, ranks);
        EXPECT_EQ(program.steps.empty(), call.bytes == 0 && call.collective != barrier) << to_text(choice);
      }
    });
  }
  EXPECT_GT(compiled, 200U);
}

TEST(LibraryRules, EveryChoiceIsRight) {
  std::size_t verified = 0;
  for (const int ranks : {1, 2, 3, 5, 8, 13, 16}) {
    for (const Layout& layout : layouts(ranks)) {
      for_each_choice(layout, [&](const Choice& choice, const LibraryCall& call) {
        ++verified;
        std::string defect;
        if (pattern_of(call.collective) == Pattern::exchange) {
          const WholeExchange whole = WholeExchange::uniform(layout, 3);
          defect = verify(whole.compile(choice), whole.contents());
        } else {
          auto whole =
              WholeDistributedVector::uniform(call.collective, layout, has_blocks(call.collective) ? 2 : 41, 2);
          whole.commutative = call.commutative;
          whole.root = has_root(call.collective) ? ranks / 2 : 0;
          Terms terms(call.commutative);
          const auto contents = whole.contents(terms);
          defect = verify(whole.compile(choice), contents, terms);
        }
        EXPECT_EQ(defect, "") << name_of(call.collective) << " " << to_text(choice) << ", " << ranks << " ranks on "
                              << layout.nodes() << " nodes";
      });
    }
  }
  EXPECT_GT(verified, 500U);
}

} // namespace
} // namespace stoker::tests
