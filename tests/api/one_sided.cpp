// SPDX-License-Identifier: BSD-3-Clause
// The one-sided all-to-alls: every kind of buffer through windows and as messages, windows that are taken again, orders
// of starting that would lock fences, and what requests say of themselves.
#include "tests/api/mpi_main.hpp"
#include "tests/api/one_sided_ways.hpp"
#include "tests/api/transfer.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace api_tests {
namespace {

const char* const one_sided_algorithms[] = {"rma-fence", "rma-lock", "rma-fence-hierarchy"};

void run_epoch(Transfer& transfer) {
  transfer.prepare();
  EXPECT_TRUE(ok(stoker_start(transfer.request())));
  EXPECT_TRUE(ok(stoker_wait(transfer.request())));
  expect_right(transfer);
}

class OneSided : public ::testing::TestWithParam<OneSidedWay> {};

std::string of_rank_0(std::string text) {
  text.resize(16);
  MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text.substr(0, text.find('\0'));
}

TEST_P(OneSided, EveryByteIsRightWhateverTheBuffers) {
  const auto& [ranks_per_node, executor, rma] = GetParam();
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", ranks_per_node}, {"executor", executor}, {"rma", rma}});
  ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
  Transfers transfers;
  int id = 0;
  for (const Types types : type_pairs) {
    for (const bool in_place : {false, true}) {
      TransferSpec spec;
      spec.id = id++;
      spec.pattern = patterns[static_cast<std::size_t>(id) % std::size(patterns)];
      spec.block_bytes = std::array<std::uint64_t, 3>{8, 1000, 50000}[static_cast<std::size_t>(id) % 3];
      spec.types = types;
      spec.memory = std::array{Memory::heap, Memory::mapped, Memory::mapped_recv}[static_cast<std::size_t>(id / 2) % 3];
      spec.in_place = in_place;
      spec.algorithm = one_sided_algorithms[static_cast<std::size_t>(id / 3) % 3];
      if (!is_legal(spec)) {
        spec.pattern = Pattern::alltoall;
      }
      if (!is_legal(spec)) {
        continue;
      }
      note("init of " + describe(spec));
      transfers.push_back(std::make_unique<Transfer>(spec, engine.get(), MPI_COMM_WORLD));
      if (rma == "window" && transfers.back()->code() == STOKER_ERR_UNSUPPORTED) { // hosts that Open MPI's TCP joins
        EXPECT_NE(transfers.back()->message().find("no one-sided communication"), std::string::npos);
        return;
      }
      ASSERT_TRUE(everywhere(transfers.back()->code() == STOKER_SUCCESS)) << transfers.back()->message();
      const std::string puts = puts_of(transfers.back()->request());
      EXPECT_EQ(puts, of_rank_0(puts)) << "with auto it is a matter of time, but all ranks find the same";
      if (rma == "messages") {
        EXPECT_TRUE(puts == "messages" || puts == "copies") << puts;
      }
      if (rma == "window") {
        EXPECT_TRUE(puts == "window" || puts == "copies") << puts;
      }
    }
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& transfer : transfers) {
      note("epoch of " + describe(transfer->spec()));
      run_epoch(*transfer);
    }
  }
  // On each rank in another order, and waited for in yet another one.
  const auto requests = requests_of(transfers);
  for (const auto& transfer : transfers) {
    transfer->prepare();
  }
  for (const std::size_t i : permutation(transfers.size(), static_cast<std::uint64_t>(world_rank()))) {
    EXPECT_TRUE(ok(stoker_start(requests[i])));
  }
  for (const std::size_t i : permutation(transfers.size(), 100 + static_cast<std::uint64_t>(world_rank()))) {
    EXPECT_TRUE(ok(stoker_wait(requests[i])));
    const std::string defect = transfers[i]->defect();
    EXPECT_TRUE(defect.empty()) << defect;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OneSided, one_sided_ways(), name_of_way);

TEST(OneSidedWindows, ARequestIsInitialisedAgainAndAgain) {
  for (const char* executor : {"engine", "inline"}) {
    const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "1"}, {"executor", executor}, {"rma", "window"}});
    ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
    const CommOwner comm(duplicate(MPI_COMM_WORLD));
    TransferSpec spec;
    spec.pattern = Pattern::random;
    spec.block_bytes = 3000;
    TransferSpec other = spec;
    other.pattern = Pattern::uniform;
    other.memory = Memory::mapped;
    for (int round = 0; round < 12; ++round) {
      spec.id = 2 * round;
      other.id = 2 * round + 1;
      spec.algorithm = other.algorithm = one_sided_algorithms[round % 3];
      Transfer first(spec, engine.get(), comm.get());
      Transfer second(other, engine.get(), comm.get());
      if (first.code() == STOKER_ERR_UNSUPPORTED) {
        EXPECT_EQ(second.code(), STOKER_ERR_UNSUPPORTED);
        return;
      }
      ASSERT_TRUE(everywhere(first.code() == STOKER_SUCCESS && second.code() == STOKER_SUCCESS));
      run_epoch(second);
      run_epoch(first);
    }
  }
}

