// SPDX-License-Identifier: BSD-3-Clause
// Requests that the kernel of a device carries out: all collectives, streams, errors, and what is left to staging.
// STOKER_TEST_DRIVER: see device.hpp. DEVICE_EPOCHS has any of these words: "refused" where the driver shares no memory
// between processes, "hosted" where its streams cannot wait for words, "two devices" where ranks have one or the other
// in turn, "far" where these do not reach each other's memory.
#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"
#include "tests/api/transfer.hpp"
#include "tests/api/vector_transfer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>

namespace api_tests {
namespace {

using algos::Collective;
using device_tests::DeviceMemory;
using device_tests::Kind;
using device_tests::Stream;

bool variant(const char* name) {
  const char* const given = std::getenv("DEVICE_EPOCHS");
  return given != nullptr && std::strstr(given, name) != nullptr;
}

// Whether kernels can carry requests out at all.
bool has_kernel() {
  const bool words_are_missing = variant("two devices") && variant("hosted");
  return world_size() == 1 || !(variant("refused") || variant("far") || words_are_missing);
}

class EachRanksDevice : public testing::Environment {
  void SetUp() override {
    if (variant("two devices")) {
      device_tests::set_usual_device(world_rank() % 2);
    }
  }
};
const auto* const each_ranks_device = testing::AddGlobalTestEnvironment(new EachRanksDevice);

// An error that several ranks have has each rank's own text.
std::string own_name() { return "rank " + std::to_string(world_rank()); }

std::string executor_of(stoker_request request) {
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_request_statistics(request, &statistics)));
  return statistics.executor;
}

// With ranks that are late in turn.
void run_epochs(stoker_request request, auto& transfer) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    transfer.prepare();
    if (epoch == 1 && world_rank() == transfer.spec().id % world_size()) {
      usleep(2000);
    }
    note("epoch of " + describe(transfer.spec()));
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    EXPECT_EQ(transfer.defect(), "");
  }
}

TEST(Epochs, OfExchanges) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  int id = 0;
  for (const Types types : {Types::bytes, Types::doubles, Types::contiguous, Types::strided}) {
    for (const Pattern pattern : {Pattern::alltoall, Pattern::random}) {
      TransferSpec spec;
      spec.id = ++id;
      spec.pattern = pattern;
      spec.block_bytes = id % 2 == 0 ? 70'000 : 64;
      spec.types = types;
      spec.memory = Memory::device;
      spec.in_place = pattern == Pattern::alltoall && id % 3 == 0;
      spec.algorithm = pattern == Pattern::alltoall && id % 4 == 1 ? "radix:r=2" : "";
      if (!is_legal(spec)) {
        continue;
      }
      note("init of " + describe(spec));
      Transfer transfer(spec, engine.get(), MPI_COMM_WORLD);
      ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << describe(spec) << ": " << transfer.message();
      if (pattern == Pattern::alltoall) { // random blocks may leave a rank without data
        EXPECT_EQ(executor_of(transfer.request()) == "device", has_kernel() && types != Types::strided)
            << describe(spec);
      }
      run_epochs(transfer.request(), transfer);
    }
  }
}

class Vectors : public ::testing::TestWithParam<Collective> {};

