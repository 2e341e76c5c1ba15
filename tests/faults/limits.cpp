// SPDX-License-Identifier: BSD-3-Clause
// One rank, or every rank, runs out of address space or descriptors at the worst moment: the call is refused on all
// ranks, or served all the same; nothing hangs or crashes, and with the limit lifted everything works. The MPI library
// itself always gets what it needs: an engine was made before, and some address space is left.
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace api_tests {
namespace {

// A soft limit of this process for the length of a scope.
class Limit {
public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit lower{std::min(value, before_.rlim_max), before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &lower), 0);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() { setrlimit(resource_, &before_); }

private:
  __rlimit_resource resource_;
  rlimit before_{};
};

rlim_t address_space_in_use() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

rlim_t descriptors_in_use() {
  rlim_t highest = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    highest = std::max(highest, static_cast<rlim_t>(std::stoul(entry.path().filename().string())));
  }
  return highest + 1;
}

void expect_works(stoker_engine engine) {
  TransferSpec spec;
  spec.block_bytes = 20000;
  Transfer transfer(spec, engine, MPI_COMM_WORLD);
  ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
  for (int epoch = 0; epoch < 3; ++epoch) {
    transfer.prepare();
    EXPECT_TRUE(ok(stoker_start(transfer.request())));
    EXPECT_TRUE(ok(stoker_wait(transfer.request())));
    EXPECT_EQ(transfer.defect(), "");
  }
}

// The MPI library takes memory for messages that come before their receives when the first ones do. It does so here.
void receive_early_messages() {
  constexpr int tag = 1, each = 8;
  constexpr std::size_t bytes = 64;
  const std::vector<char> sent(bytes);
  std::vector<MPI_Request> sends(static_cast<std::size_t>(each * (world_size() - 1)));
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const int to = (world_rank() + 1 + static_cast<int>(i) / each) % world_size();
    MPI_Isend(sent.data(), bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &sends[i]);
  }
  std::vector<char> received(bytes);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(received.data(), bytes, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
}

// Creates an engine while `limit` is in force here or not; all ranks must get the same answer.
void create_under(const std::function<std::unique_ptr<Limit>()>& limit) {
  EngineOwner(MPI_COMM_WORLD).destroy();
  receive_early_messages();
  stoker_engine engine = STOKER_ENGINE_NULL;
  int code = STOKER_SUCCESS;
  std::string message;
  {
    const auto in_force = limit();
    code = create_engine(MPI_COMM_WORLD, {}, &engine);
    message = code == STOKER_SUCCESS ? "" : stoker_error_message();
  }
  const bool mine = code == STOKER_SUCCESS;
  const bool all = everywhere(mine), none = everywhere(!mine);
  ASSERT_TRUE(all || none) << "some ranks have an engine and some do not; here: " << message;
  if (all) {
    expect_works(engine);
    EXPECT_TRUE(ok(stoker_engine_destroy(&engine)));
  } else {
    EXPECT_EQ(code, STOKER_ERR_RESOURCE) << message;
    EXPECT_NE(message.find("rank"), std::string::npos) << message;
  }
  const EngineOwner after(MPI_COMM_WORLD); // with the limit lifted
  ASSERT_NE(after.get(), STOKER_ENGINE_NULL);
  expect_works(after.get());
}

bool is_last() { return world_rank() == world_size() - 1; }

TEST(Limits, OneRankShortOfAddressSpace) {
  for (const rlim_t room : {rlim_t{16} << 20, rlim_t{64} << 20}) {
    note("address space " + std::to_string(room));
    create_under(
        [&] { return is_last() ? std::make_unique<Limit>(RLIMIT_AS, address_space_in_use() + room) : nullptr; });
  }
}

// Every rank maps the arenas of all: their length is what fits into the address space of the one that has least.
TEST(Limits, ArenasOfAllRanksFitIntoTheAddressSpaceOfEach) {
  constexpr rlim_t room = rlim_t{2} << 30;
  EngineOwner(MPI_COMM_WORLD).destroy();
  const rlim_t before = address_space_in_use();
  const auto limit = is_last() ? std::make_unique<Limit>(RLIMIT_AS, before + room) : nullptr;
  const EngineOwner engine(MPI_COMM_WORLD);
  ASSERT_NE(engine.get(), STOKER_ENGINE_NULL);
  expect_works(engine.get());
  EXPECT_LT(address_space_in_use(), before + room / 2); // on all ranks: the application needs some, too
}

TEST(Limits, EveryRankShortOfAddressSpace) {
  create_under([] { return std::make_unique<Limit>(RLIMIT_AS, address_space_in_use() + (rlim_t{24} << 20)); });
}

TEST(Limits, OneRankShortOfDescriptors) {
  for (const rlim_t room : {rlim_t{0}, rlim_t{1}, rlim_t{3}}) {
    note("descriptors " + std::to_string(room));
    create_under(
        [&] { return is_last() ? std::make_unique<Limit>(RLIMIT_NOFILE, descriptors_in_use() + room) : nullptr; });
  }
}

TEST(Limits, MappedMemoryBeyondTheAddressSpace) {
  const EngineOwner engine(MPI_COMM_WORLD);
  void* memory = nullptr;
  {
    const Limit limit(RLIMIT_AS, address_space_in_use() + (rlim_t{1} << 20));
    const int code = stoker_alloc(engine.get(), std::size_t{256} << 20, &memory);
    EXPECT_TRUE(code == STOKER_SUCCESS || refused(code, STOKER_ERR_RESOURCE)) << stoker_error_message();
  }
  if (memory != nullptr) {
    EXPECT_TRUE(ok(stoker_dealloc(memory)));
  }
  expect_works(engine.get());
}

} // namespace
} // namespace api_tests
