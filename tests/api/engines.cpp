// SPDX-License-Identifier: BSD-3-Clause
// The life of engines: over which communicators, several at once, in which order things are destroyed, pause and
// resume, mapped memory, facts, and that creating and destroying leaks nothing.
#include "engine/base/gathered_texts.hpp"
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <nlohmann/json.hpp>
#include <stoker/stoker_blocking.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace api_tests {
namespace {

std::unique_ptr<Transfer> make(int id, stoker_engine engine, MPI_Comm comm = MPI_COMM_WORLD,
                               std::uint64_t block_bytes = 256, Memory memory = Memory::heap) {
  TransferSpec spec;
  spec.id = id;
  spec.block_bytes = block_bytes;
  spec.memory = memory;
  auto transfer = std::make_unique<Transfer>(spec, engine, comm);
  EXPECT_EQ(transfer->code(), STOKER_SUCCESS) << transfer->message();
  return transfer;
}

void run(Transfer& transfer, int epochs = 3) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    transfer.prepare();
    EXPECT_TRUE(ok(stoker_start(transfer.request())));
    EXPECT_TRUE(ok(stoker_wait(transfer.request())));
    expect_right(transfer);
  }
}

TEST(Engines, OverSubcommunicators) {
  const int parity = world_rank() % 2;
  const CommOwner half(split(MPI_COMM_WORLD, parity, -world_rank())); // ranks reversed, too
  const EngineOwner engine(half.get());
  run(*make(parity, engine.get(), half.get()));

  int rank = 0;
  MPI_Comm_rank(half.get(), &rank);
  const CommOwner quarter(split(half.get(), rank % 2, -rank));
  run(*make(2 + parity * 2 + rank % 2, engine.get(), quarter.get()));
  run(*make(6, engine.get(), MPI_COMM_SELF));
}

TEST(Engines, CommunicatorsFreedBeforeUse) {
  EngineOwner engine(MPI_COMM_WORLD);
  CommOwner first(duplicate(MPI_COMM_WORLD));
  CommOwner second(split(MPI_COMM_WORLD, 0, -world_rank()));
  const auto a = make(1, engine.get(), first.get());
  const auto b = make(2, engine.get(), second.get());
  first.free();
  second.free();
  run(*a);
  // New communicators may get the old ones' handles: nothing may be remembered under them.
  const CommOwner third(split(MPI_COMM_WORLD, world_rank() % 2, world_rank()));
  const CommOwner fourth(duplicate(MPI_COMM_WORLD));
  const auto c = make(3 + world_rank() % 2, engine.get(), third.get());
  const auto d = make(5, engine.get(), fourth.get());
  run(*d);
  run(*c);
  run(*b);
}

TEST(Engines, EngineOutlivesTheCommunicatorItWasMadeOver) {
  CommOwner comm(duplicate(MPI_COMM_WORLD));
  const EngineOwner engine(comm.get());
  comm.free();
  run(*make(1, engine.get()));
}

TEST(Engines, SeveralAtOnce) {
  auto first = std::make_unique<EngineOwner>(MPI_COMM_WORLD, Settings{{"executor", "engine"}});
  auto second = std::make_unique<EngineOwner>(MPI_COMM_WORLD, Settings{{"executor", "inline"}});
  auto third = std::make_unique<EngineOwner>(MPI_COMM_WORLD, Settings{{"executor", "engine"}, {"ranks_per_node", "2"}});
  Transfers transfers;
  for (int id = 0; id < 9; ++id) {
    const auto& engine = id % 3 == 0 ? first : id % 3 == 1 ? second : third;
    transfers.push_back(make(id, engine->get()));
  }
  const auto list = requests_of(transfers);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (const auto& transfer : transfers) {
      transfer->prepare();
    }
    for (const std::size_t i : permutation(list.size(), epoch * 10 + static_cast<std::uint64_t>(world_rank()))) {
      EXPECT_TRUE(ok(stoker_start(list[i])));
    }
    EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(list.size()), list.data()))); // of three engines in one call
    for (const auto& transfer : transfers) {
      expect_right(*transfer);
    }
  }
  second.reset(); // neither in the order of creation nor in the opposite one
  run(*transfers[0]);
  run(*transfers[2]);
  first.reset();
  run(*transfers[5]);
}

