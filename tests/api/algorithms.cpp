// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm with several values of its parameters, run for real: on one node and on several, of equal and of
// ragged size, by both executors, one after the other and all at once.
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <array>
#include <memory>
#include <string>
#include <tuple>

namespace api_tests {
namespace {

const char* const with_parameters[] = {
    "nonblocking",
    "pairwise",
    "batched",
    "batched:batch=2",
    "bruck",
    "bruck-norotation",
    "radix",
    "radix:r=3",
    "radix2",
    "radix2:r1=2,r2=2",
    "hierarchical",
    "hierarchical:between=bruck",
    "multileader",
    "multileader:leaders=2",
    "multileader:leaders=2,between=pairwise",
    "multileader:leaders=domains",
    "node-aware",
    "node-aware:between=radix,within=bruck",
    "node-aware:between=pairwise,within=batched-2",
    "locality-aware",
    "locality-aware:groups=2",
    "locality-aware:groups=2,between=bruck,within=pairwise",
    "multileader-node-aware",
    "multileader-node-aware:leaders=2",
    "multileader-node-aware:leaders=2,between=radix-3,within=bruck",
    "rma-fence",
    "rma-lock",
    "rma-fence-hierarchy",
};

using Parameters = std::tuple<std::string, std::string>; // ranks_per_node, executor

class Algorithms : public ::testing::TestWithParam<Parameters> {};

TEST_P(Algorithms, EveryByteIsRightInEveryEpoch) {
  const auto& [ranks_per_node, executor] = GetParam();
  // With two ranks per node most messages between nodes go in pieces.
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", ranks_per_node},
                                            {"executor", executor},
                                            {"wire_piece_bytes", ranks_per_node == "2" ? "1000" : "auto"}});
  ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
  Transfers transfers;
  int id = 0;
  for (const char* algorithm : with_parameters) {
    for (const Pattern pattern : {Pattern::alltoall, Pattern::random}) {
      TransferSpec spec;
      spec.id = id++;
      spec.pattern = pattern;
      spec.block_bytes = std::array<std::uint64_t, 3>{4, 3000, 40000}[static_cast<std::size_t>(id) % 3];
      spec.types = id % 5 == 0 ? Types::strided : Types::ints;
      spec.in_place = id % 4 == 0;
      spec.algorithm = algorithm;
      note("init of " + describe(spec));
      auto transfer = std::make_unique<Transfer>(spec, engine.get(), MPI_COMM_WORLD);
      if (transfer->code() == STOKER_SUCCESS) {
        transfers.push_back(std::move(transfer));
      } else { // a parameter that is too large for so few ranks; the message says so
        EXPECT_TRUE(refused(transfer->code(), STOKER_ERR_SETTING, {"stoker_algorithm", "expected", "nearest"}))
            << describe(spec) << ": " << transfer->message();
      }
    }
  }
  EXPECT_GE(transfers.size(), 20U);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
      note("epoch of " + describe(transfer->spec()));
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      const std::string defect = transfer->defect();
      EXPECT_TRUE(defect.empty()) << defect;
    }
  }
  note("all at once");
  const auto requests = requests_of(transfers);
  for (const auto& transfer : transfers) {
    transfer->prepare();
  }
  for (const std::size_t i : permutation(transfers.size(), static_cast<std::uint64_t>(world_rank()))) {
    EXPECT_TRUE(ok(stoker_start(requests[i])));
  }
  EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(requests.size()), requests.data())));
  for (const auto& transfer : transfers) {
    const std::string defect = transfer->defect();
    EXPECT_TRUE(defect.empty()) << defect;
  }
}

std::string layout_name(const ::testing::TestParamInfo<Parameters>& test) {
  const auto& [ranks_per_node, executor] = test.param;
  return (ranks_per_node == "0" ? "one_node" : ranks_per_node + "_per_node") + "_" + executor;
}

INSTANTIATE_TEST_SUITE_P(Layouts, Algorithms,
                         ::testing::Combine(::testing::Values("0", "1", "2", "4"),
                                            ::testing::Values("engine", "inline")),
                         layout_name);

} // namespace
} // namespace api_tests