TEST_P(Vectors, EveryByteIsRight) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  int id = 0;
  for (const Elements elements : {Elements::ints, Elements::doubles, Elements::located, Elements::matrices}) {
    for (const int count : {1, 5000}) {
      VectorSpec spec;
      spec.id = ++id;
      spec.collective = GetParam();
      spec.elements = elements;
      spec.count = count;
      spec.root = algos::has_root(spec.collective) ? id % world_size() : 0;
      spec.in_place = id % 2 == 0 && spec.collective != Collective::bcast;
      spec.device = true;
      note("init of " + describe(spec));
      VectorTransfer transfer(spec, engine.get());
      ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << describe(spec) << ": " << transfer.message();
      // The kernel calls no operator of the application's. Where nothing is combined, a located value has a gap.
      const bool served =
          algos::combines(spec.collective) ? elements != Elements::matrices : elements != Elements::located;
      // Others may leave a rank without data, as a single one in place does.
      const bool has_data = algos::combines(spec.collective)
                                ? count > 1 && (spec.collective != Collective::reduce_scatter || world_size() > 1)
                                : spec.collective == Collective::allgather || spec.collective == Collective::bcast;
      if (has_data) {
        EXPECT_EQ(executor_of(transfer.request()) == "device", has_kernel() && served) << describe(spec);
      }
      run_epochs(transfer.request(), transfer);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, Vectors,
                         ::testing::Values(Collective::allreduce, Collective::reduce, Collective::bcast,
                                           Collective::scan, Collective::exscan, Collective::reduce_scatter,
                                           Collective::allgather, Collective::allgatherv, Collective::gatherv,
                                           Collective::scatterv));

TEST(Epochs, OfANeighborhood) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  const int ranks = world_size();
  const int periodic = 1;
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  const DeviceMemory send(2 * sizeof(int));
  const DeviceMemory recv(2 * sizeof(int));
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(ok(stoker_neighbor_alltoall_init(send.address(), 1, MPI_INT, recv.address(), 1, MPI_INT, ring,
                                               MPI_INFO_NULL, engine.get(), &request)));
  EXPECT_EQ(executor_of(request) == "device", has_kernel());
  const int left = (world_rank() + ranks - 1) % ranks;
  const int right = (world_rank() + 1) % ranks;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto sent = [epoch](int rank, int side) { return 1000 * epoch + 10 * rank + side; };
    const std::vector<int> mine = {sent(world_rank(), 0), sent(world_rank(), 1)};
    std::vector<int> values = {-1, -1};
    send.upload(mine.data(), sizeof(int) * mine.size());
    recv.upload(values.data(), sizeof(int) * values.size());
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    recv.download(values.data(), sizeof(int) * values.size());
    EXPECT_EQ(values, (std::vector<int>{sent(left, 1), sent(right, 0)})) << "epoch " << epoch;
  }
  EXPECT_TRUE(ok(stoker_request_free(&request)));
  MPI_Comm_free(&ring);
}

// A sum of ints over all ranks, in the memory of a device.
class Sum {
public:
  static constexpr int count = 1000;
  static constexpr std::size_t bytes = count * sizeof(int);

  explicit Sum(stoker_engine engine, MPI_Info info = MPI_INFO_NULL, Kind kind = Kind::device)
      : send(bytes, kind), recv(bytes, kind) {
    code = stoker_allreduce_init(send.address(), recv.address(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info, engine,
                                 &request);
    text = code == STOKER_SUCCESS ? "" : stoker_error_message();
  }
  [[nodiscard]] static std::vector<int> operand(int epoch) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 1000 * epoch + world_rank());
    return values;
  }
  [[nodiscard]] static std::vector<int> result(int epoch) {
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) {
      values[static_cast<std::size_t>(i)] = world_size() * (1000 * epoch + i) + world_size() * (world_size() - 1) / 2;
    }
    return values;
  }
  void run(int epoch) const {
    send.upload(operand(epoch).data(), bytes);
    recv.upload(std::vector<int>(count, -1).data(), bytes);
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    std::vector<int> values(count);
    recv.download(values.data(), bytes);
    EXPECT_EQ(values, result(epoch));
  }

  DeviceMemory send;
  DeviceMemory recv;
  stoker_request request = STOKER_REQUEST_NULL;
  int code = 0;
  std::string text;
};

class Info {
public:
  Info(const char* key, const char* value) {
    MPI_Info_create(&info_);
    MPI_Info_set(info_, key, value);
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() { MPI_Info_free(&info_); }
  [[nodiscard]] MPI_Info get() const { return info_; }

private:
  MPI_Info info_ = MPI_INFO_NULL;
};

TEST(Streams, StartRequestsAndWaitForThem) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get());
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  constexpr int epochs = 5;
  std::vector<std::vector<int>> operands;
  std::vector<std::vector<int>> results(epochs, std::vector<int>(Sum::count, -1));
  const std::vector<int> poison(Sum::count, -2);
  {
    const Stream stream;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      operands.push_back(Sum::operand(epoch));
    }
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      if (world_rank() == 0 && epoch == 2) {
        usleep(5000); // others go ahead
      }
      stream.upload(sum.send, operands[epoch].data(), Sum::bytes);
      stream.upload(sum.recv, poison.data(), Sum::bytes);
      EXPECT_TRUE(ok(stoker_start_on(sum.request, stream.handle())));
      EXPECT_TRUE(ok(stoker_wait_on(sum.request, stream.handle())));
      stream.download(results[epoch].data(), sum.recv, Sum::bytes);
    }
    stream.synchronize();
  }
  for (int epoch = 0; epoch < epochs; ++epoch) {
    EXPECT_EQ(results[static_cast<std::size_t>(epoch)], Sum::result(epoch)) << "epoch " << epoch;
  }
  sum.run(epochs); // nothing is left to do first
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
}