// Applications make datatypes by the thousand; MPICH 4.0 packs contiguous ones wrongly then.
TEST(Engines, ManyDatatypes) {
  const EngineOwner engine(MPI_COMM_WORLD);
  std::vector<MPI_Datatype> types(2000);
  for (MPI_Datatype& type : types) {
    MPI_Type_contiguous(7, MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  for (const Types pair : {Types::ints, Types::contiguous, Types::strided, Types::holes, Types::swapped_to_ints}) {
    TransferSpec spec;
    spec.id = static_cast<int>(pair);
    spec.types = pair;
    spec.block_bytes = 200;
    Transfer transfer(spec, engine.get(), MPI_COMM_WORLD);
    ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
    run(transfer);
  }
  for (MPI_Datatype& type : types) {
    MPI_Type_free(&type);
  }
}

TEST(Engines, DestroyCompletesWhatIsActiveAndRefusesTheRest) {
  for (const char* executor : {"engine", "inline"}) {
    EngineOwner engine(MPI_COMM_WORLD, {{"executor", executor}});
    const auto active = make(1, engine.get(), MPI_COMM_WORLD, 100000);
    const auto idle = make(2, engine.get());
    const auto never_started = make(3, engine.get());
    run(*idle);
    active->prepare();
    EXPECT_TRUE(ok(stoker_start(active->request())));
    engine.destroy();
    expect_right(*active);

    int flag = 0;
    for (const auto* transfer : {idle.get(), never_started.get()}) {
      EXPECT_TRUE(refused(stoker_start(transfer->request()), STOKER_ERR_REQUEST));
      EXPECT_TRUE(refused(stoker_test(transfer->request(), &flag), STOKER_ERR_REQUEST));
      EXPECT_TRUE(refused(stoker_wait(transfer->request()), STOKER_ERR_REQUEST));
    }
    EXPECT_TRUE(ok(never_started->free()));
    EXPECT_TRUE(ok(active->free()));
    EXPECT_TRUE(ok(idle->free()));
  }
}

std::unique_ptr<Transfer> make_inline(int id, stoker_engine engine, const std::string& algorithm = "",
                                      std::uint64_t block_bytes = 64) {
  TransferSpec spec;
  spec.id = id;
  spec.executor = "inline";
  spec.algorithm = algorithm;
  spec.block_bytes = block_bytes;
  auto transfer = std::make_unique<Transfer>(spec, engine, MPI_COMM_WORLD);
  EXPECT_EQ(transfer->code(), STOKER_SUCCESS) << transfer->message();
  return transfer;
}

std::string of_several_steps() { return world_size() > 2 ? "radix:r=2" : ""; }

void come_late() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

// Rank 0 waits for its inline request while it destroys the engine. The others start that one only after an exchange
// which rank 0's helper has not done its part of.
TEST(Engines, DestroyGoesOnWithTheWorkOfTheHelper) {
  for (int round = 0; round < 3; ++round) {
    EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}, {"ranks_per_node", "1"}});
    const auto inlined = make_inline(1, engine.get()); // the first one is completed first
    const auto helped = make(2, engine.get(), MPI_COMM_WORLD, 100000);
    inlined->prepare();
    helped->prepare();
    if (world_rank() == 0) {
      EXPECT_TRUE(ok(stoker_start(inlined->request())));
      EXPECT_TRUE(ok(stoker_start(helped->request())));
    } else {
      come_late();
      EXPECT_TRUE(ok(stoker_start(helped->request())));
      EXPECT_TRUE(ok(stoker_wait(helped->request())));
      EXPECT_TRUE(ok(stoker_start(inlined->request())));
    }
    engine.destroy();
    expect_right(*inlined);
    expect_right(*helped);
  }
}

