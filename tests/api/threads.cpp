// SPDX-License-Identifier: BSD-3-Clause
// stoker next to the application's own threads and messages: several threads of a rank at work, and MPI point-to-point
// traffic that only progresses because waiting in stoker drives MPI too.
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <memory>
#include <thread>

namespace api_tests {
namespace {

class Threads : public ::testing::TestWithParam<const char*> {};

std::unique_ptr<Transfer> transfer_of(int id, stoker_engine engine, MPI_Comm comm, std::uint64_t block_bytes) {
  TransferSpec spec;
  spec.id = id;
  spec.block_bytes = block_bytes;
  return std::make_unique<Transfer>(spec, engine, comm);
}

// Runs epochs and returns the first thing that went wrong; for threads, which report to the test's thread.
std::string run_epochs(Transfer& transfer, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    transfer.prepare();
    int code = stoker_start(transfer.request());
    if (code == STOKER_SUCCESS) {
      code = stoker_wait(transfer.request());
    }
    if (code != STOKER_SUCCESS) {
      return std::string(stoker_error_string(code)) + ": " + stoker_error_message();
    }
    if (std::string defect = transfer.defect(); !defect.empty()) {
      return defect;
    }
  }
  return "";
}

TEST_P(Threads, TwoThreadsWithRequestsOfTheirOwn) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  const CommOwner comms[] = {CommOwner(duplicate(MPI_COMM_WORLD)), CommOwner(split(MPI_COMM_WORLD, 0, -world_rank()))};
  const auto first = transfer_of(1, engine.get(), comms[0].get(), 3000);
  const auto second = transfer_of(2, engine.get(), comms[1].get(), 70000);
  std::string defects[2];
  std::thread other([&] { defects[1] = run_epochs(*second, 40); });
  defects[0] = run_epochs(*first, 40);
  other.join();
  EXPECT_EQ(defects[0], "");
  EXPECT_EQ(defects[1], "");
}

TEST_P(Threads, InitAndFreeInTwoThreads) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  const CommOwner comms[] = {CommOwner(duplicate(MPI_COMM_WORLD)), CommOwner(duplicate(MPI_COMM_WORLD))};
  std::string defects[2];
  const auto work = [&](int which) {
    for (int round = 0; round < 4 && defects[which].empty(); ++round) {
      const auto transfer = transfer_of(10 * which + round, engine.get(), comms[which].get(), 500);
      defects[which] = transfer->code() == STOKER_SUCCESS ? run_epochs(*transfer, 3) : transfer->message();
    }
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  EXPECT_EQ(defects[0], "");
  EXPECT_EQ(defects[1], "");
}

TEST_P(Threads, StartedInOneThreadAwaitedInAnother) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  const auto transfer = transfer_of(1, engine.get(), MPI_COMM_WORLD, 2000);
  for (int epoch = 0; epoch < 5; ++epoch) {
    transfer->prepare();
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
    int code = STOKER_ERR_STATE;
    std::thread([&] { code = stoker_wait(transfer->request()); }).join();
    EXPECT_EQ(code, STOKER_SUCCESS);
    EXPECT_EQ(transfer->defect(), "");
  }
}

TEST_P(Threads, ErrorMessagesBelongToTheirThread) {
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(refused(stoker_start(request), STOKER_ERR_REQUEST));
  const std::string mine = stoker_error_message();
  std::thread([] {
    void* memory = nullptr;
    (void)stoker_alloc(STOKER_ENGINE_NULL, 1, &memory);
  }).join();
  EXPECT_EQ(mine, stoker_error_message());
}

// Odd ranks start only after they received a message too large to be sent eagerly; its sender is already in
// stoker_wait.
TEST_P(Threads, WaitingDrivesTheApplicationsOwnMessages) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  const auto transfer = transfer_of(1, engine.get(), MPI_COMM_WORLD, 1000);
  std::vector<int> message(1 << 20);
  for (const bool paused : {false, true}) {
    if (paused) {
      EXPECT_TRUE(ok(stoker_pause(engine.get())));
    }
    for (const int senders : {0, 1}) { // the even ranks send, then the odd ones
      const bool sends = world_rank() % 2 == senders;
      const int peer = world_rank() ^ 1;
      const bool paired = peer < world_size();
      transfer->prepare();
      MPI_Request pending = MPI_REQUEST_NULL;
      if (paired && sends) {
        std::fill(message.begin(), message.end(), 77 + world_rank());
        MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_INT, peer, 1, MPI_COMM_WORLD, &pending);
      } else if (paired) {
        MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(message.front(), 77 + peer);
        EXPECT_EQ(message.back(), 77 + peer);
      }
      note(std::string("waiting with a message under way") + (paused ? ", paused" : ""));
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      EXPECT_EQ(transfer->defect(), "");
      MPI_Wait(&pending, MPI_STATUS_IGNORE);
    }
  }
  EXPECT_TRUE(ok(stoker_resume(engine.get())));
}

// A communicator may carry the application's collectives and messages with any tag while requests on it are active.
TEST_P(Threads, TheApplicationsTrafficOnTheSameCommunicator) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}, {"ranks_per_node", "1"}});
  const auto transfer = transfer_of(1, engine.get(), MPI_COMM_WORLD, 20000);
  const int right = (world_rank() + 1) % world_size();
  for (int epoch = 0; epoch < 4; ++epoch) {
    transfer->prepare();
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
    int sum = 0;
    MPI_Allreduce(&epoch, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(sum, epoch * world_size());
    int received = -1;
    const int sent = world_rank() * 10 + epoch;
    MPI_Request pending;
    MPI_Isend(&sent, 1, MPI_INT, right, epoch, MPI_COMM_WORLD, &pending);
    MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(received, (world_rank() + world_size() - 1) % world_size() * 10 + epoch);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    EXPECT_TRUE(ok(stoker_wait(transfer->request())));
    EXPECT_EQ(transfer->defect(), "");
    MPI_Barrier(MPI_COMM_WORLD); // the next epoch's any-source receive must not meet this one's message
  }
}

INSTANTIATE_TEST_SUITE_P(Executors, Threads, ::testing::Values("engine", "inline"),
                         [](const auto& param) { return std::string(param.param); });

} // namespace
} // namespace api_tests
