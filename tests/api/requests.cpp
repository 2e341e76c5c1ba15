// SPDX-License-Identifier: BSD-3-Clause
// The life of a request: states, which call is legal in each, completion calls, orders of starting, statistics. Every
// test runs with the engine and with the inline executor.
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <thread>

namespace api_tests {
namespace {

class Requests : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    engine_ = std::make_unique<EngineOwner>(MPI_COMM_WORLD, Settings{{"executor", GetParam()}});
    ASSERT_TRUE(everywhere(engine_->get() != STOKER_ENGINE_NULL));
  }

  std::unique_ptr<Transfer> make(int id, std::uint64_t block_bytes = 256, MPI_Comm comm = MPI_COMM_WORLD,
                                 Pattern pattern = Pattern::alltoall) {
    TransferSpec spec;
    spec.id = id;
    spec.block_bytes = block_bytes;
    spec.pattern = pattern;
    auto transfer = std::make_unique<Transfer>(spec, engine_->get(), comm);
    EXPECT_EQ(transfer->code(), STOKER_SUCCESS) << transfer->message();
    return transfer;
  }
  Transfers make_many(int count, std::uint64_t block_bytes = 64) {
    Transfers transfers;
    for (int id = 0; id < count; ++id) {
      note("init " + std::to_string(id));
      transfers.push_back(make(id, block_bytes));
    }
    return transfers;
  }
  [[nodiscard]] stoker_engine engine() const { return engine_->get(); }

  static void expect_right(const Transfer& transfer) {
    const std::string defect = transfer.defect();
    EXPECT_TRUE(defect.empty()) << defect;
  }
  static void run_once(Transfer& transfer) {
    transfer.prepare();
    EXPECT_TRUE(ok(stoker_start(transfer.request())));
    EXPECT_TRUE(ok(stoker_wait(transfer.request())));
    expect_right(transfer);
  }

private:
  std::unique_ptr<EngineOwner> engine_;
};

TEST_P(Requests, InactiveAndNullCompleteAtOnce) {
  const auto transfer = make(1);
  for (int round = 0; round < 2; ++round) { // before the first start, and after a completed epoch
    for (const stoker_request request : {transfer->request(), STOKER_REQUEST_NULL}) {
      int flag = 0;
      EXPECT_TRUE(ok(stoker_test(request, &flag)));
      EXPECT_EQ(flag, 1);
      EXPECT_TRUE(ok(stoker_wait(request)));
    }
    run_once(*transfer);
  }
}

TEST_P(Requests, HandleKeepsItsValue) {
  const auto transfer = make(1);
  const stoker_request before = transfer->request();
  EXPECT_NE(before, STOKER_REQUEST_NULL);
  for (int epoch = 0; epoch < 3; ++epoch) {
    run_once(*transfer);
    EXPECT_EQ(transfer->request(), before);
  }
  EXPECT_TRUE(ok(transfer->free()));
  EXPECT_EQ(transfer->request(), STOKER_REQUEST_NULL);
}

TEST_P(Requests, FreeWithoutAnyStart) {
  for (int i = 0; i < 5; ++i) {
    const auto transfer = make(i, std::uint64_t{1} << (3 * i));
    EXPECT_TRUE(ok(transfer->free()));
  }
}

// Freeing is local: ranks free at different times and in different orders while others still work.
TEST_P(Requests, FreeIsLocal) {
  Transfers transfers = make_many(6);
  for (const auto& transfer : transfers) {
    run_once(*transfer);
  }
  const auto order = permutation(transfers.size(), static_cast<std::uint64_t>(world_rank()));
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    if (order[i] != 0) {
      EXPECT_TRUE(ok(transfers[order[i]]->free()));
    }
  }
  run_once(*transfers[0]);
}

TEST_P(Requests, ActiveIsNeitherStartedNorFreed) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs a peer that holds its start back";
  }
  const auto transfer = make(1);
  for (int epoch = 0; epoch < 3; ++epoch) {
    transfer->prepare();
    if (world_rank() != 0) { // cannot complete: rank 0's data are missing
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      EXPECT_TRUE(refused(stoker_start(transfer->request()), STOKER_ERR_STATE, {"active"}));
      stoker_request copy = transfer->request();
      EXPECT_TRUE(refused(stoker_request_free(&copy), STOKER_ERR_STATE, {"active"}));
      EXPECT_EQ(copy, transfer->request());
      int flag = 1;
      EXPECT_TRUE(ok(stoker_test(transfer->request(), &flag)));
      EXPECT_EQ(flag, 0);
    }
    barrier();
    if (world_rank() == 0) {
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
    }
    EXPECT_TRUE(ok(stoker_wait(transfer->request())));
    expect_right(*transfer);
  }
}