TEST(Engines, RequestsAndMemoryOutliveTheEngineInAnyOrder) {
  for (std::uint64_t order = 0; order < 3; ++order) {
    EngineOwner engine(MPI_COMM_WORLD);
    Transfers transfers;
    for (int id = 0; id < 4; ++id) {
      transfers.push_back(make(id, engine.get(), MPI_COMM_WORLD, 5000, id % 2 == 0 ? Memory::mapped : Memory::heap));
      run(*transfers.back(), 1);
    }
    void* memory = nullptr;
    ASSERT_TRUE(ok(stoker_alloc(engine.get(), 12345, &memory)));
    std::memset(memory, 1, 12345);
    engine.destroy();
    std::memset(memory, 2, 12345); // still the caller's
    for (const std::size_t i : permutation(transfers.size(), order + static_cast<std::uint64_t>(world_rank()))) {
      EXPECT_TRUE(ok(transfers[i]->free()));
      if (i == 1) {
        EXPECT_TRUE(ok(stoker_dealloc(memory)));
      }
    }
    transfers.clear(); // gives the mapped buffers back
  }
}

TEST(Engines, DestroyedHandleIsRefused) {
  stoker_engine engine = STOKER_ENGINE_NULL;
  ASSERT_TRUE(ok(create_engine(MPI_COMM_WORLD, {}, &engine)));
  stoker_engine stale = engine;
  EXPECT_TRUE(ok(stoker_engine_destroy(&engine)));
  EXPECT_EQ(engine, STOKER_ENGINE_NULL);
  void* memory = nullptr;
  for (stoker_engine handle : {stale, STOKER_ENGINE_NULL}) {
    EXPECT_NE(stoker_pause(handle), STOKER_SUCCESS);
    EXPECT_NE(stoker_resume(handle), STOKER_SUCCESS);
    EXPECT_NE(stoker_alloc(handle, 100, &memory), STOKER_SUCCESS);
    EXPECT_NE(stoker_engine_destroy(&handle), STOKER_SUCCESS);
    int value = 0, result = 0;
    stoker_request request = STOKER_REQUEST_NULL;
    EXPECT_TRUE(refused(
        stoker_alltoall_init(&value, 1, MPI_INT, &result, 1, MPI_INT, MPI_COMM_SELF, MPI_INFO_NULL, handle, &request),
        STOKER_ERR_REQUEST, {"engine"}));
  }
}

// Threads, descriptors and mappings of this process.
std::size_t entries(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++count;
  }
  return count;
}

TEST(Engines, CreateAndDestroyLeakNothing) {
  std::size_t threads = 0, descriptors = 0;
  for (int round = 0; round < 8; ++round) {
    {
      const EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}});
      run(*make(round, engine.get(), MPI_COMM_WORLD, 50000, Memory::mapped), 1);
    }
    barrier();
    if (round == 1) { // after the second round everything that is made once has been made
      threads = entries("/proc/self/task");
      descriptors = entries("/proc/self/fd");
    }
  }
  note("waiting for threads that were joined to leave /proc"); // a thread too many: the watchdog says so
  while (entries("/proc/self/task") > threads) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(entries("/proc/self/fd"), descriptors);
}

TEST(Engines, Facts) {
  for (const int per_node : {1, 2, 3}) {
    const EngineOwner engine(
        MPI_COMM_WORLD, {{"executor", "engine"}, {"ranks_per_node", std::to_string(per_node)}, {"domains", "node"}});
    stoker_engine_facts facts{};
    facts.size = sizeof facts;
    ASSERT_TRUE(ok(stoker_engine_get_facts(engine.get(), &facts)));
    EXPECT_EQ(facts.ranks, world_size());
    EXPECT_EQ(facts.nodes, (world_size() + per_node - 1) / per_node);
    EXPECT_EQ(facts.domains, facts.nodes);
    EXPECT_EQ(facts.node, world_rank() / per_node);
    EXPECT_GE(facts.carrier, world_rank() / per_node * per_node);
    EXPECT_LT(facts.carrier, std::min(world_size(), (world_rank() / per_node + 1) * per_node));
    EXPECT_EQ(facts.helpers, 1);
  }
  const EngineOwner without(MPI_COMM_WORLD, {{"executor", "inline"}});
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  ASSERT_TRUE(ok(stoker_engine_get_facts(without.get(), &facts)));
  EXPECT_EQ(facts.helpers, 0);
  EXPECT_EQ(facts.helper_core, -1);
  EXPECT_EQ(facts.helper_cpu_seconds, 0.0);
}

