// SPDX-License-Identifier: BSD-3-Clause
// Settings: what is refused and how it is worded, the precedence of struct, environment, file and default, info keys,
// and settings that differ between ranks.
#include "machine_text.hpp"
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <stoker/stoker_blocking.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <unistd.h>

namespace api_tests {
namespace {

// An environment variable for the length of a scope, in this process.
class Environment {
public:
  Environment(const char* name, const std::string& value) : name_(name) {
    const char* old = std::getenv(name);
    before_ = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
    setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

private:
  const char* name_;
  std::optional<std::string> before_;
};

// A settings file of this rank.
class SettingsFile {
public:
  explicit SettingsFile(const std::string& text) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/stoker-settings-" + std::to_string(getpid()) + ".toml";
    std::ofstream(path_) << text;
  }
  SettingsFile(const SettingsFile&) = delete;
  SettingsFile& operator=(const SettingsFile&) = delete;
  ~SettingsFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

::testing::AssertionResult creation_refused(const Settings& settings, int code, const std::vector<std::string>& words) {
  stoker_engine engine = STOKER_ENGINE_NULL;
  auto result = refused(create_engine(MPI_COMM_WORLD, settings, &engine), code, words);
  if (result && engine != STOKER_ENGINE_NULL) {
    return ::testing::AssertionFailure() << "the engine handle was set in spite of the error";
  }
  if (engine != STOKER_ENGINE_NULL) {
    (void)stoker_engine_destroy(&engine);
  }
  return result;
}

// Which executor and algorithm a request gets.
std::pair<std::string, std::string> choices(const Settings& settings, const Settings& info = {}) {
  const EngineOwner engine(MPI_COMM_WORLD, settings);
  if (engine.get() == STOKER_ENGINE_NULL) {
    return {"no engine", ""};
  }
  TransferSpec spec;
  for (const auto& [key, value] : info) {
    (key == "stoker_executor" ? spec.executor : spec.algorithm) = value;
  }
  Transfer transfer(spec, engine.get(), MPI_COMM_WORLD);
  EXPECT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  if (!ok(stoker_request_statistics(transfer.request(), &statistics))) {
    return {"no request", ""};
  }
  return {statistics.executor, statistics.algorithm};
}

TEST(Settings, UnknownKeyIsNamed) {
  EXPECT_TRUE(creation_refused({{"colour", "red"}}, STOKER_ERR_SETTING, {"colour"}));
  EXPECT_TRUE(creation_refused({{"executor", "engine"}, {"excutor", "engine"}}, STOKER_ERR_SETTING, {"excutor"}));
  EXPECT_TRUE(creation_refused({{"", "engine"}}, STOKER_ERR_SETTING, {}));
}

TEST(Settings, BadValueIsNamedWithWhatIsExpected) {
  EXPECT_TRUE(creation_refused({{"executor", "fast"}}, STOKER_ERR_SETTING, {"executor", "fast", "engine", "inline"}));
  EXPECT_TRUE(creation_refused({{"access", "telepathy"}}, STOKER_ERR_SETTING,
                               {"access", "telepathy", "own", "mapped", "cma", "staged"}));
  EXPECT_TRUE(creation_refused({{"domains", "core"}}, STOKER_ERR_SETTING, {"domains", "core", "numa", "node"}));
  for (const char* key : {"threads_per_domain", "ranks_per_node", "arena_bytes", "eager_bytes", "staged_bytes", "batch",
                          "spin_us", "nap_us", "stall_seconds"}) {
    for (const char* value : {"-1", "many", "", "12x", "99999999999999999999999"}) {
      EXPECT_TRUE(creation_refused({{key, value}}, STOKER_ERR_SETTING, {key, value})) << key << "=" << value;
    }
  }
  EXPECT_TRUE(creation_refused({{"algorithms", "alltoall=magic"}}, STOKER_ERR_SETTING,
                               {"algorithms", "alltoall", "magic", "nonblocking", "hierarchical"}));
  EXPECT_TRUE(creation_refused({{"cost_model", "/nonexistent.json"}}, STOKER_ERR_SETTING,
                               {"cost_model", "/nonexistent.json", "No such file"}));
  EXPECT_TRUE(creation_refused({{"algorithms", "alltoall=bruck,alltoallv=magic"}}, STOKER_ERR_SETTING,
                               {"algorithms", "alltoallv", "magic", "nonblocking", "hierarchical"}));
  EXPECT_TRUE(creation_refused({{"reserve", "list:"}}, STOKER_ERR_SETTING, {"reserve"}));
  EXPECT_TRUE(creation_refused({{"reserve", "list:two"}}, STOKER_ERR_SETTING, {"reserve"}));
  EXPECT_TRUE(creation_refused({{"machine", "no such machine:"}}, STOKER_ERR_SETTING, {"machine"}));
}

// Two machines: where messages between nodes cost nothing everything goes directly; where each costs a second, fewer of
// them are better.
TEST(Settings, CostModelDecidesTheDefaultAlgorithm) {
  if (world_size() < 3) {
    GTEST_SKIP() << "two nodes, one of them of two ranks, need 3 ranks";
  }
  int pid = getpid();
  MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD); // settings must be equal
  const std::string path = "/tmp/stoker-test-cost-model-" + std::to_string(pid) + ".toml";
  const auto algorithm = [&](const char* send_overhead_us) {
    if (world_rank() == 0) {
      std::ofstream(path) << machine_with_network(send_overhead_us);
    }
    const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "2"}, {"cost_model", path}});
    TransferSpec spec;
    spec.block_bytes = 8;
    const Transfer transfer(spec, engine.get(), MPI_COMM_WORLD);
    EXPECT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
    stoker_statistics statistics{};
    statistics.size = sizeof statistics;
    EXPECT_TRUE(ok(stoker_request_statistics(transfer.request(), &statistics)));
    return std::string(statistics.algorithm);
  };
  EXPECT_EQ(algorithm("0"), "nonblocking");
  EXPECT_NE(algorithm("1000000"), "nonblocking");
  if (world_rank() == 0) {
    std::ofstream(path) << machine_with_network("-1");
  }
  EXPECT_TRUE(creation_refused({{"cost_model", path}}, STOKER_ERR_SETTING,
                               {path, "message.switch.send_overhead_us", "0 or more"}));
  if (world_rank() == 0) {
    std::remove(path.c_str());
  }
}