TEST_P(Requests, CompleteButNotReportedIsNeitherStartedNorFreed) {
  const auto transfer = make(1, 8);
  transfer->prepare();
  EXPECT_TRUE(ok(stoker_start(transfer->request())));
  barrier();
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // complete by now where something executes it
  EXPECT_TRUE(refused(stoker_start(transfer->request()), STOKER_ERR_STATE));
  stoker_request copy = transfer->request();
  EXPECT_TRUE(refused(stoker_request_free(&copy), STOKER_ERR_STATE));
  EXPECT_TRUE(ok(stoker_wait(transfer->request())));
  expect_right(*transfer);
  run_once(*transfer);
}

// A receive buffer belongs to the application until its own rank has started the epoch.
TEST_P(Requests, NothingArrivesBeforeTheStart) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs a peer";
  }
  Transfers transfers;
  for (const std::uint64_t block : {std::uint64_t{16}, std::uint64_t{20000}, std::uint64_t{300000}}) {
    transfers.push_back(make(static_cast<int>(transfers.size()), block));
  }
  const int late = world_size() - 1;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
    }
    barrier();
    if (world_rank() != late) {
      for (const auto& transfer : transfers) {
        EXPECT_TRUE(ok(stoker_start(transfer->request())));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    barrier();
    if (world_rank() == late) {
      for (const auto& transfer : transfers) {
        EXPECT_TRUE(transfer->recv_untouched()) << describe(transfer->spec()) << ", epoch " << epoch;
        EXPECT_TRUE(ok(stoker_start(transfer->request())));
      }
    }
    for (const auto& transfer : transfers) {
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      expect_right(*transfer);
    }
  }
}

TEST_P(Requests, FreedHandleIsRefused) {
  const auto transfer = make(1);
  stoker_request stale = transfer->request();
  EXPECT_TRUE(ok(transfer->free()));
  int flag = 0;
  int index = 0;
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(refused(stoker_start(stale), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_startall(1, &stale), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_test(stale, &flag), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_testall(1, &stale, &flag), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_testany(1, &stale, &index, &flag), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_wait(stale), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_waitall(1, &stale), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_waitany(1, &stale, &index), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_request_statistics(stale, &statistics), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_request_free(&stale), STOKER_ERR_REQUEST));
}

TEST_P(Requests, ForeignHandleIsRefused) {
  alignas(64) unsigned char bytes[512] = {};
  MPI_Request foreign = MPI_REQUEST_NULL;
  int flag = 0;
  for (void* pointer : {static_cast<void*>(bytes), static_cast<void*>(bytes + 1), static_cast<void*>(&foreign),
                        reinterpret_cast<void*>(std::uintptr_t{16}), static_cast<void*>(engine())}) {
    auto* request = static_cast<stoker_request>(pointer);
    EXPECT_TRUE(refused(stoker_start(request), STOKER_ERR_REQUEST));
    EXPECT_TRUE(refused(stoker_test(request, &flag), STOKER_ERR_REQUEST));
    EXPECT_TRUE(refused(stoker_wait(request), STOKER_ERR_REQUEST));
    EXPECT_TRUE(refused(stoker_request_free(&request), STOKER_ERR_REQUEST));
  }
  EXPECT_TRUE(refused(stoker_start(STOKER_REQUEST_NULL), STOKER_ERR_REQUEST));
}

