// SPDX-License-Identifier: BSD-3-Clause
// Requests and calls whose buffers are on a device: all collectives, on all ranks or on some of them, and what is
// refused. STOKER_RANKS_PER_NODE pretends nodes; STOKER_TEST_DRIVER: see device.hpp.
#include <stoker/stoker_blocking.h>

#include "tests/api/global_support.hpp"
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"
#include "tests/api/vector_transfer.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <numeric>

namespace api_tests {
namespace {

using algos::Collective;
using device_tests::DeviceMemory;
using device_tests::Kind;

const std::vector<Settings>& engine_settings() {
  static const std::vector<Settings> all = {{{"executor", "engine"}}, {{"executor", "inline"}, {"access", "staged"}}};
  return all;
}

void run_epochs(stoker_request request, auto& transfer) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    transfer.prepare();
    note("epoch of " + describe(transfer.spec()));
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    EXPECT_EQ(transfer.defect(), "");
  }
}

std::string access_of(stoker_request request, bool recv) {
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_request_statistics(request, &statistics)));
  return recv ? statistics.recv_access : statistics.send_access;
}

class Exchanges : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Exchanges, EveryByteIsRight) {
  const EngineOwner engine(MPI_COMM_WORLD, engine_settings()[GetParam()]);
  int id = 0;
  for (const Types types : type_pairs) {
    for (const Pattern pattern : {Pattern::alltoall, Pattern::random, Pattern::all_to_one}) {
      for (const std::uint64_t block : {std::uint64_t{64}, std::uint64_t{65544}}) {
        TransferSpec spec;
        spec.id = ++id;
        spec.pattern = pattern;
        spec.block_bytes = block;
        spec.types = types;
        // Ranks differ in where their buffers are.
        constexpr std::array places = {Memory::device, Memory::device_recv, Memory::heap};
        spec.memory =
            id % 2 == 0 ? Memory::device : places[static_cast<std::size_t>(world_rank() + id) % places.size()];
        spec.in_place = id % 5 == 0;
        spec.wide = id % 3 == 0;
        spec.algorithm = pattern == Pattern::alltoall && id % 4 == 0 ? "hierarchical" : "";
        if (!is_legal(spec)) {
          continue;
        }
        note("init of " + describe(spec));
        Transfer transfer(spec, engine.get(), MPI_COMM_WORLD);
        ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << describe(spec) << ": " << transfer.message();
        run_epochs(transfer.request(), transfer);
      }
    }
  }
}

class Vectors : public ::testing::TestWithParam<std::tuple<std::size_t, Collective>> {};