TEST(Streams, LeaveARequestActiveUntilTheyGetThere) {
  if (!has_kernel() || variant("hosted") || world_size() == 1) {
    GTEST_SKIP() << "nothing is left to a stream";
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get());
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  const std::vector<int> operand = Sum::operand(0);
  std::vector<int> values(Sum::count, -1);
  sum.send.upload(operand.data(), Sum::bytes);
  const Stream stream;
  if (world_rank() == 0) {
    EXPECT_TRUE(ok(stoker_start_on(sum.request, stream.handle())));
    EXPECT_TRUE(ok(stoker_wait_on(sum.request, stream.handle())));
    EXPECT_TRUE(refused(stoker_start(sum.request), STOKER_ERR_STATE, {"rank 0", "active"}));
    EXPECT_TRUE(refused(stoker_request_free(&sum.request), STOKER_ERR_STATE, {"active"}));
  }
  barrier(); // the others have not started
  if (world_rank() != 0) {
    EXPECT_TRUE(ok(stoker_start(sum.request)));
  }
  EXPECT_TRUE(ok(stoker_wait(sum.request)));
  sum.recv.download(values.data(), Sum::bytes);
  EXPECT_EQ(values, Sum::result(0));
  sum.run(1);
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
}

TEST(Requests, MayBeManyAndFreedInAnyOrder) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  std::vector<std::unique_ptr<Sum>> sums;
  for (int i = 0; i < 6; ++i) {
    sums.push_back(std::make_unique<Sum>(engine.get()));
    ASSERT_EQ(sums.back()->code, STOKER_SUCCESS) << sums.back()->text;
  }
  for (const auto& sum : sums) {
    sum->send.upload(Sum::operand(0).data(), Sum::bytes);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) { // each rank in another order
    const std::size_t place = (i + static_cast<std::size_t>(world_rank())) % sums.size();
    EXPECT_TRUE(ok(stoker_start(sums[place]->request)));
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    int index = -1;
    std::vector<stoker_request> requests;
    for (const auto& sum : sums) {
      requests.push_back(sum->request);
    }
    EXPECT_TRUE(ok(stoker_waitany(static_cast<int>(requests.size()), requests.data(), &index)));
    std::vector<int> values(Sum::count);
    sums[static_cast<std::size_t>(index)]->recv.download(values.data(), Sum::bytes);
    EXPECT_EQ(values, Sum::result(0));
  }
  if (world_rank() % 2 == 0) {
    std::ranges::reverse(sums);
  }
  for (const auto& sum : sums) {
    EXPECT_TRUE(ok(stoker_request_free(&sum->request)));
  }
  Sum again(engine.get());
  again.run(1);
  EXPECT_TRUE(ok(stoker_request_free(&again.request)));
}