stoker_helper_statistics helper_statistics(stoker_engine engine) {
  stoker_helper_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_helper_get_statistics(engine, &statistics)));
  return statistics;
}

// An epoch that waits for the helper: whoever calls Wait at once may carry out all of it.
void run_by_helper(stoker_engine engine) {
  const auto transfer = make(1, engine);
  const std::uint64_t busy_before = helper_statistics(engine).busy_rounds;
  transfer->prepare();
  EXPECT_TRUE(ok(stoker_start(transfer->request())));
  while (helper_statistics(engine).busy_rounds == busy_before) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(ok(stoker_wait(transfer->request())));
  expect_right(*transfer);
  barrier();
}

TEST(Engines, HelperStatistics) {
  EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}, {"domains", "node"}});
  const stoker_helper_statistics before = helper_statistics(engine.get());
  run_by_helper(engine.get());
  const stoker_helper_statistics after = helper_statistics(engine.get());
  EXPECT_GT(after.busy_rounds, before.busy_rounds);
  EXPECT_GE(after.idle_rounds, before.idle_rounds);
  EXPECT_EQ(after.global_busy_rounds + after.global_idle_rounds, 0U);
  EXPECT_GE(after.busy_seconds, before.busy_seconds);
  EXPECT_GE(after.idle_seconds, before.idle_seconds);
  const auto age = [](const stoker_helper_statistics& s) {
    return s.busy_seconds + s.idle_seconds + s.sleeping_seconds;
  };
  EXPECT_GT(age(after), age(before));

  stoker_helper_statistics other{};
  other.size = sizeof other - 1;
  EXPECT_TRUE(refused(stoker_helper_get_statistics(engine.get(), &other), STOKER_ERR_ARGUMENT, {"size"}));
  other.size = sizeof other;
  EXPECT_TRUE(refused(stoker_helper_get_statistics(engine.get(), nullptr), STOKER_ERR_ARGUMENT, {"statistics"}));
  const stoker_engine gone = engine.get();
  engine.destroy();
  EXPECT_TRUE(refused(stoker_helper_get_statistics(gone, &other), STOKER_ERR_REQUEST));

  const EngineOwner without(MPI_COMM_WORLD, {{"executor", "inline"}});
  run(*make(2, without.get()));
  const stoker_helper_statistics none = helper_statistics(without.get());
  EXPECT_EQ(age(none), 0.0);
  EXPECT_EQ(none.busy_rounds + none.idle_rounds, 0U);
}

// Rank 0 drives both of them by its tests; the others need the steps of its inline request before they start the other.
TEST(Engines, TestallBringsOnRequestsOfBothExecutors) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}, {"ranks_per_node", "1"}});
  const auto inlined = make_inline(1, engine.get(), of_several_steps());
  ASSERT_EQ(inlined->code(), STOKER_SUCCESS) << inlined->message();
  const auto helped = make(2, engine.get());
  for (int epoch = 0; epoch < 3; ++epoch) {
    inlined->prepare();
    helped->prepare();
    EXPECT_TRUE(ok(stoker_start(inlined->request())));
    if (world_rank() == 0) {
      EXPECT_TRUE(ok(stoker_start(helped->request())));
      const stoker_request both[] = {helped->request(), inlined->request()};
      for (int flag = 0; flag == 0;) {
        ASSERT_TRUE(ok(stoker_testall(2, both, &flag)));
      }
    } else {
      EXPECT_TRUE(ok(stoker_wait(inlined->request())));
      EXPECT_TRUE(ok(stoker_start(helped->request())));
      EXPECT_TRUE(ok(stoker_wait(helped->request())));
    }
    expect_right(*inlined);
    expect_right(*helped);
  }
}