TEST_P(Vectors, EveryByteIsRight) {
  const auto& [settings, collective] = GetParam();
  const EngineOwner engine(MPI_COMM_WORLD, engine_settings()[settings]);
  int id = 0;
  for (const Elements elements : all_elements) {
    for (const int count : {1, 5000}) {
      VectorSpec spec;
      spec.id = ++id;
      spec.collective = collective;
      spec.elements = elements;
      spec.count = count;
      spec.root = algos::has_root(collective) ? id % world_size() : 0;
      spec.in_place = id % 2 == 0 && collective != Collective::bcast;
      spec.wide = id % 3 == 0;
      spec.device = id % 5 != 0 || world_rank() % 2 == 0;
      note("init of " + describe(spec));
      VectorTransfer transfer(spec, engine.get());
      if (elements == Elements::gapped_matrices && algos::combines(collective)) {
        if (collective == Collective::reduce_scatter && world_size() == 1) {
          continue; // there are no data
        }
        EXPECT_EQ(transfer.code(), STOKER_ERR_UNSUPPORTED) << transfer.message();
        EXPECT_NE(transfer.message().find("memory of a device"), std::string::npos) << transfer.message();
        continue;
      }
      ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << describe(spec) << ": " << transfer.message();
      run_epochs(transfer.request(), transfer);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Exchanges, ::testing::Range(std::size_t{0}, engine_settings().size()));
INSTANTIATE_TEST_SUITE_P(
    Engines, Vectors,
    ::testing::Combine(::testing::Range(std::size_t{0}, engine_settings().size()),
                       ::testing::Values(Collective::allreduce, Collective::reduce, Collective::bcast, Collective::scan,
                                         Collective::exscan, Collective::reduce_scatter, Collective::allgather,
                                         Collective::allgatherv, Collective::gatherv, Collective::scatterv)));

// An alltoall of ints, one for each pair, in memory of some kind.
void exchange_in(Kind kind, const std::string& expected_access) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}});
  const int ranks = world_size();
  const auto bytes = static_cast<std::size_t>(ranks) * sizeof(int);
  const DeviceMemory send(bytes, kind);
  const DeviceMemory recv(bytes, kind);
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(ok(stoker_alltoall_init(send.address(), 1, MPI_INT, recv.address(), 1, MPI_INT, MPI_COMM_WORLD,
                                      MPI_INFO_NULL, engine.get(), &request)));
  std::vector<int> values(static_cast<std::size_t>(ranks));
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::iota(values.begin(), values.end(), 100 * world_rank() + 10000 * epoch);
    send.upload(values.data(), bytes);
    std::ranges::fill(values, -1);
    recv.upload(values.data(), bytes);
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    recv.download(values.data(), bytes);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(values[static_cast<std::size_t>(r)], 100 * r + 10000 * epoch + world_rank());
    }
  }
  if (!expected_access.empty()) {
    EXPECT_EQ(access_of(request, false), expected_access);
    EXPECT_EQ(access_of(request, true), expected_access);
  }
  EXPECT_TRUE(ok(stoker_request_free(&request)));
}

TEST(Kinds, OfMemoryThatADriverHas) {
  exchange_in(Kind::device, "device");
  exchange_in(Kind::pool, "device");
  exchange_in(Kind::managed, "device");
  exchange_in(Kind::pinned, "");
}

// Calls that bring their buffers with them.
TEST(Calls, TakeBuffersOfADevice) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  const int ranks = world_size();
  for (const int count : {1, 1000, 50000}) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(double);
    const DeviceMemory send(bytes);
    const DeviceMemory recv(bytes);
    std::vector<double> values(static_cast<std::size_t>(count));
    for (int call = 0; call < 3; ++call) {
      std::iota(values.begin(), values.end(), world_rank() + call);
      send.upload(values.data(), bytes);
      std::ranges::fill(values, -1);
      recv.upload(values.data(), bytes);
      EXPECT_TRUE(ok(
          stoker_allreduce(send.address(), recv.address(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, engine.get())));
      recv.download(values.data(), bytes);
      for (std::size_t i = 0; i < values.size(); i += 97) {
        EXPECT_EQ(values[i], ranks * (static_cast<double>(i) + call) + ranks * (ranks - 1) / 2.0);
      }
      const int root = call % ranks;
      EXPECT_TRUE(ok(stoker_bcast(world_rank() == root ? send.address() : recv.address(), count, MPI_DOUBLE, root,
                                  MPI_COMM_WORLD, engine.get())));
      recv.download(values.data(), bytes);
      for (std::size_t i = 0; i < values.size() && world_rank() != root; i += 97) {
        EXPECT_EQ(values[i], root + call + static_cast<double>(i));
      }
    }
  }
}

TEST(Errors, NameWhatIsTheMpiLibrarys) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  const DeviceMemory send(4);
  std::vector<int> recv(static_cast<std::size_t>(world_size()));
  const std::vector<int> counts(recv.size(), 1);
  std::vector<int> displs(recv.size());
  std::iota(displs.begin(), displs.end(), 0);
  EXPECT_TRUE(refused(stoker_gatherv(send.address(), 1, MPI_INT, recv.data(), counts.data(), displs.data(), MPI_INT, 0,
                                     MPI_COMM_WORLD, engine.get()),
                      STOKER_ERR_UNSUPPORTED, {"sendbuf", "device", "persistent"}));
}

