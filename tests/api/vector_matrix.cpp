// SPDX-License-Identifier: BSD-3-Clause
// Reductions, broadcasts, gathers, scatters and scans: every algorithm of the registry with every kind of element, by
// both executors and over the access paths, with counts, roots, in place and the two forms of the call taking turns.
// All requests of a test are alive together. STOKER_TEST_FULL=1 takes every count and every kind of element with every
// engine. STOKER_RANKS_PER_NODE pretends nodes.
#include "tests/api/mpi_main.hpp"
#include "tests/api/vector_transfer.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>

namespace api_tests {
namespace {

using algos::Collective;

struct VectorEngineConfig {
  const char* name;
  Settings settings;
};

const std::vector<VectorEngineConfig>& vector_engine_configs() {
  static const std::vector<VectorEngineConfig> configs = {
      {"engine", {{"executor", "engine"}, {"eager_bytes", "8K"}}},
      {"inline", {{"executor", "inline"}}},
      {"engine_cma", {{"executor", "engine"}, {"access", "cma"}, {"eager_bytes", "0"}, {"wire_piece_bytes", "1000"}}},
      {"inline_staged", {{"executor", "inline"}, {"access", "staged"}, {"eager_bytes", "64"}}},
  };
  return configs;
}

constexpr std::array<int, 4> counts = {1, 17, 0, 3001}; // the last beyond what goes through a channel's slot of 8 KiB

// The name of each algorithm, and each of its numbers at its least; the default; and a list that is no preset.
std::vector<std::string> choices_of(Collective collective) {
  std::vector<std::string> choices = {""};
  for (const algos::Algorithm& algorithm : algos::algorithms_of(collective)) {
    choices.emplace_back(algorithm.name);
    for (const algos::Parameter& parameter : algorithm.parameters) {
      if (parameter.number != nullptr) {
        choices.push_back(std::string(algorithm.name) + ":" + std::string(parameter.name) + "=" +
                          std::to_string(parameter.least));
      }
    }
  }
  if (collective == Collective::allreduce &&
      world_size() > 1) { // parts are completed in the middle, or the vector whole
    const std::string half = std::to_string(world_size() / 2);
    const bool two_groups = world_size() % 2 == 0 && world_size() > 2;
    choices.push_back("cyclic-shift:factors=" +
                      (two_groups ? "-" + half + " 2 " + half : std::to_string(world_size())));
  }
  return choices;
}

bool needs_commutative(Collective collective, const std::string& choice) {
  const algos::Algorithm* algorithm = algos::find(collective, choice.substr(0, choice.find(':')));
  return algorithm != nullptr && algorithm->commutative;
}

// `part`: which third of the kinds of elements each algorithm takes.
std::vector<VectorSpec> specs_of(Collective collective, std::size_t part) {
  std::vector<VectorSpec> specs;
  int turn = 0;
  for (const std::string& choice : choices_of(collective)) {
    ++part;
    for (const Elements elements : all_elements) {
      if (!full_run() && (static_cast<std::size_t>(elements) + part) % 3 != 0) {
        continue;
      }
      if (needs_commutative(collective, choice) && !is_commutative(elements)) {
        continue;
      }
      if (!algos::combines(collective) && (elements == Elements::greatest || elements == Elements::user_sums)) {
        continue; // as ints
      }
      for (const int count : counts) {
        ++turn;
        if (!full_run() && counts[static_cast<std::size_t>(turn / 4 + turn) % counts.size()] != count) {
          continue;
        }
        VectorSpec spec;
        spec.id = static_cast<int>(specs.size());
        spec.collective = collective;
        spec.elements = elements;
        spec.count = count;
        spec.root = algos::has_root(collective) ? (spec.id % 3) * (world_size() - 1) / 2 : 0;
        spec.in_place = spec.id % 5 < 2 && collective != Collective::bcast;
        spec.wide = spec.id % 2 == 1;
        spec.algorithm = choice;
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

void expect_right(const VectorTransfers& transfers) {
  for (const auto& transfer : transfers) {
    EXPECT_EQ(transfer->defect(), "");
  }
}

class VectorMatrix : public ::testing::TestWithParam<std::tuple<std::size_t, Collective>> {};

TEST_P(VectorMatrix, EveryByteIsRightInEveryEpoch) {
  const auto& [config, collective] = GetParam();
  const EngineOwner engine(MPI_COMM_WORLD, vector_engine_configs()[config].settings);
  ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
  VectorTransfers transfers;
  for (const VectorSpec& spec : specs_of(collective, config)) {
    note("init of " + describe(spec));
    auto transfer = std::make_unique<VectorTransfer>(spec, engine.get());
    EXPECT_EQ(transfer->code(), STOKER_SUCCESS) << describe(spec) << ": " << transfer->message();
    if (transfer->code() == STOKER_SUCCESS) {
      transfers.push_back(std::move(transfer));
    }
  }
  ASSERT_FALSE(transfers.empty());

  for (const auto& transfer : transfers) { // one after the other, so that a failure names its request
    transfer->prepare();
    note("epoch 1 of " + describe(transfer->spec()));
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
    EXPECT_TRUE(ok(stoker_wait(transfer->request()))) << describe(transfer->spec());
    EXPECT_EQ(transfer->defect(), "");
  }
  std::vector<stoker_request> requests;
  for (const auto& transfer : transfers) {
    requests.push_back(transfer->request());
  }
  for (int epoch = 2; epoch <= 4; ++epoch) { // all at once, in another order on each rank
    note("epoch " + std::to_string(epoch) + ", random orders and waitall");
    for (const auto& transfer : transfers) {
      transfer->prepare();
    }
    for (const std::size_t i : permutation(requests.size(), (static_cast<std::uint64_t>(world_rank()) * 10) +
                                                                static_cast<std::uint64_t>(epoch))) {
      EXPECT_TRUE(ok(stoker_start(requests[i])));
    }
    EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(requests.size()), requests.data())));
    expect_right(transfers);
  }
  for (const auto& transfer : transfers) {
    EXPECT_TRUE(ok(transfer->free()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, VectorMatrix,
    ::testing::Combine(::testing::Range(std::size_t{0}, vector_engine_configs().size()),
                       ::testing::Values(Collective::allreduce, Collective::reduce, Collective::bcast,
                                         Collective::reduce_scatter, Collective::reduce_scatter_block,
                                         Collective::allgather, Collective::allgatherv, Collective::gather,
                                         Collective::gatherv, Collective::scatter, Collective::scatterv,
                                         Collective::scan, Collective::exscan)),
    [](const auto& param) {
      return std::string(vector_engine_configs()[std::get<0>(param.param)].name) + "_" +
             std::string(algos::name_of(std::get<1>(param.param)));
    });

// Long messages within the node, which both ranks move piece by piece: elements of 4, 12 and 16 bytes, and such with
// gaps. Ranks come late, or leave their messages to others for a while. Up to four ranks, parts of vectors are long, too.
class LongVectors : public ::testing::TestWithParam<std::tuple<std::string, Collective>> {};

TEST_P(LongVectors, AreRightInEveryEpoch) {
  const auto& [executor, collective] = GetParam();
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", executor}});
  VectorTransfers transfers;
  for (const Elements elements : {Elements::ints, Elements::located, Elements::user_sums, Elements::gapped_matrices}) {
    VectorSpec spec;
    spec.id = static_cast<int>(transfers.size());
    spec.collective = collective;
    spec.elements = elements;
    spec.count = algos::has_blocks(collective) ? 32'769 : 131'075;
    spec.root = algos::has_root(collective) ? world_size() - 1 : 0;
    note("init of " + describe(spec));
    transfers.push_back(std::make_unique<VectorTransfer>(spec, engine.get()));
    ASSERT_EQ(transfers.back()->code(), STOKER_SUCCESS) << transfers.back()->message();
  }
  Random random(static_cast<std::uint64_t>(world_rank()) + 1);
  const auto linger = [&] { std::this_thread::sleep_for(std::chrono::microseconds(random.below(2) * 200)); };
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
      note("epoch " + std::to_string(epoch) + " of " + describe(transfer->spec()));
      linger();
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      linger();
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      EXPECT_EQ(transfer->defect(), "");
    }
  }
  for (const auto& transfer : transfers) {
    EXPECT_TRUE(ok(transfer->free()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LongVectors,
                         ::testing::Combine(::testing::Values("engine", "inline"),
                                            ::testing::Values(Collective::allreduce, Collective::reduce,
                                                              Collective::bcast, Collective::allgather,
                                                              Collective::gather, Collective::scatter)),
                         [](const auto& param) {
                           return std::get<0>(param.param) + "_" +
                                  std::string(algos::name_of(std::get<1>(param.param)));
                         });

// Nobody is through an epoch that somebody has not started.
class Barriers : public ::testing::TestWithParam<std::string> {};

TEST_P(Barriers, HoldEverybodyBack) {
  int* started = nullptr; // one word for each rank
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &started, &window);
  const auto of = [&](int rank) {
    MPI_Aint bytes = 0;
    int unit = 0;
    int* word = nullptr;
    MPI_Win_shared_query(window, rank, &bytes, &unit, &word);
    return word;
  };
  __atomic_store_n(started, 0, __ATOMIC_SEQ_CST);
  barrier();
  {
    const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
    for (const std::string& choice : choices_of(Collective::barrier)) {
      note("barrier " + choice);
      const InfoOwner info(choice.empty() ? Settings{} : Settings{{"stoker_algorithm", choice}});
      stoker_request request = STOKER_REQUEST_NULL;
      ASSERT_TRUE(ok(stoker_barrier_init(MPI_COMM_WORLD, info.get(), engine.get(), &request)));
      const int before = __atomic_load_n(started, __ATOMIC_SEQ_CST);
      for (int epoch = 1; epoch <= 20; ++epoch) {
        __atomic_store_n(started, before + epoch, __ATOMIC_SEQ_CST);
        EXPECT_TRUE(ok(stoker_start(request)));
        EXPECT_TRUE(ok(stoker_wait(request)));
        for (int r = 0; r < world_size(); ++r) {
          EXPECT_GE(__atomic_load_n(of(r), __ATOMIC_SEQ_CST), before + epoch) << choice << ": rank " << r;
        }
      }
      EXPECT_TRUE(ok(stoker_request_free(&request)));
    }
  }
  barrier();
  MPI_Win_free(&window);
}

INSTANTIATE_TEST_SUITE_P(Executors, Barriers, ::testing::Values("engine", "inline"),
                         [](const auto& param) { return param.param; });

// Sums whose last bits depend on the order in which they are added up.
class Deterministic : public ::testing::TestWithParam<Collective> {};

std::vector<double> operand() {
  Random random(static_cast<std::uint64_t>(world_rank()) + 1);
  std::vector<double> values(static_cast<std::size_t>(world_size()) * 257);
  for (double& value : values) {
    const double mantissa = static_cast<double>(random.next() % 1000003) - 500000.5;
    value = std::ldexp(mantissa / 3, static_cast<int>(random.below(60)) - 30);
  }
  return values;
}

int init_sum(Collective collective, const std::vector<double>& send, std::vector<double>& recv, MPI_Info info,
             stoker_engine engine, stoker_request* request) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int count = static_cast<int>(send.size());
  const int ranks = world_size();
  const std::vector<int> blocks(static_cast<std::size_t>(ranks), count / ranks);
  switch (collective) {
  case Collective::allreduce:
    return stoker_allreduce_init(send.data(), recv.data(), count, MPI_DOUBLE, MPI_SUM, comm, info, engine, request);
  case Collective::reduce:
    return stoker_reduce_init(send.data(), recv.data(), count, MPI_DOUBLE, MPI_SUM, ranks - 1, comm, info, engine,
                              request);
  case Collective::reduce_scatter:
    return stoker_reduce_scatter_init(send.data(), recv.data(), blocks.data(), MPI_DOUBLE, MPI_SUM, comm, info, engine,
                                      request);
  case Collective::reduce_scatter_block:
    return stoker_reduce_scatter_block_init(send.data(), recv.data(), count / ranks, MPI_DOUBLE, MPI_SUM, comm, info,
                                            engine, request);
  case Collective::scan:
    return stoker_scan_init(send.data(), recv.data(), count, MPI_DOUBLE, MPI_SUM, comm, info, engine, request);
  default:
    return stoker_exscan_init(send.data(), recv.data(), count, MPI_DOUBLE, MPI_SUM, comm, info, engine, request);
  }
}

// By algorithm, the default first: what two requests, started in opposite orders on neighbours, left in their buffers.
std::vector<std::vector<double>> results(Collective collective, const Settings& settings) {
  const EngineOwner engine(MPI_COMM_WORLD, settings);
  std::vector<std::string> choices = {""};
  for (const algos::Algorithm& algorithm : algos::algorithms_of(collective)) {
    if (algorithm.fixed_order) {
      choices.emplace_back(algorithm.name);
    }
  }
  const std::vector<double> send = operand();
  std::vector<std::vector<double>> all;
  for (const std::string& choice : choices) {
    note(std::string(algos::name_of(collective)) + " " + choice);
    const InfoOwner info(choice.empty() ? Settings{} : Settings{{"stoker_algorithm", choice}});
    std::array<std::vector<double>, 2> recv;
    std::array<stoker_request, 2> requests{};
    for (std::size_t i = 0; i < 2; ++i) {
      recv[i].assign(send.size(), -1);
      EXPECT_TRUE(ok(init_sum(collective, send, recv[i], info.get(), engine.get(), &requests[i])));
    }
    for (int epoch = 0; epoch < 3; ++epoch) {
      const auto first = static_cast<std::size_t>((world_rank() + epoch) % 2);
      EXPECT_TRUE(ok(stoker_start(requests[first])));
      EXPECT_TRUE(ok(stoker_start(requests[1 - first])));
      EXPECT_TRUE(ok(stoker_waitall(2, requests.data())));
      EXPECT_EQ(std::memcmp(recv[0].data(), recv[1].data(), recv[0].size() * sizeof(double)), 0) << choice;
    }
    all.push_back(recv[0]);
    EXPECT_TRUE(ok(stoker_request_free(&requests[0])));
    EXPECT_TRUE(ok(stoker_request_free(&requests[1])));
  }
  return all;
}

TEST_P(Deterministic, SameBitsWhateverExecutesAndWhereverTheRanksAre) {
  std::vector<std::vector<double>> first;
  for (const char* executor : {"engine", "inline"}) {
    for (const char* ranks_per_node : {"0", "1", "2"}) {
      const auto now =
          results(GetParam(), {{"executor", executor}, {"ranks_per_node", ranks_per_node}, {"deterministic", "1"}});
      if (first.empty()) {
        first = now;
      }
      ASSERT_EQ(now.size(), first.size());
      for (std::size_t i = 0; i < now.size(); ++i) {
        EXPECT_EQ(std::memcmp(now[i].data(), first[i].data(), now[i].size() * sizeof(double)), 0)
            << "choice " << i << ", executor " << executor << ", ranks_per_node " << ranks_per_node;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, Deterministic,
                         ::testing::Values(Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                                           Collective::reduce_scatter_block, Collective::scan, Collective::exscan),
                         [](const auto& param) { return std::string(algos::name_of(param.param)); });

} // namespace
} // namespace api_tests