// As above, but rank 0 waits for the request that is the helper's.
TEST(Engines, WaitsBringOnInlineRequestsToo) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}, {"ranks_per_node", "1"}});
  const auto inlined = make_inline(1, engine.get(), of_several_steps(), 100000);
  ASSERT_EQ(inlined->code(), STOKER_SUCCESS) << inlined->message();
  const auto helped = make(2, engine.get());
  for (int epoch = 0; epoch < 4; ++epoch) {
    inlined->prepare();
    helped->prepare();
    if (world_rank() == 0) {
      EXPECT_TRUE(ok(stoker_start(inlined->request())));
      EXPECT_TRUE(ok(stoker_start(helped->request())));
      if (epoch % 2 == 0) {
        EXPECT_TRUE(ok(stoker_wait(helped->request())));
      } else {
        for (int flag = 0; flag == 0;) {
          ASSERT_TRUE(ok(stoker_test(helped->request(), &flag)));
        }
      }
      EXPECT_TRUE(ok(stoker_wait(inlined->request())));
    } else {
      come_late();
      EXPECT_TRUE(ok(stoker_start(inlined->request())));
      EXPECT_TRUE(ok(stoker_wait(inlined->request())));
      EXPECT_TRUE(ok(stoker_start(helped->request())));
      EXPECT_TRUE(ok(stoker_wait(helped->request())));
    }
    expect_right(*inlined);
    expect_right(*helped);
  }
}

TEST(Engines, TraceEndsWithHelperStatistics) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("stoker-trace." + std::to_string(world_size()) + ".json");
  {
    const EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}, {"domains", "node"}, {"trace", file}});
    run_by_helper(engine.get());
    for (const char* region : {"one", "two", "one"}) {
      std::string name = region;
      EXPECT_TRUE(ok(stoker_trace_begin(engine.get(), name.c_str())));
      name = "xxx"; // the caller's
      EXPECT_TRUE(ok(stoker_trace_end(engine.get())));
    }
  }
  if (world_rank() == 0) {
    std::ifstream in(file);
    const nlohmann::json events = nlohmann::json::parse(in);
    for (const auto& region : {std::pair("one", 2), std::pair("two", 1), std::pair("xxx", 0)}) {
      const auto is_it = [&region](const auto& event) { return event.at("name") == region.first; };
      EXPECT_EQ(std::ranges::count_if(events, is_it), region.second * world_size()) << region.first;
    }
    int helpers = 0;
    for (const nlohmann::json& event : events) {
      if (event.at("name") == "helper statistics") {
        ++helpers;
        EXPECT_GT(event.at("args").at("rounds_of_requests").at("busy"), 0);
        EXPECT_GE(event.at("args").at("sleeping_seconds"), 0.0);
      }
    }
    EXPECT_EQ(helpers, 1);
    std::filesystem::remove(file);
  }
}

TEST(GatheredTexts, ComeInRounds) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank % 3) * 4, static_cast<char>('a' + rank));
  };
  for (const std::int64_t most : {1, 5, 1000}) {
    const std::vector<std::string> texts = stoker::engine::gathered_texts(text_of(world_rank()), MPI_COMM_WORLD, most);
    ASSERT_EQ(texts.size(), world_rank() == 0 ? static_cast<std::size_t>(world_size()) : 0U);
    for (std::size_t r = 0; r < texts.size(); ++r) {
      EXPECT_EQ(texts[r], text_of(static_cast<int>(r)));
    }
  }
}