TEST_P(Requests, TestallChangesNoneUntilAllAreComplete) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs a peer that holds its start back";
  }
  const auto early = make(1);
  const auto late = make(2);
  const stoker_request both[] = {early->request(), STOKER_REQUEST_NULL, late->request()};
  for (int epoch = 0; epoch < 3; ++epoch) {
    early->prepare();
    late->prepare();
    EXPECT_TRUE(ok(stoker_start(early->request())));
    if (world_rank() != 0) {
      EXPECT_TRUE(ok(stoker_start(late->request())));
      for (int i = 0; i < 20; ++i) {
        int flag = 1;
        EXPECT_TRUE(ok(stoker_testall(3, both, &flag)));
        EXPECT_EQ(flag, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_TRUE(refused(stoker_start(early->request()), STOKER_ERR_STATE)); // still active, or complete
    }
    barrier();
    if (world_rank() == 0) {
      EXPECT_TRUE(ok(stoker_start(late->request())));
    }
    int flag = 0;
    while (flag == 0) {
      ASSERT_TRUE(ok(stoker_testall(3, both, &flag)));
    }
    expect_right(*early);
    expect_right(*late);
  }
}

TEST_P(Requests, EmptyListsAndInactiveOnlyLists) {
  const auto transfer = make(1);
  const stoker_request idle[] = {STOKER_REQUEST_NULL, transfer->request(), STOKER_REQUEST_NULL};
  for (const int count : {0, 3}) {
    int flag = 0;
    int index = 0;
    const stoker_request* list = count == 0 ? nullptr : idle;
    EXPECT_TRUE(ok(stoker_waitall(count, list)));
    EXPECT_TRUE(ok(stoker_testall(count, list, &flag)));
    EXPECT_EQ(flag, 1);
    EXPECT_TRUE(ok(stoker_waitany(count, list, &index)));
    EXPECT_EQ(index, MPI_UNDEFINED);
    flag = 0;
    index = 0;
    EXPECT_TRUE(ok(stoker_testany(count, list, &index, &flag)));
    EXPECT_EQ(index, MPI_UNDEFINED);
    EXPECT_EQ(flag, 1);
  }
  EXPECT_TRUE(ok(stoker_startall(0, nullptr)));
  EXPECT_TRUE(refused(stoker_waitall(-1, idle), STOKER_ERR_ARGUMENT, {"count", "-1"}));
}

TEST_P(Requests, TestanyReportsNothingWhileNoneIsComplete) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs a peer that holds its start back";
  }
  const auto transfer = make(1);
  const stoker_request list[] = {transfer->request()};
  transfer->prepare();
  if (world_rank() != 0) {
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
    int flag = 1;
    int index = 0;
    EXPECT_TRUE(ok(stoker_testany(1, list, &index, &flag)));
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(index, MPI_UNDEFINED);
  }
  barrier();
  if (world_rank() == 0) {
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
  }
  int index = MPI_UNDEFINED;
  EXPECT_TRUE(ok(stoker_waitany(1, list, &index)));
  EXPECT_EQ(index, 0);
  expect_right(*transfer);
}

TEST_P(Requests, WaitanyReportsEachOnce) {
  Transfers transfers = make_many(7);
  auto list = requests_of(transfers);
  list.insert(list.begin() + 3, STOKER_REQUEST_NULL);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto resting = static_cast<std::size_t>(epoch); // this one is not started
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      transfers[i]->prepare();
      if (i != resting) {
        EXPECT_TRUE(ok(stoker_start(transfers[i]->request())));
      }
    }
    std::set<int> seen;
    for (std::size_t i = 0; i + 1 < transfers.size(); ++i) {
      int index = MPI_UNDEFINED;
      ASSERT_TRUE(ok(stoker_waitany(static_cast<int>(list.size()), list.data(), &index)));
      ASSERT_NE(index, MPI_UNDEFINED);
      EXPECT_TRUE(seen.insert(index).second) << "index " << index << " twice";
      EXPECT_NE(index, 3);
      expect_right(*transfers[static_cast<std::size_t>(index > 3 ? index - 1 : index)]);
    }
    int index = 0;
    EXPECT_TRUE(ok(stoker_waitany(static_cast<int>(list.size()), list.data(), &index)));
    EXPECT_EQ(index, MPI_UNDEFINED);
  }
}

TEST_P(Requests, Startall) {
  Transfers transfers = make_many(9);
  auto list = requests_of(transfers);
  if (world_rank() % 2 == 1) {
    std::reverse(list.begin(), list.end());
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
    }
    EXPECT_TRUE(ok(stoker_startall(static_cast<int>(list.size()), list.data())));
    EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(list.size()), list.data())));
    for (const auto& transfer : transfers) {
      expect_right(*transfer);
    }
  }
}

