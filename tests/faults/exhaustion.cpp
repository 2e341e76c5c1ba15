// SPDX-License-Identifier: BSD-3-Clause
// One rank's shared memory is full when exchanges of any sizes start, long after their requests were made. Where
// processes of the node may reach each other's memory all goes right. Elsewhere (run it under deny_syscalls) the call
// fails on that rank and on those that it sends to, and nobody waits for ever. STOKER_RANKS_PER_NODE pretends nodes.
#include "engine/calls/calls.hpp"

#include "api/c/engine_of.hpp"
#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace api_tests {
namespace {

using stoker::engine::Calls;
using stoker::engine::Code;
using stoker::engine::Error;
using stoker::engine::Executor;

std::size_t ranks() { return static_cast<std::size_t>(world_size()); }

// Takes all shared memory that is left to this rank.
class FullArena {
public:
  explicit FullArena(stoker_engine engine) {
    for (std::size_t bytes = std::size_t{32} << 20; bytes >= 64; bytes /= 2) {
      void* memory = nullptr;
      while (stoker_alloc(engine, bytes, &memory) == STOKER_SUCCESS) {
        taken_.push_back(memory);
      }
    }
  }
  FullArena(const FullArena&) = delete;
  FullArena& operator=(const FullArena&) = delete;
  ~FullArena() {
    for (void* memory : taken_) {
      EXPECT_TRUE(ok(stoker_dealloc(memory)));
    }
  }

private:
  std::vector<void*> taken_;
};

enum class Lie { dense, gapped };

// An alltoallv of blocks of different sizes, some of them empty. With gaps every other int is data.
class Exchange {
public:
  Exchange(std::uint64_t number, int largest, Lie lie) : number_(number), step_(lie == Lie::gapped ? 2U : 1U) {
    MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(step_ * sizeof(int)), &type_);
    MPI_Type_commit(&type_);
    for (int peer = 0; peer < world_size(); ++peer) {
      sent_.push_back(count(world_rank(), peer, largest));
      received_.push_back(count(peer, world_rank(), largest));
      send_places_.push_back(static_cast<int>(send_.size() / step_));
      recv_places_.push_back(static_cast<int>(recv_.size() / step_));
      for (int i = 0; i < sent_.back(); ++i) {
        send_.push_back(value(world_rank(), peer, i));
        send_.resize(send_.size() + step_ - 1, -7);
      }
      recv_.resize(recv_.size() + (static_cast<std::size_t>(received_.back()) * step_), -1);
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { MPI_Type_free(&type_); }

  [[nodiscard]] auto start(Calls& calls, Executor executor) {
    return calls.start({.collective = stoker::algos::Collective::alltoallv,
                        .sendbuf = send_.data(),
                        .sendcounts = sent_.data(),
                        .sdispls = send_places_.data(),
                        .sendtypes = &type_,
                        .recvbuf = recv_.data(),
                        .recvcounts = received_.data(),
                        .rdispls = recv_places_.data(),
                        .recvtypes = &type_},
                       MPI_INFO_NULL, executor);
  }
  [[nodiscard]] std::string defect() const {
    for (int peer = 0; peer < world_size(); ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      for (int i = 0; i < received_[at]; ++i) {
        const std::size_t place = static_cast<std::size_t>(recv_places_[at] + i) * step_;
        if (recv_[place] != value(peer, world_rank(), i) || (step_ > 1 && recv_[place + 1] != -1)) {
          return "element " + std::to_string(i) + " from rank " + std::to_string(peer) + " is wrong";
        }
      }
    }
    return "";
  }

private:
  [[nodiscard]] int count(int source, int destination, int largest) const {
    const int share = (source + 2 * destination + static_cast<int>(number_ % 5)) % 5; // of short blocks, too
    return share == 1 ? 3 : largest * share / 4;
  }
  [[nodiscard]] int value(int source, int destination, int i) const {
    return static_cast<int>(
               mix(number_ * 1000 + ranks() * static_cast<unsigned>(source) + static_cast<unsigned>(destination)) +
               static_cast<unsigned>(i)) &
           0x7fffffff;
  }

  std::uint64_t number_;
  std::size_t step_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::vector<int> send_, recv_, sent_, received_, send_places_, recv_places_;
};

class Exhaustion : public ::testing::TestWithParam<const char*> {
protected:
  [[nodiscard]] Executor executor() const {
    return GetParam() == std::string("engine") ? Executor::engine : Executor::inline_;
  }
  // The error of the call, if it has one; without one the results are right.
  [[nodiscard]] std::optional<Error> run(Calls& calls, int largest, Lie lie) {
    Exchange exchange(number_++, largest, lie);
    try {
      const auto call = exchange.start(calls, executor());
      call->wait();
      call->finish();
    } catch (const Error& error) {
      return error;
    }
    EXPECT_EQ(exchange.defect(), "");
    return std::nullopt;
  }

private:
  std::uint64_t number_ = 1;
};

TEST_P(Exhaustion, OfOneRanksSharedMemoryWhenCallsStart) {
  EngineOwner owner(MPI_COMM_WORLD, {{"executor", GetParam()}, {"arena_bytes", "64M"}, {"log", "error"}});
  const auto engine = stoker::api::engine_of(owner.get());
  const bool reachable = engine->memory()->attach_works();
  Calls calls(engine, MPI_COMM_WORLD, false);
  int refusals = 0;
  for (const int victim : {world_size() - 1, 0}) {
    for (int i = 0; i < 8; ++i) { // all lanes have their requests
      ASSERT_FALSE(run(calls, 8, Lie::dense));
    }
    auto full = world_rank() == victim ? std::make_unique<FullArena>(owner.get()) : nullptr;
    barrier();
    for (int i = 0; i < 12; ++i) {
      note("victim " + std::to_string(victim) + ", call " + std::to_string(i));
      const auto error = run(calls, i % 3 == 2 ? 8 : 100'000, i % 2 == 0 ? Lie::gapped : Lie::dense);
      refusals += error ? 1 : 0;
      if (error) {
        EXPECT_FALSE(reachable) << error->what();
        EXPECT_EQ(error->code(), Code::resource) << error->what();
        EXPECT_NE(std::string(error->what()).find("rank " + std::to_string(victim)), std::string::npos)
            << error->what();
      }
    }
    full.reset();
    barrier();
    for (int i = 0; i < 8; ++i) {
      const auto error = run(calls, 100'000, Lie::gapped);
      EXPECT_FALSE(error) << error->what();
    }
  }
  const bool anybody = !everywhere(refusals == 0);
  EXPECT_EQ(anybody, !reachable && world_size() > 1) << "the shared memory was not full";
  calls.close();
}

INSTANTIATE_TEST_SUITE_P(Executors, Exhaustion, ::testing::Values("engine", "inline"),
                         [](const auto& which) { return std::string(which.param); });

} // namespace
} // namespace api_tests