TEST(MappedMemory, IsAlignedWritableAndReturned) {
  const EngineOwner engine(MPI_COMM_WORLD);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (int round = 0; round < 300; ++round) { // far more than fits at once
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{1} << 20}) {
      void* memory = nullptr;
      ASSERT_TRUE(ok(stoker_alloc(engine.get(), bytes, &memory)));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % page, 0u);
      std::memset(memory, round & 0xff, bytes);
      blocks.emplace_back(memory, bytes);
    }
    for (const auto& [memory, bytes] : blocks) { // blocks do not overlap
      EXPECT_EQ(static_cast<unsigned char*>(memory)[bytes - 1], round & 0xff);
    }
    for (const auto& [memory, bytes] : blocks) {
      EXPECT_TRUE(ok(stoker_dealloc(memory)));
    }
    blocks.clear();
  }
}

TEST(MappedMemory, BadUseIsRefused) {
  const EngineOwner engine(MPI_COMM_WORLD);
  int foreign = 0;
  EXPECT_TRUE(refused(stoker_dealloc(&foreign), STOKER_ERR_ARGUMENT));
  void* memory = nullptr;
  ASSERT_TRUE(ok(stoker_alloc(engine.get(), 100, &memory)));
  EXPECT_TRUE(refused(stoker_dealloc(static_cast<char*>(memory) + 8), STOKER_ERR_ARGUMENT));
  EXPECT_TRUE(ok(stoker_dealloc(memory)));
  EXPECT_TRUE(refused(stoker_dealloc(memory), STOKER_ERR_ARGUMENT));
  EXPECT_TRUE(refused(stoker_alloc(engine.get(), 100, nullptr), STOKER_ERR_ARGUMENT, {"memory"}));
  memory = nullptr;
  EXPECT_TRUE(refused(stoker_alloc(engine.get(), std::size_t{1} << 60, &memory), STOKER_ERR_RESOURCE));
  EXPECT_EQ(memory, nullptr);
}

class Pause : public ::testing::TestWithParam<const char*> {};

TEST_P(Pause, PausedRequestsCompleteInWaits) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  Transfers transfers;
  for (int id = 0; id < 5; ++id) {
    transfers.push_back(make(id, engine.get(), MPI_COMM_WORLD, id == 4 ? 200000 : 100));
  }
  const auto list = requests_of(transfers);
  const int count = static_cast<int>(list.size());
  // 0: before the starts, on every rank. 1: between the starts. 2: after the starts. 3: on odd ranks only.
  for (int when = 0; when < 4; ++when) {
    note("pause variant " + std::to_string(when));
    const bool here = when != 3 || world_rank() % 2 == 1;
    for (const auto& transfer : transfers) {
      transfer->prepare();
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (here && ((when % 3 == 0 && i == 0) || (when == 1 && i == 2))) {
        EXPECT_TRUE(ok(stoker_pause(engine.get())));
      }
      EXPECT_TRUE(ok(stoker_start(list[world_rank() % 2 == 0 ? i : list.size() - 1 - i])));
    }
    if (when == 2) {
      EXPECT_TRUE(ok(stoker_pause(engine.get())));
    }
    EXPECT_TRUE(ok(stoker_waitall(count, list.data())));
    for (const auto& transfer : transfers) {
      expect_right(*transfer);
    }
    EXPECT_TRUE(ok(stoker_resume(engine.get())));
    run(*transfers[0]);
  }
}

TEST_P(Pause, TestsCompleteAfterResume) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  const auto transfer = make(1, engine.get(), MPI_COMM_WORLD, 40000);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_TRUE(ok(stoker_pause(engine.get())));
    transfer->prepare();
    EXPECT_TRUE(ok(stoker_start(transfer->request())));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(ok(stoker_resume(engine.get())));
    int flag = 0;
    while (flag == 0) {
      ASSERT_TRUE(ok(stoker_test(transfer->request(), &flag)));
    }
    expect_right(*transfer);
  }
}

