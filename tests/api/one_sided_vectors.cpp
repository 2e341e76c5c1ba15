// SPDX-License-Identifier: BSD-3-Clause
// The one-sided forms of allgather(v), bcast and reduce_scatter: every one of the registry, with two kinds of
// elements, through windows and as messages; and what requests say of themselves.
#include "tests/api/mpi_main.hpp"
#include "tests/api/one_sided_ways.hpp"
#include "tests/api/vector_transfer.hpp"

#include <array>
#include <memory>
#include <string>
#include <tuple>

namespace api_tests {
namespace {

using algos::Collective;

// Each algorithm that puts, with its defaults and each of its numbers at its least.
std::vector<VectorSpec> specs() {
  std::vector<VectorSpec> all;
  for (const Collective collective : {Collective::bcast, Collective::reduce_scatter, Collective::reduce_scatter_block,
                                      Collective::allgather, Collective::allgatherv}) {
    for (const algos::Algorithm& algorithm : algos::algorithms_of(collective)) {
      std::vector<std::string> choices;
      if (algorithm.puts_into) {
        choices.emplace_back(algorithm.name);
      }
      for (const algos::Parameter& parameter : algorithm.parameters) {
        if (algorithm.puts_into && parameter.number != nullptr) {
          choices.push_back(choices.front() + ":" + std::string(parameter.name) + "=" +
                            std::to_string(parameter.least));
        }
      }
      for (const std::string& choice : choices) {
        const Elements matrices = all.size() % 4 == 0 ? Elements::matrices : Elements::gapped_matrices;
        for (const Elements elements : {Elements::ints, matrices}) {
          VectorSpec spec;
          spec.id = static_cast<int>(all.size());
          spec.collective = collective;
          spec.elements = elements;
          spec.count = std::array{1, 17, 3001}[all.size() % 3];
          spec.root = algos::has_root(collective) ? world_size() - 1 : 0;
          spec.in_place = all.size() % 3 == 1 && collective != Collective::bcast;
          spec.algorithm = choice;
          all.push_back(spec);
        }
      }
    }
  }
  return all;
}

class OneSidedVectors : public ::testing::TestWithParam<OneSidedWay> {};

TEST_P(OneSidedVectors, EveryByteIsRightInEveryEpoch) {
  const auto& [ranks_per_node, executor, rma] = GetParam();
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", ranks_per_node}, {"executor", executor}, {"rma", rma}});
  ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
  VectorTransfers transfers;
  for (const VectorSpec& spec : specs()) {
    note("init of " + describe(spec));
    transfers.push_back(std::make_unique<VectorTransfer>(spec, engine.get()));
    // Open MPI has no windows of carriers, and none between hosts over TCP.
    if (rma == "window" && transfers.back()->code() == STOKER_ERR_UNSUPPORTED) {
      EXPECT_NE(transfers.back()->message().find("no one-sided communication"), std::string::npos);
      return;
    }
    ASSERT_TRUE(everywhere(transfers.back()->code() == STOKER_SUCCESS)) << transfers.back()->message();
    const std::string puts = puts_of(transfers.back()->request());
    EXPECT_NE(puts, "none");
    // An operator of the application, as the matrices have it, takes its requests inline.
    const bool by_helpers =
        executor == "engine" && (spec.elements == Elements::ints || !algos::combines(spec.collective));
    if (rma == "window") {
      EXPECT_EQ(puts, by_helpers && (ranks_per_node == "0" || world_size() <= std::stoi(ranks_per_node)) ? "copies"
                                                                                                         : "window");
    } else if (rma == "messages") {
      EXPECT_NE(puts, "window");
    }
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
      note("an epoch of " + describe(transfer->spec()));
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      EXPECT_EQ(transfer->defect(), "") << describe(transfer->spec());
    }
  }
  // All at once, on each rank in another order.
  std::vector<stoker_request> requests;
  for (const auto& transfer : transfers) {
    transfer->prepare();
    requests.push_back(transfer->request());
  }
  for (const std::size_t i : permutation(requests.size(), static_cast<std::uint64_t>(world_rank()))) {
    EXPECT_TRUE(ok(stoker_start(requests[i])));
  }
  EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(requests.size()), requests.data())));
  for (const auto& transfer : transfers) {
    EXPECT_EQ(transfer->defect(), "") << describe(transfer->spec());
    EXPECT_TRUE(ok(transfer->free()));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OneSidedVectors, one_sided_ways(), name_of_way);

} // namespace
} // namespace api_tests