// More than a ring holds, each rank in an order of its own: back-pressure must neither drop nor deadlock. Most of them
// are on MPI_COMM_SELF, whose init costs no communication.
TEST_P(Requests, HundredsActiveInOrdersThatDiffer) {
  Transfers transfers = make_many(full_run() ? 1000 : 60, 24);
  for (int id = 0; id < 300; ++id) {
    transfers.push_back(make(10000 + id, 24, MPI_COMM_SELF));
  }
  const auto list = requests_of(transfers);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
    }
    note("starting hundreds, epoch " + std::to_string(epoch));
    const auto rank = static_cast<std::uint64_t>(world_rank());
    auto order = permutation(list.size(), epoch * 100 + rank);
    if (epoch == 0) { // the harshest order for rings: exactly opposite
      std::sort(order.begin(), order.end());
      if (rank % 2 == 1) {
        std::reverse(order.begin(), order.end());
      }
    }
    for (const std::size_t i : order) {
      EXPECT_TRUE(ok(stoker_start(list[i])));
    }
    note("waiting for hundreds, epoch " + std::to_string(epoch));
    if (epoch == 1) {
      for (const std::size_t i : permutation(list.size(), 7 + rank)) {
        EXPECT_TRUE(ok(stoker_wait(list[i])));
      }
    } else {
      EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(list.size()), list.data())));
    }
    for (const auto& transfer : transfers) {
      expect_right(*transfer);
    }
  }
}

// One request, many epochs, ranks drifting apart by as much as the exchange allows.
TEST_P(Requests, ManyEpochsWithDrift) {
  const auto transfer = make(1, 96);
  Random random(static_cast<std::uint64_t>(world_rank()));
  for (int epoch = 0; epoch < 200; ++epoch) {
    if (random.below(16) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
    }
    run_once(*transfer);
  }
}

// Only neighbours exchange, so ranks may run several epochs ahead of each other.
TEST_P(Requests, EpochsDoNotOvertakeEachOther) {
  const auto transfer = make(3, 40, MPI_COMM_WORLD, Pattern::one_to_all); // the root needs nobody's data
  Random random(static_cast<std::uint64_t>(world_rank()));
  for (int epoch = 0; epoch < 60; ++epoch) {
    transfer->prepare();
    if (world_rank() != 3 % world_size() && random.below(8) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
    EXPECT_TRUE(ok(stoker_wait(transfer->request())));
    expect_right(*transfer);
  }
}

// Used in a blocking way, a request leaves the helper asleep; when the rank then waits for something else, which
// depends on the exchange, the helper has to notice.
TEST_P(Requests, ProgressesWhileItsRankWaitsElsewhere) {
  if (std::string(GetParam()) == "inline" || world_size() < 2) {
    GTEST_SKIP() << "needs a helper and a peer";
  }
  // Every rank with a helper of its own, which nobody else wakes; all ranks on one node, where Start leaves all steps to
  // Wait and the helper is not told.
  for (const char* const per_node : {"1", "1000"}) {
    SCOPED_TRACE(per_node);
    const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}, {"ranks_per_node", per_node}});
    TransferSpec spec;
    spec.block_bytes = 256;
    spec.algorithm = "bruck"; // several steps, each of which needs the peers'
    auto transfer = std::make_unique<Transfer>(spec, engine.get(), MPI_COMM_WORLD);
    ASSERT_EQ(transfer->code(), STOKER_SUCCESS) << transfer->message();
    const auto run_once = [&](auto before_wait, auto after_wait) {
      transfer->prepare();
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      before_wait();
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      after_wait();
      expect_right(*transfer);
    };
    const auto nothing = [] {};
    for (int round = 0; round < 3; ++round) {
      for (int epoch = 0; epoch < 20; ++epoch) {
        run_once(nothing, nothing);
      }
      int token = 0;
      if (world_rank() == 0) {
        run_once([&] { MPI_Recv(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }, nothing);
      } else {
        run_once(nothing, [&] {
          if (world_rank() == 1) {
            MPI_Send(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
          }
        });
      }
    }
  }
}

