// SPDX-License-Identifier: BSD-3-Clause
// Tuning files: init takes what the file names where an entry covers the call, unless an info key or a setting names
// something else. A file that is damaged, and an algorithm that does not fit, leave the choice to the cost model, on
// all ranks alike. Announced starts: an init that they cannot win back is not made.
#include "machine_text.hpp"
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"
#include "tests/api/vector_transfer.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace api_tests {
namespace {

using algos::Collective;

// A file that rank 0 writes, and all ranks know by name.
class SharedFile {
public:
  explicit SharedFile(const std::string& text) {
    int number = getpid();
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    path_ = std::filesystem::temp_directory_path() / ("stoker-tuning-" + std::to_string(number));
    if (world_rank() == 0) {
      std::ofstream(path_) << text;
    }
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() {
    barrier();
    if (world_rank() == 0) {
      std::filesystem::remove(path_);
    }
  }
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

// For all layouts.
std::string entry(const std::string& collective, const std::string& algorithm, const std::string& bytes) {
  return "[[entry]]\ncollective = \"" + collective + "\"\nnodes = [1, 64]\nranks_per_node = [1, 64]\nbytes = " + bytes +
         "\nalgorithm = \"" + algorithm + "\"\n";
}
std::string file_of(const std::string& entries) { return "version = 1\n" + entries; }

std::string algorithm_of(stoker_request request) {
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_request_statistics(request, &statistics)));
  std::string mine = statistics.algorithm;
  std::string first = mine;
  first.resize(256);
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  first.resize(first.find('\0'));
  EXPECT_EQ(mine, first) << "not as on rank 0";
  return mine;
}

// Runs it twice; returns the algorithm.
template <class T>
std::string carried_out(T& transfer) {
  if (transfer.code() != STOKER_SUCCESS) {
    ADD_FAILURE() << transfer.message();
    return "none";
  }
  for (int epoch = 0; epoch < 2; ++epoch) {
    transfer.prepare();
    EXPECT_TRUE(ok(stoker_start(transfer.request())));
    EXPECT_TRUE(ok(stoker_wait(transfer.request())));
    EXPECT_EQ(transfer.defect(), "");
  }
  return algorithm_of(transfer.request());
}

std::string alltoall(const Settings& settings, std::uint64_t block_bytes, const std::string& info = "",
                     Pattern pattern = Pattern::alltoall) {
  const EngineOwner engine(MPI_COMM_WORLD, settings);
  TransferSpec spec;
  spec.pattern = pattern;
  spec.block_bytes = block_bytes;
  spec.algorithm = info;
  Transfer transfer(spec, engine.get(), MPI_COMM_WORLD);
  return carried_out(transfer);
}

std::string allreduce(const Settings& settings, Elements elements, int count) {
  const EngineOwner engine(MPI_COMM_WORLD, settings);
  VectorSpec spec;
  spec.elements = elements;
  spec.count = count;
  VectorTransfer transfer(spec, engine.get());
  return carried_out(transfer);
}

class Tuning : public ::testing::Test {
protected:
  void SetUp() override {
    if (world_size() < 3) {
      GTEST_SKIP() << "the algorithms of the file need 3 ranks to differ from the model's";
    }
  }
};

TEST_F(Tuning, NamesTheAlgorithmOfWhatItCovers) {
  const SharedFile file(file_of(entry("alltoall", "radix:r=3", "[4, 128]") +
                                entry("alltoallv", "bruck-norotation", "[0, 64]") +
                                entry("allreduce", "tree", "[0, 64]")));
  for (const auto& [ranks_per_node, executor] : {std::pair("0", "auto"), std::pair("2", "inline")}) {
    const Settings settings{{"tuning", file.path()}, {"ranks_per_node", ranks_per_node}, {"executor", executor}};
    Settings without = settings;
    without.erase(without.begin());
    EXPECT_EQ(alltoall(settings, 64), "radix:r=3");
    EXPECT_EQ(alltoall(settings, 128), "radix:r=3");
    EXPECT_EQ(alltoall(settings, 132), alltoall(without, 132)) << "beyond the range";
    EXPECT_EQ(alltoall(settings, 16, "", Pattern::random), "bruck-norotation");
    EXPECT_EQ(allreduce(settings, Elements::doubles, 8).substr(0, 4), "tree");
    EXPECT_EQ(allreduce(settings, Elements::doubles, 9), allreduce(without, Elements::doubles, 9));
  }
}

TEST_F(Tuning, InfoKeyAndSettingAreStronger) {
  const SharedFile file(file_of(entry("alltoall", "radix:r=3", "[1, 128]")));
  EXPECT_EQ(alltoall({{"tuning", file.path()}}, 64, "pairwise"), "pairwise");
  EXPECT_EQ(alltoall({{"tuning", file.path()}, {"algorithms", "alltoall=bruck"}}, 64), "bruck");
  EXPECT_EQ(alltoall({{"tuning", file.path()}, {"algorithms", "alltoall=bruck"}}, 64, "pairwise"), "pairwise");
  EXPECT_EQ(alltoall({{"tuning", file.path()}, {"algorithms", "allreduce=tree"}}, 64), "radix:r=3");
  setenv("STOKER_ALGORITHMS", "alltoall=batched:batch=2", 1);
  EXPECT_EQ(alltoall({{"tuning", file.path()}}, 64), "batched:batch=2");
  unsetenv("STOKER_ALGORITHMS");
}

TEST_F(Tuning, DamagedFilesLeaveTheChoiceToTheModel) {
  const std::string good = file_of(entry("alltoall", "radix:r=3", "[1, 128]"));
  const std::string model = alltoall({}, 64);
  ASSERT_NE(model, "radix:r=3");
  for (const std::string& text : {std::string(), std::string("version = 2\n"), good + "[[entry", good + good,
                                  good.substr(0, good.size() / 2), good + entry("alltoall", "magic", "[200, 300]")}) {
    const SharedFile file(text);
    EXPECT_EQ(alltoall({{"tuning", file.path()}, {"log", "error"}}, 64), model) << text;
  }
  EXPECT_EQ(alltoall({{"tuning", "/nonexistent/tuning.toml"}, {"log", "error"}}, 64), model);
}

TEST_F(Tuning, WhatDoesNotFitIsNotTaken) {
  const SharedFile file(file_of(entry("alltoall", "radix:r=60", "[1, 128]") +
                                entry("allreduce", "cyclic-shift", "[0, 4096]") +
                                entry("reduce", "node-aware", "[0, 4096]")));
  const Settings tuned{{"tuning", file.path()}, {"ranks_per_node", "2"}, {"log", "error"}};
  EXPECT_EQ(alltoall(tuned, 64), alltoall({{"ranks_per_node", "2"}}, 64)) << "60 is more than there are ranks";
  EXPECT_EQ(allreduce(tuned, Elements::doubles, 8).substr(0, 12), "cyclic-shift");
  EXPECT_NE(allreduce(tuned, Elements::matrices, 8).substr(0, 12), "cyclic-shift") << "not commutative";
  Settings deterministic = tuned;
  deterministic.emplace_back("deterministic", "1");
  const EngineOwner engine(MPI_COMM_WORLD, deterministic);
  VectorSpec spec;
  spec.collective = Collective::reduce;
  VectorTransfer transfer(spec, engine.get());
  EXPECT_NE(carried_out(transfer).substr(0, 10), "node-aware") << "its order depends on where ranks are";
}

TEST_F(Tuning, IsNotHiddenByWisdom) {
  const SharedFile file(file_of(entry("allreduce", "tree:factors=-3 3", "64")));
  const std::string wisdom = file.path() + ".wisdom";
  const std::string model = allreduce({{"wisdom", wisdom}}, Elements::doubles, 8);
  EXPECT_EQ(allreduce({{"wisdom", wisdom}, {"tuning", file.path()}}, Elements::doubles, 8), "tree:factors=-3 3");
  EXPECT_EQ(allreduce({{"wisdom", wisdom}}, Elements::doubles, 8), model);
  barrier();
  if (world_rank() == 0) {
    std::filesystem::remove_all(wisdom);
  }
}

int init_code(stoker_engine engine, const std::string& starts, std::string* algorithm = nullptr) {
  const InfoOwner info({{"stoker_starts", starts}});
  std::vector<int> send(static_cast<std::size_t>(world_size()));
  std::vector<int> recv(send.size());
  stoker_request request = STOKER_REQUEST_NULL;
  const int code = stoker_alltoall_init(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, MPI_COMM_WORLD, info.get(),
                                        engine, &request);
  if (code == STOKER_SUCCESS) {
    if (algorithm != nullptr) {
      *algorithm = algorithm_of(request);
    }
    EXPECT_TRUE(ok(stoker_request_free(&request)));
  }
  return code;
}

TEST(Starts, BadNumbersAreRefused) {
  const EngineOwner engine(MPI_COMM_WORLD);
  for (const char* starts : {"0", "-1", "many", "1.5", "3 ", "99999999999999999999999"}) {
    EXPECT_TRUE(refused(init_code(engine.get(), starts), STOKER_ERR_SETTING, {"stoker_starts", starts, "1 or more"}));
  }
  EXPECT_TRUE(ok(init_code(engine.get(), "18446744073709551615")));
  if (world_size() > 1) {
    EXPECT_TRUE(
        refused(init_code(engine.get(), world_rank() == 0 ? "1" : "2"), STOKER_ERR_MISMATCH, {"stoker_starts"}));
  }
}

// On a network where a message takes a nanosecond, fewer messages win back no init but in millions of starts; where it
// takes a second, at once.
TEST(Starts, AnInitThatTheyDoNotWinBackIsNotMade) {
  if (world_size() < 3) {
    GTEST_SKIP() << "two nodes, one of them of two ranks, need 3 ranks";
  }
  const auto algorithm = [](const char* send_overhead_us, const char* starts) {
    const SharedFile model(machine_with_network(send_overhead_us));
    const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "2"}, {"cost_model", model.path()}});
    std::string name;
    EXPECT_TRUE(ok(init_code(engine.get(), starts, &name)));
    return name;
  };
  EXPECT_EQ(algorithm("0.001", "1"), "nonblocking");
  EXPECT_NE(algorithm("0.001", "1000000000"), "nonblocking");
  EXPECT_NE(algorithm("1000000", "1"), "nonblocking");
}

} // namespace
} // namespace api_tests