TEST(Settings, NullsAreRefused) {
  stoker_engine engine = STOKER_ENGINE_NULL;
  EXPECT_TRUE(refused(stoker_engine_create(MPI_COMM_WORLD, nullptr, 2, &engine), STOKER_ERR_ARGUMENT, {"settings"}));
  const stoker_setting no_key = {nullptr, "engine"};
  EXPECT_NE(stoker_engine_create(MPI_COMM_WORLD, &no_key, 1, &engine), STOKER_SUCCESS);
  const stoker_setting no_value = {"executor", nullptr};
  EXPECT_NE(stoker_engine_create(MPI_COMM_WORLD, &no_value, 1, &engine), STOKER_SUCCESS);
  EXPECT_EQ(engine, STOKER_ENGINE_NULL);
}

TEST(Settings, StructBeforeEnvironmentBeforeFileBeforeDefault) {
  const SettingsFile file("executor = \"inline\"\nalgorithms = \"alltoall=hierarchical\"\n");
  const Environment path("STOKER_SETTINGS_FILE", file.path());
  EXPECT_EQ(choices({}).first, "inline");
  EXPECT_EQ(choices({}).second, "hierarchical");
  {
    const Environment executor("STOKER_EXECUTOR", "engine");
    EXPECT_EQ(choices({}).first, "engine");
    EXPECT_EQ(choices({}).second, "hierarchical"); // from the file, still
    EXPECT_EQ(choices({{"executor", "inline"}}).first, "inline");
  }
  EXPECT_EQ(choices({{"executor", "engine"}}).first, "engine");
  const Environment algorithm("STOKER_ALGORITHMS", "alltoall=nonblocking");
  EXPECT_EQ(choices({}).second, "nonblocking");
  // The info key is nearest to the call.
  EXPECT_EQ(choices({}, {{"stoker_algorithm", "hierarchical"}}).second, "hierarchical");
  EXPECT_EQ(choices({{"executor", "engine"}}, {{"stoker_executor", "inline"}}).first, "inline");
}