// Exchanges in several rounds, which every rank has to bring on for others. Ranks wait for them in opposite
// orders.
TEST(Engines, WaitallBringsOnInlineRequestsOfSeveralEngines) {
  const EngineOwner first(MPI_COMM_WORLD, {{"executor", "inline"}});
  const EngineOwner second(MPI_COMM_WORLD, {{"executor", "inline"}});
  const auto ranks = static_cast<std::size_t>(world_size());
  std::vector<int> in(500 * ranks, world_rank());
  std::array<std::vector<int>, 2> out{std::vector<int>(in.size()), std::vector<int>(in.size())};
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stoker_algorithm", "radix:r=2");
  std::array<stoker_request, 2> both{};
  for (std::size_t i = 0; i < both.size(); ++i) {
    ASSERT_TRUE(ok(stoker_alltoall_init(in.data(), 500, MPI_INT, out[i].data(), 500, MPI_INT, MPI_COMM_WORLD, info,
                                        i == 0 ? first.get() : second.get(), &both[i])));
  }
  MPI_Info_free(&info);
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (std::vector<int>& each : out) {
      std::ranges::fill(each, -1);
    }
    const bool turned = (world_rank() / 2 + epoch) % 2 == 1;
    const std::array<stoker_request, 2> order{both[turned ? 1 : 0], both[turned ? 0 : 1]};
    EXPECT_TRUE(ok(stoker_startall(2, both.data())));
    ASSERT_TRUE(ok(stoker_waitall(2, order.data())));
    for (const std::vector<int>& each : out) {
      for (std::size_t r = 0; r < ranks; ++r) {
        EXPECT_EQ(each[500 * r], static_cast<int>(r));
      }
    }
  }
  for (stoker_request& request : both) {
    EXPECT_TRUE(ok(stoker_request_free(&request)));
  }
}

// The ranks with the helpers wait for their neighbours inside MPI. The neighbours' wait is for requests of two engines,
// so it cannot sleep.
TEST(Engines, WaitsForRequestsOfTwoPausedEngines) {
  const EngineOwner first(MPI_COMM_WORLD, {{"executor", "engine"}, {"ranks_per_node", "2"}});
  const EngineOwner second(MPI_COMM_WORLD, {{"executor", "engine"}, {"ranks_per_node", "2"}});
  const auto a = make(1, first.get(), MPI_COMM_WORLD, 5000);
  const auto b = make(2, second.get(), MPI_COMM_WORLD, 5000);
  const bool waits_first = world_rank() % 2 == 1 || world_rank() + 1 == world_size();
  for (int epoch = 0; epoch < 3; ++epoch) {
    a->prepare();
    b->prepare();
    EXPECT_TRUE(ok(stoker_pause(first.get())));
    EXPECT_TRUE(ok(stoker_pause(second.get())));
    EXPECT_TRUE(ok(stoker_start(a->request())));
    EXPECT_TRUE(ok(stoker_start(b->request())));
    if (!waits_first) {
      MPI_Recv(nullptr, 0, MPI_INT, world_rank() + 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    stoker_request both[] = {a->request(), b->request()};
    for (int waited = 0; waited < 2; ++waited) {
      int index = -1;
      ASSERT_TRUE(ok(stoker_waitany(2, both, &index)));
      EXPECT_TRUE(index == 0 || index == 1);
    }
    if (waits_first && world_rank() % 2 == 1) {
      MPI_Send(nullptr, 0, MPI_INT, world_rank() - 1, 3, MPI_COMM_WORLD);
    }
    expect_right(*a);
    expect_right(*b);
    EXPECT_TRUE(ok(stoker_resume(first.get())));
    EXPECT_TRUE(ok(stoker_resume(second.get())));
  }
}

// Rank 0 is in a call that cannot end before the others come to it, and they wait for what its paused helper has to do
// first.
TEST_P(Pause, OthersGetOnWhileARankWaitsInAnotherCall) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}, {"ranks_per_node", "1"}});
  const std::vector<int> counts(static_cast<std::size_t>(world_size()), 1);
  std::vector<int> displacements(counts.size());
  std::iota(displacements.begin(), displacements.end(), 0);
  for (const bool init : {false, true}) {
    if (init && std::string(GetParam()) == "inline") {
      continue; // no inline request makes progress in an initialisation
    }
    const auto transfer = make(1, engine.get(), MPI_COMM_WORLD, 100000);
    for (int epoch = 0; epoch < 3; ++epoch) {
      transfer->prepare();
      EXPECT_TRUE(ok(stoker_pause(engine.get())));
      if (world_rank() != 0) {
        come_late();
      }
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      if (world_rank() != 0) {
        EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      }
      if (init) {
        const auto other = make(2, engine.get());
      } else {
        const int sent = world_rank();
        std::vector<int> received(counts.size(), -1);
        EXPECT_TRUE(ok(stoker_gatherv(&sent, 1, MPI_INT, received.data(), counts.data(), displacements.data(), MPI_INT,
                                      0, MPI_COMM_WORLD, engine.get()))); // the MPI library's
        EXPECT_TRUE(world_rank() != 0 || received == displacements);
      }
      if (world_rank() == 0) {
        EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      }
      expect_right(*transfer);
      EXPECT_TRUE(ok(stoker_resume(engine.get())));
    }
  }
}

