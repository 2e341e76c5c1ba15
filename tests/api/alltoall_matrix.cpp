// SPDX-License-Identifier: BSD-3-Clause
// alltoall and alltoallv over the matrix of executors, access paths, layouts, algorithms, patterns, sizes, datatypes,
// communicators and memory. A run takes a subset in which (nearly) every pair of values meets; STOKER_TEST_FULL=1 takes
// six times as many combinations, and STOKER_TEST_SEED=N others. One test per engine; its requests are all alive
// together.
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <tuple>

namespace api_tests {
namespace {

struct EngineConfig {
  const char* name;
  Settings settings;
  bool heap; // buffers from malloc are legal
};

const std::vector<EngineConfig>& engine_configs() {
  static const std::vector<EngineConfig> configs = {
      {"engine_auto", {{"executor", "engine"}, {"access", "auto"}}, true},
      {"engine_auto_rpn1", {{"executor", "engine"}, {"access", "auto"}, {"ranks_per_node", "1"}}, true},
      {"engine_auto_rpn2",
       {{"executor", "engine"}, {"access", "auto"}, {"eager_bytes", "8K"}, {"ranks_per_node", "2"}},
       true},
      {"engine_auto_rpn3", {{"executor", "engine"}, {"access", "auto"}, {"ranks_per_node", "3"}}, true},
      {"engine_own_rpn1", {{"executor", "engine"}, {"access", "own"}, {"ranks_per_node", "1"}}, true},
      {"engine_mapped", {{"executor", "engine"}, {"access", "mapped"}}, false},
      {"engine_mapped_rpn2",
       {{"executor", "engine"}, {"access", "mapped"}, {"eager_bytes", "8K"}, {"ranks_per_node", "2"}},
       false},
      {"engine_cma", {{"executor", "engine"}, {"access", "cma"}, {"eager_bytes", "8K"}}, true},
      {"engine_cma_rpn3",
       {{"executor", "engine"}, {"access", "cma"}, {"eager_bytes", "8K"}, {"ranks_per_node", "3"}},
       true},
      {"engine_staged", {{"executor", "engine"}, {"access", "staged"}}, true},
      {"engine_staged_rpn2",
       {{"executor", "engine"}, {"access", "staged"}, {"eager_bytes", "8K"}, {"ranks_per_node", "2"}},
       true},
      {"engine_numa2",
       {{"executor", "engine"}, {"machine", "numa:2 core:2 pu:1"}, {"domains", "numa"}, {"best_effort", "1"}},
       true},
      {"engine_two_threads", {{"executor", "engine"}, {"domains", "node"}, {"threads_per_domain", "2"}}, true},
      {"inline_auto", {{"executor", "inline"}, {"access", "auto"}}, true},
      {"inline_auto_rpn2",
       {{"executor", "inline"}, {"access", "auto"}, {"eager_bytes", "8K"}, {"ranks_per_node", "2"}},
       true},
      {"inline_own_rpn1", {{"executor", "inline"}, {"access", "own"}, {"ranks_per_node", "1"}}, true},
      {"inline_mapped_rpn3",
       {{"executor", "inline"}, {"access", "mapped"}, {"eager_bytes", "8K"}, {"ranks_per_node", "3"}},
       false},
      {"inline_cma_rpn2",
       {{"executor", "inline"}, {"access", "cma"}, {"eager_bytes", "8K"}, {"ranks_per_node", "2"}},
       true},
      {"inline_staged", {{"executor", "inline"}, {"access", "staged"}}, true},
  };
  return configs;
}

enum class CommKind { world, freed_after_init, parity, reversed, self, without_last };
constexpr int comm_kinds = 6;

// The communicators that the requests use, made once. `color` tells apart those that exist side by side.
class Communicators {
public:
  struct Entry {
    MPI_Comm comm = MPI_COMM_NULL;
    int color = 0;
  };
  static const Entry& get(CommKind kind) {
    static const Communicators all;
    return all.entries_.at(kind);
  }

private:
  Communicators() {
    const int rank = world_rank();
    const bool last = world_size() > 1 && rank == world_size() - 1;
    entries_[CommKind::world] = {MPI_COMM_WORLD, 0};
    entries_[CommKind::freed_after_init] = {MPI_COMM_WORLD, 0}; // duplicated for each request
    entries_[CommKind::parity] = {split(MPI_COMM_WORLD, rank % 2, rank), rank % 2};
    entries_[CommKind::reversed] = {split(MPI_COMM_WORLD, 0, -rank), 0};
    entries_[CommKind::self] = {MPI_COMM_SELF, rank};
    entries_[CommKind::without_last] = {split(MPI_COMM_WORLD, last ? MPI_UNDEFINED : 0, rank), 0};
  }
  std::map<CommKind, Entry> entries_;
};

// Sizes around the limits of messages that go through a slot (8 KiB in some of the engines) and of staging (32 KiB).
constexpr std::array<std::uint64_t, 11> sizes = {1, 7, 64, 1024, 4096, 8191, 8192, 8200, 32768, 65544, 1 << 20};
const std::array<std::string, 3> algorithms = {"", "nonblocking", "hierarchical"};
// How the request is made: in place or not, int or _c, executor info key or not.
constexpr int modes = 6;

// One combination: an index into every dimension.
enum Dimension { engine_d, pattern_d, size_d, types_d, comm_d, algorithm_d, memory_d, mode_d, dimensions };
using Row = std::array<std::size_t, dimensions>;

Row random_row(Random& random) {
  const std::array<std::size_t, dimensions> bounds = {engine_configs().size(),
                                                      std::size(patterns),
                                                      sizes.size(),
                                                      std::size(type_pairs),
                                                      comm_kinds,
                                                      algorithms.size(),
                                                      3,
                                                      modes};
  Row row{};
  for (std::size_t d = 0; d < dimensions; ++d) {
    row[d] = random.below(bounds[d]);
  }
  return row;
}

TransferSpec spec_of(const Row& row) {
  TransferSpec spec;
  spec.pattern = patterns[row[pattern_d]];
  spec.block_bytes = sizes[row[size_d]];
  if (world_size() > 4 && !full_run()) {
    spec.block_bytes = std::min<std::uint64_t>(spec.block_bytes, 256 * 1024);
  }
  spec.types = type_pairs[row[types_d]];
  spec.memory = static_cast<Memory>(row[memory_d]);
  spec.in_place = row[mode_d] % 3 == 2;
  spec.wide = row[mode_d] % 2 == 1;
  spec.algorithm = algorithms[row[algorithm_d]];
  spec.executor = row[mode_d] >= 4 ? "inline" : "";
  return spec;
}

bool is_possible(const Row& row) {
  return is_legal(spec_of(row)) &&
         (engine_configs()[row[engine_d]].heap || row[memory_d] == static_cast<std::size_t>(Memory::mapped));
}

// Greedy pairwise covering: of some random combinations take the one with most pairs that have not met yet.
std::vector<Row> covering_rows() {
  const char* text = std::getenv("STOKER_TEST_SEED");
  Random random(text != nullptr ? std::strtoull(text, nullptr, 10) : 1);
  const std::size_t limit = full_run() ? 1200 : 200;
  std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>> met;
  std::vector<Row> rows;
  while (rows.size() < limit) {
    Row best{};
    std::size_t most = 0;
    for (int attempt = 0; attempt < 40; ++attempt) {
      const Row row = random_row(random);
      if (!is_possible(row)) {
        continue;
      }
      std::size_t fresh = 1;
      for (std::size_t a = 0; a < dimensions; ++a) {
        for (std::size_t b = a + 1; b < dimensions; ++b) {
          fresh += met.contains({a, row[a], b, row[b]}) ? 0u : 1u;
        }
      }
      if (fresh > most) {
        most = fresh;
        best = row;
      }
    }
    if (most == 0) {
      continue;
    }
    for (std::size_t a = 0; a < dimensions; ++a) {
      for (std::size_t b = a + 1; b < dimensions; ++b) {
        met.insert({a, best[a], b, best[b]});
      }
    }
    rows.push_back(best);
  }
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = covering_rows();
  return all;
}

class AlltoallMatrix : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AlltoallMatrix, EveryByteIsRightInEveryEpoch) {
  const EngineConfig& config = engine_configs()[GetParam()];
  note("stoker_engine_create");
  const EngineOwner engine(MPI_COMM_WORLD, config.settings);
  ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));

  Transfers transfers;
  std::vector<std::size_t> world_index; // which of the collective order's requests each of mine is
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Row& row = rows()[i];
    if (row[engine_d] != GetParam()) {
      continue;
    }
    const auto kind = static_cast<CommKind>(row[comm_d]);
    const auto& [comm, color] = Communicators::get(kind);
    if (comm == MPI_COMM_NULL) {
      continue;
    }
    TransferSpec spec = spec_of(row);
    spec.id = static_cast<int>(i) * 100 + color;
    note("init of " + describe(spec));
    CommOwner temporary(kind == CommKind::freed_after_init ? duplicate(comm) : MPI_COMM_NULL);
    auto transfer =
        std::make_unique<Transfer>(spec, engine.get(), temporary.get() != MPI_COMM_NULL ? temporary.get() : comm);
    EXPECT_TRUE(transfer->code() == STOKER_SUCCESS)
        << describe(spec) << ": " << stoker_error_string(transfer->code()) << ": " << transfer->message();
    if (transfer->code() == STOKER_SUCCESS) {
      transfers.push_back(std::move(transfer));
    }
  }
  const auto requests = requests_of(transfers);
  const int count = static_cast<int>(requests.size());
  const auto seed = static_cast<std::uint64_t>(world_rank());

  // Epoch 1: one after the other, so that a failure names its request.
  for (const auto& transfer : transfers) {
    transfer->prepare();
    note("epoch 1 of " + describe(transfer->spec()));
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
    EXPECT_TRUE(ok(stoker_wait(transfer->request()))) << describe(transfer->spec());
    expect_right(*transfer);
  }

  // Epoch 2: all active at once, started in another order on each rank.
  note("epoch 2, random orders and waitall");
  for (const auto& transfer : transfers) {
    transfer->prepare();
  }
  for (const std::size_t i : permutation(transfers.size(), seed)) {
    EXPECT_TRUE(ok(stoker_start(requests[i])));
  }
  EXPECT_TRUE(ok(stoker_waitall(count, requests.data())));
  for (const auto& transfer : transfers) {
    expect_right(*transfer);
  }

  // Epoch 3: forward on even ranks, backward on odd ones; whatever completes is started again at once, for epoch 4.
  note("epochs 3 and 4, opposite orders and testany");
  for (const auto& transfer : transfers) {
    transfer->prepare();
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(ok(stoker_start(requests[world_rank() % 2 == 0 ? i : requests.size() - 1 - i])));
  }
  std::vector<int> epochs(requests.size(), 3);
  int index = 0;
  while (index != MPI_UNDEFINED) {
    int flag = 0;
    ASSERT_TRUE(ok(stoker_testany(count, requests.data(), &index, &flag)));
    if (flag == 0) {
      index = 0;
    } else if (index != MPI_UNDEFINED) {
      const auto i = static_cast<std::size_t>(index);
      expect_right(*transfers[i]);
      if (++epochs[i] == 4) {
        transfers[i]->prepare();
        EXPECT_TRUE(ok(stoker_start(requests[i])));
      }
    }
  }
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    EXPECT_EQ(epochs[i], 5) << describe(transfers[i]->spec());
  }

  note("free");
  for (const std::size_t i : permutation(transfers.size(), seed + 1000)) {
    EXPECT_TRUE(ok(transfers[i]->free()));
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, AlltoallMatrix, ::testing::Range(std::size_t{0}, engine_configs().size()),
                         [](const auto& param) { return std::string(engine_configs()[param.param].name); });

} // namespace
} // namespace api_tests