// Two requests over one buffer, one after the other, and more requests on a communicator that is gone.
TEST(OneSidedWindows, AreSharedByRequestsOverOneBuffer) {
  for (const char* executor : {"engine", "inline"}) {
    const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "1"}, {"executor", executor}});
    ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
    const int ranks = world_size();
    const InfoOwner info(Settings{{"stoker_algorithm", "rma-fence"}});
    std::vector<int> send(static_cast<std::size_t>(ranks));
    std::vector<int> recv(send.size());
    std::array<stoker_request, 2> requests{};
    {
      const CommOwner comm(duplicate(MPI_COMM_WORLD));
      for (stoker_request& request : requests) {
        ASSERT_TRUE(everywhere(ok(stoker_alltoall_init(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm.get(),
                                                       info.get(), engine.get(), &request))));
      }
    }
    for (int epoch = 0; epoch < 6; ++epoch) {
      for (int r = 0; r < ranks; ++r) {
        send[static_cast<std::size_t>(r)] = 1000 * epoch + 10 * world_rank() + r;
        recv[static_cast<std::size_t>(r)] = -1;
      }
      const stoker_request request = requests[static_cast<std::size_t>(epoch) % 2];
      ASSERT_TRUE(ok(stoker_start(request)));
      ASSERT_TRUE(ok(stoker_wait(request)));
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(recv[static_cast<std::size_t>(r)], 1000 * epoch + 10 * r + world_rank());
      }
    }
    for (stoker_request& request : requests) {
      EXPECT_TRUE(ok(stoker_request_free(&request)));
    }
  }
}

// Receive buffers within, before and across those of other requests, a window of ranks over each of them. On every rank
// they begin elsewhere.
TEST(OneSidedWindows, BeginWhereTheirBufferBegins) {
  constexpr int block = 100;
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "1"}, {"executor", "inline"}, {"rma", "window"}});
  ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
  const InfoOwner info(Settings{{"stoker_algorithm", "rma-fence"}});
  const std::size_t length = static_cast<std::size_t>(world_size()) * block;
  std::vector<int> memory(4 * length + 100, -1);
  std::vector<int> send(length);
  std::vector<stoker_request> requests;
  std::vector<std::size_t> begins;
  for (const std::size_t quarters : {4U, 6U, 0U, 3U, 4U, 9U}) {
    begins.push_back(quarters * length / 4 + 3 * static_cast<std::size_t>(world_rank()) + quarters);
    stoker_request request = STOKER_REQUEST_NULL;
    const int code = stoker_alltoall_init(send.data(), block, MPI_INT, memory.data() + begins.back(), block, MPI_INT,
                                          MPI_COMM_WORLD, info.get(), engine.get(), &request);
    if (code == STOKER_ERR_UNSUPPORTED) { // Open MPI between hosts over TCP
      return;
    }
    ASSERT_TRUE(everywhere(ok(code)));
    EXPECT_EQ(puts_of(request), "window");
    requests.push_back(request);
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto value = [&](int from, int to, std::size_t element) {
        return (((epoch * 10 + static_cast<int>(i)) * 10 + from) * 10 + to) * block + static_cast<int>(element % block);
      };
      for (std::size_t k = 0; k < length; ++k) {
        send[k] = value(world_rank(), static_cast<int>(k) / block, k);
      }
      std::ranges::fill(memory, -1);
      ASSERT_TRUE(ok(stoker_start(requests[i])));
      ASSERT_TRUE(ok(stoker_wait(requests[i])));
      for (std::size_t k = 0; k < memory.size(); ++k) {
        const bool received = k >= begins[i] && k < begins[i] + length;
        const std::size_t at = k - begins[i];
        ASSERT_EQ(memory[k], received ? value(static_cast<int>(at) / block, world_rank(), at) : -1)
            << "request " << i << ", element " << k;
      }
    }
  }
  for (stoker_request& request : requests) {
    EXPECT_TRUE(ok(stoker_request_free(&request)));
  }
}