TEST(Settings, BadEnvironmentNamesTheVariable) {
  const Environment executor("STOKER_EXECUTOR", "fast");
  EXPECT_TRUE(creation_refused({}, STOKER_ERR_SETTING, {"STOKER_EXECUTOR", "fast"}));
}

TEST(Settings, BadFileNamesTheFile) {
  {
    const Environment path("STOKER_SETTINGS_FILE", "/nonexistent/settings.toml");
    EXPECT_TRUE(creation_refused({}, STOKER_ERR_SETTING, {"/nonexistent/settings.toml"}));
  }
  for (const char* text : {"executor = \n", "executor = \"fast\"\n", "colour = \"red\"\n", "executor = [1, 2]\n"}) {
    const SettingsFile file(text);
    const Environment path("STOKER_SETTINGS_FILE", file.path());
    EXPECT_TRUE(creation_refused({}, STOKER_ERR_SETTING, {file.path()})) << text;
  }
}

TEST(Settings, NumbersInAFileNeedNoQuotes) {
  const SettingsFile file("executor = \"inline\"\nbatch = 8\nbest_effort = 1\n");
  const Environment path("STOKER_SETTINGS_FILE", file.path());
  EXPECT_EQ(choices({}).first, "inline");
}

TEST(Settings, DifferingBetweenRanksAreRefusedOnAll) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs a rank to differ from";
  }
  const bool odd = world_rank() == world_size() - 1;
  EXPECT_TRUE(creation_refused({{"executor", odd ? "engine" : "inline"}}, STOKER_ERR_MISMATCH, {"executor"}));
  EXPECT_TRUE(creation_refused({{"ranks_per_node", odd ? "2" : "1"}}, STOKER_ERR_MISMATCH, {"ranks_per_node"}));
  {
    const Environment bytes("STOKER_EAGER_BYTES", odd ? "1024" : "4096");
    EXPECT_TRUE(creation_refused({}, STOKER_ERR_MISMATCH, {"eager_bytes"}));
  }
}

TEST(Settings, WrongOnOneRankIsRefusedOnAll) {
  const int guilty = world_size() - 1;
  EXPECT_TRUE(creation_refused({{"executor", world_rank() == guilty ? "fast" : "engine"}}, STOKER_ERR_SETTING,
                               {"executor", "fast", "rank " + std::to_string(guilty)}));
}

TEST(Settings, InfoKeys) {
  const EngineOwner engine(MPI_COMM_WORLD);
  const auto code_with = [&](const Settings& keys) {
    const InfoOwner info(keys);
    const auto ranks = static_cast<std::size_t>(world_size());
    std::vector<int> send(ranks), recv(ranks);
    stoker_request request = STOKER_REQUEST_NULL;
    const int code = stoker_alltoall_init(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, MPI_COMM_WORLD, info.get(),
                                          engine.get(), &request);
    if (code == STOKER_SUCCESS) {
      (void)stoker_request_free(&request);
    }
    return code;
  };
  EXPECT_TRUE(refused(code_with({{"stoker_algorithm", "magic"}}), STOKER_ERR_SETTING,
                      {"stoker_algorithm", "magic", "nonblocking", "hierarchical"}));
  EXPECT_TRUE(refused(code_with({{"stoker_executor", "fast"}}), STOKER_ERR_SETTING,
                      {"stoker_executor", "fast", "engine", "inline"}));
  EXPECT_TRUE(ok(code_with({{"someone_elses_key", "whatever"}}))); // MPI: unknown hints are ignored
  const std::string assertion = "mpi_assert_strict_persistent_collective_ordering";
  if (assertion.size() <= MPI_MAX_INFO_KEY) {
    EXPECT_TRUE(ok(code_with({{assertion, "true"}})));
  }
  if (world_size() > 1) {
    EXPECT_TRUE(refused(code_with({{"stoker_algorithm", world_rank() == 0 ? "nonblocking" : "hierarchical"}}),
                        STOKER_ERR_MISMATCH, {"stoker_algorithm"}));
    EXPECT_NE(code_with({{"stoker_algorithm", world_rank() == 0 ? "magic" : "hierarchical"}}), STOKER_SUCCESS);
  }
}