// Nobody drains the ring: Start has to make the room itself.
TEST_P(Pause, MoreStartsThanARingHolds) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  Transfers transfers;
  for (int id = 0; id < 20; ++id) {
    transfers.push_back(make(id, engine.get(), MPI_COMM_WORLD, 32));
  }
  for (int id = 20; id < 620; ++id) {
    note("init " + std::to_string(id));
    transfers.push_back(make(id, engine.get(), MPI_COMM_SELF, 32));
  }
  const auto list = requests_of(transfers);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_TRUE(ok(stoker_pause(engine.get())));
    for (const auto& transfer : transfers) {
      transfer->prepare();
    }
    note("starting while paused");
    for (const std::size_t i : permutation(list.size(), epoch * 10 + static_cast<std::uint64_t>(world_rank()))) {
      EXPECT_TRUE(ok(stoker_start(list[i])));
    }
    if (epoch == 1) {
      EXPECT_TRUE(ok(stoker_resume(engine.get())));
    }
    note("waiting while paused");
    EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(list.size()), list.data())));
    for (const auto& transfer : transfers) {
      expect_right(*transfer);
    }
    EXPECT_TRUE(ok(stoker_resume(engine.get())));
  }
}

TEST_P(Pause, DestroyedWhilePaused) {
  EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  const auto transfer = make(1, engine.get());
  EXPECT_TRUE(ok(stoker_pause(engine.get())));
  transfer->prepare();
  EXPECT_TRUE(ok(stoker_start(transfer->request())));
  engine.destroy();
  expect_right(*transfer);
}

// Switched at any moment, from run to run of the same request, by the ranks independently.
TEST_P(Pause, SwitchedAtRandom) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", GetParam()}});
  const auto transfer = make(1, engine.get(), MPI_COMM_WORLD, 3000);
  Random random(static_cast<std::uint64_t>(world_rank()) + 5);
  for (int epoch = 0; epoch < 40; ++epoch) {
    transfer->prepare();
    for (int step = 0; step < 2; ++step) {
      const std::size_t choice = random.below(4);
      if (choice < 2) {
        EXPECT_TRUE(ok(choice == 0 ? stoker_pause(engine.get()) : stoker_resume(engine.get())));
      }
      if (step == 0) {
        EXPECT_TRUE(ok(stoker_start(transfer->request())));
      }
    }
    EXPECT_TRUE(ok(stoker_wait(transfer->request())));
    expect_right(*transfer);
  }
  EXPECT_TRUE(ok(stoker_resume(engine.get())));
}

INSTANTIATE_TEST_SUITE_P(Executors, Pause, ::testing::Values("engine", "inline"),
                         [](const auto& param) { return std::string(param.param); });

} // namespace
} // namespace api_tests