// Helpers in processes that are not in the communicator: nobody can expose its ranks' memory.
TEST(OneSidedWindows, AreDoneWithoutWhereCarriersAreMissing) {
  if (world_size() < 4) {
    return;
  }
  const CommOwner comm(split(MPI_COMM_WORLD, world_rank() % 2, world_rank()));
  for (const char* rma : {"auto", "window"}) {
    const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "2"}, {"executor", "engine"}, {"rma", rma}});
    ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
    TransferSpec spec;
    spec.block_bytes = 3000;
    spec.algorithm = "rma-fence";
    Transfer transfer(spec, engine.get(), comm.get());
    if (world_rank() % 2 == 1 && std::string(rma) == "window") {
      EXPECT_EQ(transfer.code(), STOKER_ERR_UNSUPPORTED) << transfer.message();
      EXPECT_NE(transfer.message().find("carriers"), std::string::npos) << transfer.message();
    } else if (transfer.code() == STOKER_SUCCESS) {
      for (int epoch = 0; epoch < 3; ++epoch) {
        run_epoch(transfer);
      }
      if (world_rank() % 2 == 1) {
        EXPECT_EQ(puts_of(transfer.request()), "messages");
      }
    } else { // an MPI library without windows
      EXPECT_EQ(std::string(rma), "window");
      EXPECT_EQ(transfer.code(), STOKER_ERR_UNSUPPORTED) << transfer.message();
    }
  }
}

TEST(OneSidedInit, RefusesWhatDoesNotFitAndNamesThePair) {
  const EngineOwner engine(MPI_COMM_WORLD);
  const int ranks = world_size();
  if (ranks < 2) {
    return;
  }
  const InfoOwner info(Settings{{"stoker_algorithm", "rma-lock"}});
  std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
  std::vector<int> displacements(ones.size());
  for (std::size_t r = 0; r < ones.size(); ++r) {
    displacements[r] = static_cast<int>(2 * r);
  }
  std::vector<int> send(2 * ones.size());
  std::vector<int> recv(2 * ones.size());
  std::vector<int> sendcounts = ones;
  if (world_rank() == 1) {
    sendcounts[0] = 2; // rank 0 expects one
  }
  stoker_request request = STOKER_REQUEST_NULL;
  EXPECT_TRUE(refused(stoker_alltoallv_init(send.data(), sendcounts.data(), displacements.data(), MPI_INT, recv.data(),
                                            ones.data(), displacements.data(), MPI_INT, MPI_COMM_WORLD, info.get(),
                                            engine.get(), &request),
                      STOKER_ERR_MISMATCH, {"rank 0: rank 1 sends 8 bytes", "expect 4"}));
}

TEST(OneSidedStatistics, SayWhenInitHasPaid) {
  for (const char* executor : {"engine", "inline"}) {
    const EngineOwner engine(MPI_COMM_WORLD, {{"executor", executor}, {"baseline_calls", "5"}});
    ASSERT_TRUE(everywhere(engine.get() != STOKER_ENGINE_NULL));
    for (const char* algorithm : {"rma-fence", "nonblocking"}) {
      TransferSpec spec;
      spec.block_bytes = 3000;
      spec.algorithm = algorithm;
      Transfer transfer(spec, engine.get(), MPI_COMM_WORLD);
      ASSERT_TRUE(everywhere(transfer.code() == STOKER_SUCCESS));
      stoker_statistics statistics{};
      statistics.size = sizeof statistics;
      EXPECT_TRUE(ok(stoker_request_statistics(transfer.request(), &statistics)));
      EXPECT_GT(statistics.mpi_seconds, 0);
      EXPECT_EQ(statistics.break_even, 0) << "nothing was started";
      for (int epoch = 0; epoch < 3; ++epoch) {
        run_epoch(transfer);
      }
      EXPECT_TRUE(ok(stoker_request_statistics(transfer.request(), &statistics)));
      const double gain = statistics.mpi_seconds - statistics.exposed_seconds / 3;
      if (gain > 0) {
        EXPECT_GE(statistics.break_even, 1);
        EXPECT_GE(static_cast<double>(statistics.break_even) * gain, statistics.init_seconds * (1 - 1e-9));
        EXPECT_LT(static_cast<double>(statistics.break_even - 1) * gain, statistics.init_seconds);
      } else {
        EXPECT_EQ(statistics.break_even, -1);
      }
    }
  }
}

} // namespace
} // namespace api_tests