// What an allreduce on a communicator takes, or the error of its init.
std::string algorithm_of(stoker_engine engine, MPI_Comm comm, const Settings& keys = {}) {
  const InfoOwner info(keys);
  double mine = 1, sum = 0;
  stoker_request request = STOKER_REQUEST_NULL;
  if (const int code = stoker_allreduce_init(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, info.get(), engine, &request);
      code != STOKER_SUCCESS) {
    EXPECT_EQ(code, STOKER_ERR_SETTING);
    return stoker_error_message();
  }
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_request_statistics(request, &statistics)));
  std::string taken = statistics.algorithm;
  EXPECT_TRUE(ok(stoker_request_free(&request)));
  return taken;
}

// A list of factors is for one number of ranks, wherever it is given.
TEST(Settings, ListsOfFactorsThatDoNotFitAreRefused) {
  const int ranks = world_size();
  const std::string members = std::to_string(ranks) + " members; expected";
  const std::string list = "recursive-exchange:factors=7 11";
  const EngineOwner engine(MPI_COMM_WORLD, {{"algorithms", "allreduce=" + list}});
  ASSERT_NE(engine.get(), STOKER_ENGINE_NULL);
  const auto expect_parts = [&](const std::string& refusal, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(refusal.find(part), std::string::npos) << "no " << part << " in: " << refusal;
    }
  };
  const std::string reason = "recursive-exchange: factors=7 11 ";
  const std::string rank = "rank " + std::to_string(world_rank());
  expect_parts(algorithm_of(engine.get(), MPI_COMM_WORLD),
               {rank, "setting algorithms, allreduce=" + list, reason, members});
  expect_parts(algorithm_of(engine.get(), MPI_COMM_WORLD, {{"stoker_algorithm", list}}),
               {rank, "info key stoker_algorithm=" + list, reason, members});
  for (int i = 0; i < 2; ++i) { // blocking: again and again
    double mine = 1, sum = 0;
    EXPECT_TRUE(refused(stoker_allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, engine.get()),
                        STOKER_ERR_SETTING, {"setting algorithms, allreduce=" + list, reason, members}));
  }
  const std::string taken = algorithm_of(engine.get(), MPI_COMM_WORLD, {{"stoker_algorithm", "tree"}});
  EXPECT_TRUE(taken.starts_with("tree")) << taken;
}

TEST(Settings, AListThatFitsOneCommunicatorIsRefusedOnOthers) {
  if (world_size() == 1) {
    GTEST_SKIP() << "a list fits no communicator of one rank";
  }
  const std::string list = "recursive-exchange:factors=" + std::to_string(world_size());
  const EngineOwner engine(MPI_COMM_WORLD, {{"algorithms", "allreduce=" + list}});
  for (int i = 0; i < 2; ++i) {
    const std::string taken = algorithm_of(engine.get(), MPI_COMM_WORLD);
    EXPECT_TRUE(taken.starts_with(list)) << taken;
    const std::string refusal = algorithm_of(engine.get(), MPI_COMM_SELF);
    EXPECT_NE(refusal.find("setting algorithms, allreduce=" + list), std::string::npos) << refusal;
  }
}

// A number is a limit: what a communicator has less of it takes all of.
TEST(Settings, NumbersThatDoNotFitAreAdaptedWithAWarning) {
  const std::string number = "node-aware:lanes=1000";
  const EngineOwner engine(MPI_COMM_WORLD, {{"algorithms", "allreduce=" + number}});
  ASSERT_NE(engine.get(), STOKER_ENGINE_NULL);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    const std::string taken = algorithm_of(engine.get(), MPI_COMM_WORLD);
    EXPECT_TRUE(taken.starts_with("node-aware")) << taken;
    EXPECT_EQ(taken.find("1000"), std::string::npos) << taken;
  }
  const std::string told = ::testing::internal::GetCapturedStderr();
  const std::string warning = "setting algorithms, allreduce=" + number;
  EXPECT_EQ(told.find(warning) != std::string::npos, world_rank() == 0) << told;
  EXPECT_EQ(told.find(warning), told.rfind(warning)) << told;

  const std::string refusal = algorithm_of(engine.get(), MPI_COMM_WORLD, {{"stoker_algorithm", number}});
  EXPECT_NE(refusal.find("stoker_algorithm=" + number), std::string::npos) << refusal;
}