TEST(Errors, NameTheBufferAndWhatWasExpected) {
  const std::size_t bytes = 16 * static_cast<std::size_t>(world_size());
  DeviceMemory send(bytes);
  DeviceMemory recv(bytes);
  const auto init = [&](stoker_engine engine, stoker_request* request) {
    return stoker_alltoall_init(send.address(), 16, MPI_BYTE, recv.address(), 16, MPI_BYTE, MPI_COMM_WORLD,
                                MPI_INFO_NULL, engine, request);
  };
  stoker_request request = STOKER_REQUEST_NULL;
  for (const char* access : {"mapped", "own"}) {
    const EngineOwner engine(MPI_COMM_WORLD, {{"access", access}});
    EXPECT_TRUE(refused(init(engine.get(), &request), STOKER_ERR_ACCESS, {"sendbuf", "device", "access=auto"}));
  }
  const EngineOwner engine(MPI_COMM_WORLD, {});
  ASSERT_TRUE(ok(init(engine.get(), &request)));
  EXPECT_TRUE(ok(stoker_start(request)));
  barrier(); // all have read what they send
  recv.free();
  EXPECT_TRUE(refused(stoker_wait(request), STOKER_ERR_ACCESS, {"device memory", "stays allocated"}));
  EXPECT_TRUE(ok(stoker_request_free(&request)));
  exchange_in(Kind::device, "device"); // others go on
}

TEST(Assertions, OfMemoryOfTheHostSpareTheDriver) {
  const EngineOwner engine(MPI_COMM_WORLD, {});
  const auto ranks = static_cast<std::size_t>(world_size());
  std::vector<int> send(100 * ranks);
  std::vector<int> recv(send.size());
  const std::vector<int> counts(ranks, 100);
  std::vector<int> displs(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    displs[r] = static_cast<int>(100 * r);
  }
  const auto questions_of = [&](MPI_Info info) {
    const int before = device_tests::questions();
    std::array<stoker_request, 3> requests{};
    EXPECT_TRUE(ok(stoker_alltoall_init(send.data(), 100, MPI_INT, recv.data(), 100, MPI_INT, MPI_COMM_WORLD, info,
                                        engine.get(), &requests[0])));
    EXPECT_TRUE(ok(stoker_allreduce_init(send.data(), recv.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info,
                                         engine.get(), &requests[1])));
    EXPECT_TRUE(ok(stoker_gatherv_init(send.data(), 100, MPI_INT, recv.data(), counts.data(), displs.data(), MPI_INT, 0,
                                       MPI_COMM_WORLD, info, engine.get(), &requests[2])));
    for (stoker_request& request : requests) {
      EXPECT_TRUE(ok(stoker_start(request)));
      EXPECT_TRUE(ok(stoker_wait(request)));
      EXPECT_TRUE(ok(stoker_request_free(&request)));
    }
    return device_tests::questions() - before;
  };
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system,mpi");
  EXPECT_EQ(questions_of(info), 0);
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system,cuda:device");
  const bool is_stand_in = device_tests::driver_function("stand_in_questions") != nullptr;
  EXPECT_EQ(questions_of(info) > 0, is_stand_in);
  EXPECT_EQ(questions_of(MPI_INFO_NULL) > 0, is_stand_in);
  MPI_Info_free(&info);
}

TEST(GlobalMemory, TakesLocalBuffersOfTheHostOnly) {
  const GlobalOwner global;
  constexpr std::size_t bytes = 1 << 20; // which the helper carries within a node, too
  const stoker_gptr place = global.allocate(bytes);
  const DeviceMemory local(bytes);
  stoker_transfer transfer = STOKER_TRANSFER_NULL;
  EXPECT_TRUE(refused(
      stoker_put_nb(global.get(), at(place, (world_rank() + 1) % world_size()), local.address(), bytes, &transfer),
      STOKER_ERR_ARGUMENT, {"local", "device"}));
  EXPECT_TRUE(refused(stoker_accumulate(global.get(), at(place, (world_rank() + 1) % world_size()), MPI_INT, MPI_SUM,
                                        local.address(), 100),
                      STOKER_ERR_ARGUMENT, {"operands", "device"}));
}

} // namespace
} // namespace api_tests