TEST_P(Requests, Statistics) {
  const std::uint64_t block = 512;
  const auto transfer = make(1, block);
  for (int epoch = 0; epoch < 3; ++epoch) {
    run_once(*transfer);
  }
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  ASSERT_TRUE(ok(stoker_request_statistics(transfer->request(), &statistics)));
  EXPECT_EQ(statistics.starts, 3u);
  EXPECT_STREQ(statistics.executor, GetParam());
  const std::set<std::string> algorithms = {"nonblocking", "hierarchical"};
  const std::set<std::string> accesses = {"own", "mapped", "xpmem", "cma", "staged"};
  EXPECT_TRUE(algorithms.contains(statistics.algorithm)) << statistics.algorithm;
  EXPECT_TRUE(accesses.contains(statistics.send_access)) << statistics.send_access;
  EXPECT_TRUE(accesses.contains(statistics.recv_access)) << statistics.recv_access;
  EXPECT_GE(statistics.init_seconds, 0.0);
  EXPECT_GE(statistics.exchange_seconds, 0.0);
  EXPECT_GE(statistics.exposed_seconds, 0.0);
  EXPECT_GE(statistics.hidden_seconds, 0.0);
}

TEST_P(Requests, StatisticsDivideTheTimeOfThoseThatTalkToOtherNodes) {
  const EngineOwner nodes(MPI_COMM_WORLD, {{"executor", GetParam()}, {"ranks_per_node", "2"}, {"inline_times", "1"}});
  TransferSpec spec;
  spec.block_bytes = 512;
  spec.algorithm = "hierarchical";
  Transfer transfer(spec, nodes.get(), MPI_COMM_WORLD);
  ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
  for (int epoch = 0; epoch < 3; ++epoch) {
    run_once(transfer);
  }
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  ASSERT_TRUE(ok(stoker_request_statistics(transfer.request(), &statistics)));
  EXPECT_GT(statistics.exchange_seconds, 0.0);
  const bool talks = world_rank() % 2 == 0 && world_size() > 2; // the leaders, where there are several nodes
  EXPECT_EQ(statistics.wire_seconds > 0, talks);
  EXPECT_EQ(statistics.before_wire_seconds > 0, talks);
  EXPECT_LE(statistics.before_wire_seconds + statistics.wire_seconds, statistics.exchange_seconds);
}

TEST_P(Requests, StatisticsCountBytesByPath) {
  const std::uint64_t block = 512;
  const EngineOwner own_nodes(MPI_COMM_WORLD, {{"executor", GetParam()}, {"ranks_per_node", "1"}});
  TransferSpec spec;
  spec.block_bytes = block;
  spec.algorithm = "nonblocking";
  const auto others = static_cast<std::uint64_t>(world_size() - 1);
  for (const bool wire : {false, true}) {
    Transfer transfer(spec, wire ? own_nodes.get() : engine(), MPI_COMM_WORLD);
    ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
    run_once(transfer);
    stoker_statistics statistics{};
    statistics.size = sizeof statistics;
    ASSERT_TRUE(ok(stoker_request_statistics(transfer.request(), &statistics)));
    EXPECT_EQ(statistics.bytes_wire, wire ? others * block : 0);
    if (!wire) {
      EXPECT_GE(statistics.bytes_node, others * block); // the block to itself may count or not
      EXPECT_LE(statistics.bytes_node, (others + 1) * block);
    }
  }
}

// Lengths on both sides of a piece and of a window of them; ranks that run ahead of others by an epoch.
TEST_P(Requests, MessagesInPieces) {
  const EngineOwner nodes(MPI_COMM_WORLD,
                          {{"executor", GetParam()}, {"ranks_per_node", "1"}, {"wire_piece_bytes", "512"}});
  Transfers transfers;
  for (const std::uint64_t bytes : {508U, 512U, 516U, 1024U, 1028U, 64U * 512U, 64U * 512U + 4U, 200000U}) {
    for (const Pattern pattern : {Pattern::alltoall, Pattern::one_to_all}) {
      TransferSpec spec;
      spec.id = static_cast<int>(transfers.size());
      spec.block_bytes = bytes;
      spec.pattern = pattern;
      spec.algorithm = "nonblocking";
      transfers.push_back(std::make_unique<Transfer>(spec, nodes.get(), MPI_COMM_WORLD));
      ASSERT_EQ(transfers.back()->code(), STOKER_SUCCESS) << transfers.back()->message();
    }
  }
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
      if (world_rank() == epoch % world_size()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the others are ahead
      }
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      const std::string defect = transfer->defect();
      EXPECT_TRUE(defect.empty()) << defect;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Executors, Requests, ::testing::Values("engine", "inline"),
                         [](const auto& param) { return std::string(param.param); });

} // namespace
} // namespace api_tests