TEST(Requests, OfTwoDevicesLeaveRoomForEachOther) {
  if (!has_kernel() || !variant("two devices") || device_tests::driver_function("stand_in_lose") == nullptr) {
    GTEST_SKIP() << "the stand-in's devices run few blocks at a time";
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  const int on_first = (world_size() + 1) / 2;
  const int processes = std::getenv("STAND_IN_MPS") != nullptr ? world_size() : 1;
  const int room = 4 / processes / on_first; // a block for each rank; half of what the device runs
  std::vector<std::unique_ptr<Sum>> sums;
  for (int i = 0; i <= room; ++i) {
    sums.push_back(std::make_unique<Sum>(engine.get()));
    ASSERT_EQ(sums.back()->code, STOKER_SUCCESS) << sums.back()->text;
    EXPECT_EQ(executor_of(sums.back()->request) == "device", i < room) << i;
    sums.back()->run(i);
  }
  const Info info("stoker_executor", "device");
  EXPECT_EQ(Sum(engine.get(), info.get()).code, STOKER_ERR_RESOURCE);
  EXPECT_TRUE(ok(stoker_request_free(&sums.front()->request)));
  Sum another(engine.get(), info.get());
  ASSERT_EQ(another.code, STOKER_SUCCESS) << another.text;
  another.run(0);
  EXPECT_TRUE(ok(stoker_request_free(&another.request)));
  for (std::size_t i = 1; i < sums.size(); ++i) {
    EXPECT_TRUE(ok(stoker_request_free(&sums[i]->request)));
  }
}

TEST(Choices, LeaveToStagingWhatTheKernelCannotDo) {
  {
    const EngineOwner engine(MPI_COMM_WORLD, {});
    for (const Kind kind : {Kind::pool, Kind::managed}) {
      Sum sum(engine.get(), MPI_INFO_NULL, kind);
      ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
      EXPECT_NE(executor_of(sum.request), "device");
      sum.run(0);
      EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
    }
    for (const char* executor : {"engine", "inline"}) { // which somebody asks for
      const Info info("stoker_executor", executor);
      Sum sum(engine.get(), info.get());
      ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
      EXPECT_EQ(executor_of(sum.request), executor);
      sum.run(0);
      EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
    }
  }
  const EngineOwner engine(MPI_COMM_WORLD, {{"device_kernel", "never"}});
  Sum sum(engine.get());
  EXPECT_NE(executor_of(sum.request), "device");
  sum.run(0);
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
}

TEST(Choices, InsistOnTheDevice) {
  const Info info("stoker_executor", "device");
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get(), info.get());
  if (!has_kernel()) {
    if (variant("hosted")) {
      EXPECT_TRUE(refused(sum.code, STOKER_ERR_UNSUPPORTED, {own_name(), "2 devices", "words of 64 bits"}));
    } else {
      EXPECT_TRUE(refused(sum.code, STOKER_ERR_ACCESS, {own_name(), "cuIpcOpenMemHandle"}));
    }
    return;
  }
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  EXPECT_EQ(executor_of(sum.request), "device");
  sum.run(0);
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));

  const Sum in_a_pool(engine.get(), info.get(), Kind::pool);
  EXPECT_EQ(in_a_pool.code, STOKER_ERR_ACCESS);
  for (const std::string& word : {own_name(), std::string("sendbuf"), std::string("expected memory of cudaMalloc")}) {
    EXPECT_NE(in_a_pool.text.find(word), std::string::npos) << in_a_pool.text;
  }
  // One rank's operand is the host's.
  std::vector<int> operand(Sum::count);
  const int odd = world_size() - 1;
  stoker_request request = STOKER_REQUEST_NULL;
  const void* const send = world_rank() == odd ? static_cast<const void*>(operand.data()) : sum.send.address();
  EXPECT_TRUE(refused(stoker_allreduce_init(send, sum.recv.address(), Sum::count, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                            info.get(), engine.get(), &request),
                      STOKER_ERR_ACCESS, {"rank " + std::to_string(odd), "sendbuf", "memory of the host"}));
  EXPECT_TRUE(refused(stoker_allreduce_init(sum.send.address(), sum.recv.address(), 1, MPI_LONG_DOUBLE, MPI_SUM,
                                            MPI_COMM_WORLD, info.get(), engine.get(), &request),
                      STOKER_ERR_UNSUPPORTED, {own_name(), "long double"}));
  // The same by the setting; a barrier has no buffers that it could be about.
  const EngineOwner other(MPI_COMM_WORLD, {{"access", "device"}});
  EXPECT_TRUE(refused(stoker_allreduce_init(send, sum.recv.address(), Sum::count, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                            MPI_INFO_NULL, other.get(), &request),
                      STOKER_ERR_ACCESS, {"sendbuf"}));
  ASSERT_TRUE(ok(stoker_barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, other.get(), &request)));
  EXPECT_TRUE(ok(stoker_start(request)));
  EXPECT_TRUE(ok(stoker_wait(request)));
  EXPECT_TRUE(ok(stoker_request_free(&request)));
}

TEST(Errors, OfMemoryThatIsFreed) {
  if (!has_kernel()) {
    GTEST_SKIP() << "devices buffers has this for staging";
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get());
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  sum.recv.free();
  EXPECT_TRUE(refused(stoker_start(sum.request), STOKER_ERR_ACCESS, {own_name(), "recvbuf", "not allocated"}));
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
}