TEST(Settings, CoresThatDoNotExist) {
  EXPECT_TRUE(
      creation_refused({{"executor", "engine"}, {"reserve", "list:999"}}, STOKER_ERR_RESOURCE, {"999", "core"}));
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", "engine"}, {"reserve", "list:999"}, {"best_effort", "1"}});
  ASSERT_NE(engine.get(), STOKER_ENGINE_NULL);
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  ASSERT_TRUE(ok(stoker_engine_get_facts(engine.get(), &facts)));
  EXPECT_EQ(facts.helpers, 1);
  EXPECT_NE(facts.helper_core, 999);
}

TEST(Settings, SharedMemoryThatIsTooSmall) {
  // Too little for an engine, or for what is asked of it later: an error on all ranks, never a crash.
  for (const char* bytes : {"1", "4096", "100000"}) {
    stoker_engine engine = STOKER_ENGINE_NULL;
    const int created = create_engine(MPI_COMM_WORLD, {{"arena_bytes", bytes}}, &engine);
    ASSERT_EQ(everywhere(created == STOKER_SUCCESS), created == STOKER_SUCCESS);
    if (created != STOKER_SUCCESS) {
      EXPECT_TRUE(refused(created, STOKER_ERR_RESOURCE, {"arena_bytes"}) ||
                  refused(created, STOKER_ERR_SETTING, {"arena_bytes"}))
          << stoker_error_message();
      continue;
    }
    // Requests until the memory is gone: every init succeeds or fails on all ranks alike.
    Transfers transfers;
    int failures = 0;
    for (int id = 0; id < 6 && failures == 0; ++id) {
      TransferSpec spec;
      spec.id = id;
      spec.block_bytes = 65536;
      spec.types = Types::strided;
      auto transfer = std::make_unique<Transfer>(spec, engine, MPI_COMM_WORLD);
      ASSERT_EQ(everywhere(transfer->code() == STOKER_SUCCESS), transfer->code() == STOKER_SUCCESS);
      if (transfer->code() == STOKER_SUCCESS) {
        transfers.push_back(std::move(transfer));
      } else {
        ++failures;
        EXPECT_EQ(transfer->code(), STOKER_ERR_RESOURCE) << transfer->message();
        EXPECT_NE(transfer->message().find("arena_bytes"), std::string::npos) << transfer->message();
      }
    }
    for (const auto& transfer : transfers) { // what could be had works
      transfer->prepare();
      EXPECT_TRUE(ok(stoker_start(transfer->request())));
      EXPECT_TRUE(ok(stoker_wait(transfer->request())));
      EXPECT_EQ(transfer->defect(), "");
    }
    transfers.clear();
    EXPECT_TRUE(ok(stoker_engine_destroy(&engine)));
  }
}

TEST(Settings, ForcedAccessThatCannotBeHad) {
  if (world_size() < 2) {
    GTEST_SKIP() << "one rank owns all its memory";
  }
  // Heap memory is in no segment that others map.
  const EngineOwner mapped(MPI_COMM_WORLD, {{"access", "mapped"}});
  TransferSpec spec;
  Transfer on_heap(spec, mapped.get(), MPI_COMM_WORLD);
  EXPECT_EQ(on_heap.code(), STOKER_ERR_ACCESS) << on_heap.message();
  EXPECT_NE(on_heap.message().find("mapped"), std::string::npos) << on_heap.message();
  // Two ranks of a node have one carrier: at least one of them does not own its memory.
  stoker_engine engine = STOKER_ENGINE_NULL;
  const int created = create_engine(MPI_COMM_WORLD, {{"executor", "engine"}, {"access", "own"}}, &engine);
  if (created == STOKER_SUCCESS) {
    Transfer transfer(spec, engine, MPI_COMM_WORLD);
    EXPECT_EQ(transfer.code(), STOKER_ERR_ACCESS) << transfer.message();
    EXPECT_TRUE(ok(stoker_engine_destroy(&engine)));
  } else {
    EXPECT_TRUE(refused(created, STOKER_ERR_ACCESS, {"own"}));
  }
}

} // namespace
} // namespace api_tests