TEST(Errors, OfALaunchThatOneRankIsRefused) {
  auto* const refuse = reinterpret_cast<void (*)(int)>(device_tests::driver_function("stand_in_refuse_launches"));
  if (!has_kernel() || refuse == nullptr) {
    GTEST_SKIP() << "the stand-in alone refuses launches at will";
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get());
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  sum.run(0);
  const Stream stream;
  if (world_rank() == 0) {
    barrier();
    refuse(1);
    EXPECT_TRUE(ok(stoker_start(sum.request))); // the last one
    refuse(0);
  } else {
    EXPECT_TRUE(ok(stoker_start(sum.request)));
    if (!variant("hosted")) {
      EXPECT_TRUE(ok(stoker_wait_on(sum.request, stream.handle())));
    }
    barrier();
  }
  EXPECT_TRUE(refused(stoker_wait(sum.request), STOKER_ERR_ACCESS, {"rank 0, which launches", "epoch 2"}));
  stream.synchronize(); // it does not wait for ever
  EXPECT_TRUE(refused(stoker_start(sum.request), STOKER_ERR_STATE, {"broken"}));
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
  Sum next(engine.get());
  next.run(1);
  EXPECT_TRUE(ok(stoker_request_free(&next.request)));
}

TEST(Errors, LeaveNoStreamWaiting) {
  auto* const refuse = reinterpret_cast<void (*)(int)>(device_tests::driver_function("stand_in_refuse_launches"));
  if (!has_kernel() || refuse == nullptr || variant("hosted")) {
    GTEST_SKIP() << "the stand-in alone refuses launches at will, and no stream waits";
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get());
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  const bool last = world_rank() == 0; // to start, so that it launches the second epoch
  {
    const Stream stream;
    EXPECT_TRUE(ok(stoker_start_on(sum.request, stream.handle())));
    EXPECT_TRUE(ok(stoker_wait_on(sum.request, stream.handle())));
    if (last) {
      barrier();
      refuse(1);
    }
    EXPECT_TRUE(ok(stoker_start_on(sum.request, stream.handle())));
    if (last) {
      refuse(0);
    } else {
      EXPECT_TRUE(ok(stoker_wait_on(sum.request, stream.handle())));
      barrier();
    }
    stream.synchronize();   // without a word to the library
    DeviceMemory(1).free(); // waits for the library's own streams as well
  }
  EXPECT_TRUE(refused(stoker_wait(sum.request), STOKER_ERR_ACCESS, {"rank 0, which launches", "epoch 2"}));
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
}

TEST(Errors, OfAStreamThatIsCaptured) {
  auto* const capture = reinterpret_cast<void (*)(int)>(device_tests::driver_function("stand_in_capture"));
  if (!has_kernel() || capture == nullptr || variant("hosted")) {
    GTEST_SKIP() << "the stand-in alone says so at will, and the host does not ask";
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get());
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  {
    const Stream stream;
    capture(1);
    EXPECT_TRUE(
        refused(stoker_start_on(sum.request, stream.handle()), STOKER_ERR_UNSUPPORTED, {"rank", "stream", "graph"}));
    capture(0);
  }
  sum.run(0);
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
}

TEST(Errors, OfADeviceThatIsLost) {
  auto* const lose = reinterpret_cast<void (*)(int)>(device_tests::driver_function("stand_in_lose"));
  if (!has_kernel() || lose == nullptr) {
    GTEST_SKIP() << "the stand-in's devices alone can be lost";
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  Sum sum(engine.get());
  ASSERT_EQ(sum.code, STOKER_SUCCESS) << sum.text;
  barrier();
  lose(1);
  // The other device's ranks may already know.
  if (const int code = stoker_start(sum.request); code == STOKER_SUCCESS) {
    EXPECT_TRUE(refused(stoker_wait(sum.request), STOKER_ERR_ACCESS, {"CUDA_ERROR_LAUNCH_FAILED", "epoch 1"}));
  } else {
    EXPECT_TRUE(variant("two devices") && refused(code, STOKER_ERR_ACCESS, {"CUDA_ERROR_LAUNCH_FAILED"}));
  }
  EXPECT_TRUE(ok(stoker_request_free(&sum.request)));
  barrier();
  lose(0);
}

} // namespace
} // namespace api_tests
