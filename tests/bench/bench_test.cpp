// SPDX-License-Identifier: BSD-3-Clause
// The basis of the benchmarks' figures: order statistics, the slowest rank, work that scales, and checks that notice
// wrong data. Every rank runs every test.
#include "bench/lib/exchange.hpp"
#include "bench/lib/kernels.hpp"
#include "bench/lib/measure.hpp"
#include "bench/lib/operation.hpp"
#include "bench/lib/random_stream.hpp"
#include "bench/lib/red_black.hpp"
#include "bench/lib/report.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace stoker::bench {
namespace {

TEST(Summary, OddNumber) {
  const Summary s = summarize({9, 1, 5, 4, 100});
  EXPECT_EQ(s.iterations, 5);
  EXPECT_DOUBLE_EQ(s.median, 5);
  EXPECT_DOUBLE_EQ(s.mad, 4); // of 4, 4, 0, 1, 95
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 100);
}

TEST(Summary, EvenNumberAndOne) {
  EXPECT_DOUBLE_EQ(summarize({4, 1, 3, 2}).median, 2.5);
  EXPECT_DOUBLE_EQ(summarize({4, 1, 3, 2}).mad, 1);
  EXPECT_DOUBLE_EQ(summarize({7}).median, 7);
  EXPECT_DOUBLE_EQ(summarize({7}).mad, 0);
}

TEST(Measure, SlowestRankCounts) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto slowest = slowest_rank(MPI_COMM_WORLD, {static_cast<double>(rank), static_cast<double>(-rank), 5});
  EXPECT_EQ(slowest, (std::vector<double>{static_cast<double>(ranks - 1), 0, 5}));
}

TEST(Measure, EveryVariantIsTimedEquallyOften) {
  std::vector<int> calls(3, 0);
  int hooks = 0;
  std::vector<Variant> variants;
  for (int& count : calls) {
    variants.push_back({[&count] { ++count; }, [&hooks] { ++hooks; }, [&hooks] { --hooks; }});
  }
  const auto summaries =
      measure(MPI_COMM_WORLD, variants, 4, {.seconds = 1e-9, .min_iterations = 5, .max_iterations = 9});
  ASSERT_EQ(summaries.size(), 3U);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(summaries[i].iterations, 5);
    EXPECT_EQ(calls[i], (2 + 5) * 4); // warm-up and iterations, batches of 4
  }
  EXPECT_EQ(hooks, 0);
}

TEST(Measure, BatchesAreLongerWhereBodiesAreShort) {
  EXPECT_EQ(batch_for(1e6, {}), 1);
  EXPECT_GT(batch_for(1, {}), batch_for(100, {}));
  EXPECT_GE(batch_for(1e-9, {}), 1);
  EXPECT_EQ(batch_for(10, {.batch_us = 95}), 10);
}

TEST(Kernel, MemoryKernelGoesThroughAllItsMemory) {
  MemoryKernel kernel(3 * 10 * sizeof(double));
  kernel.run(25); // wraps twice
  kernel.run(0);
  EXPECT_THROW((void)make_kernel("nonsense", 1, nullptr), std::invalid_argument);
}

TEST(Kernel, DeviceKernelLeavesTheCoreFree) {
  constexpr int microseconds = 20'000;
  const auto cpu_us = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
  };
  const double cpu_before = cpu_us();
  const auto begin = Clock::now();
  make_kernel("device", 1, nullptr)->run(microseconds);
  EXPECT_GE(stoker::bench::microseconds(Clock::now() - begin), microseconds);
  EXPECT_LT(cpu_us() - cpu_before, microseconds / 2.0);
}

TEST(Exchange, EveryWrongByteIsNoticed) {
  Exchange exchange(MPI_COMM_SELF, Collective::alltoall, 33, {});
  exchange.fill(1);
  EXPECT_THROW(exchange.check(1, "nothing moved"), std::runtime_error);
  const auto deliver = [&] { std::copy(exchange.send().begin(), exchange.send().end(), exchange.recv().begin()); };
  deliver();
  EXPECT_NO_THROW(exchange.check(1, "copied"));
  for (std::byte& byte : exchange.recv()) {
    byte ^= std::byte{1};
    EXPECT_THROW(exchange.check(1, "one bit"), std::runtime_error);
    byte ^= std::byte{1};
  }
  exchange.fill(2);
  std::vector<std::byte> second(exchange.send().begin(), exchange.send().end());
  exchange.fill(3);
  std::copy(second.begin(), second.end(), exchange.recv().begin());
  EXPECT_THROW(exchange.check(3, "the epoch before"), std::runtime_error);
}

TEST(Exchange, EveryWrongElementIsNoticed) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Exchange exchange(MPI_COMM_WORLD, Collective::allreduce, 40, {});
  exchange.fill(1);
  EXPECT_THROW(exchange.check(1, "nothing moved"), std::runtime_error);
  mpi_blocking(exchange)->run();
  EXPECT_NO_THROW(exchange.check(1, "summed up"));
  EXPECT_THROW(exchange.check(2, "the epoch before"), std::runtime_error);
  for (double& sum : exchange.result()) {
    sum += 1;
    EXPECT_THROW(exchange.check(1, "one too many"), std::runtime_error);
    sum -= 1;
  }
  std::copy(exchange.operand().begin(), exchange.operand().end(), exchange.result().begin());
  if (ranks > 1) {
    EXPECT_THROW(exchange.check(1, "one operand only"), std::runtime_error);
  }
}

TEST(Exchange, RootsHaveBuffersOfTheirOwn) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::size_t at_root = rank == root_rank ? 5 : 0;
  const Exchange reduce(MPI_COMM_WORLD, Collective::reduce, 40, {});
  EXPECT_EQ(reduce.operand().size(), 5U);
  EXPECT_EQ(reduce.result().size(), at_root);
  Exchange bcast(MPI_COMM_WORLD, Collective::bcast, 5, {});
  EXPECT_EQ(bcast.send().size(), at_root);
  EXPECT_EQ(bcast.recv().size(), 5 - at_root);
  EXPECT_EQ(bcast.vector().size(), 5U);
  bcast.fill(1);
  mpi_blocking(bcast)->run();
  EXPECT_NO_THROW(bcast.check(1, "sent to all"));
  for (std::byte& byte : bcast.recv()) {
    byte ^= std::byte{1};
    EXPECT_THROW(bcast.check(1, "one bit"), std::runtime_error);
    byte ^= std::byte{1};
  }
}

TEST(Exchange, NamesOfCollectives) {
  for (const std::string& name : collective_names) {
    EXPECT_EQ(name_of(collective_of(name)), name);
  }
  EXPECT_THROW((void)collective_of("nonsense"), std::invalid_argument);
}

TEST(Exchange, VectorsOfWholeDoubles) {
  EXPECT_THROW(Exchange(MPI_COMM_WORLD, Collective::reduce, 12, {}), std::invalid_argument);
  EXPECT_NO_THROW(Exchange(MPI_COMM_WORLD, Collective::bcast, 12, {}));
}

TEST(Exchange, TooLargeForMpiIsRefused) {
  EXPECT_THROW(Exchange(MPI_COMM_WORLD, Collective::alltoallv, std::uint64_t{1} << 31U, {}), std::invalid_argument);
}

TEST(Exchange, CountsOfItsOwn) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> counts; // rank s sends 10 s + r bytes to rank r, nothing to itself
  for (int peer = 0; peer < ranks; ++peer) {
    counts.push_back(peer == rank ? 0 : 10 * rank + peer);
  }
  Exchange exchange(MPI_COMM_WORLD, counts, {});
  EXPECT_FALSE(exchange.bytes().has_value());
  for (int peer = 0; peer < ranks; ++peer) {
    EXPECT_EQ(exchange.recv_counts()[static_cast<std::size_t>(peer)], peer == rank ? 0 : 10 * peer + rank);
  }
  EXPECT_NO_THROW(validate(*mpi_blocking(exchange), exchange));
  if (ranks > 1) {
    exchange.fill(4);
    EXPECT_THROW(exchange.check(4, "nothing moved"), std::runtime_error);
  }
}

TEST(RandomStream, AnyPlaceOfTheSequence) {
  std::uint64_t value = 1;
  for (std::uint64_t n = 0; n < 1000; ++n, value = next_random(value)) {
    ASSERT_EQ(random_at(n), value) << n;
  }
  const std::uint64_t far = 123'456'789'012'345;
  std::uint64_t walked = random_at(far);
  for (int i = 0; i < 100; ++i) {
    walked = next_random(walked);
  }
  EXPECT_EQ(walked, random_at(far + 100));
  EXPECT_EQ(next_random(std::uint64_t{1} << 63U), 7U);
}

TEST(RedBlack, OneColourAtATime) {
  constexpr std::size_t side = 4;
  const std::vector<float> above(row_length(side), 4);
  const std::vector<float> below(row_length(side), 8);
  std::vector<float> row(row_length(side), 0);
  EXPECT_EQ(relax_row(above.data(), row.data(), below.data(), side, 0, 0), 3);
  EXPECT_EQ(row, (std::vector<float>{0, 3, 0, 3, 0, 0}));
  EXPECT_EQ(relax_row(above.data(), row.data(), below.data(), side, 1, 0), 4.5);
  EXPECT_EQ(row, (std::vector<float>{0, 3, 4.5, 3, 3.75, 0}));
}

TEST(Report, BreakEven) {
  Row row;
  row.time.median = 8;
  row.baseline_us = 10;
  EXPECT_FALSE(break_even(row)); // no init
  row.init_us = 5;
  EXPECT_EQ(break_even(row), 3);
  row.init_us = 4;
  EXPECT_EQ(break_even(row), 2);
  row.time.median = 10;
  EXPECT_FALSE(break_even(row));
  row.baseline_us.reset();
  EXPECT_FALSE(break_even(row));
}

TEST(Operation, MpiVariantsMoveTheData) {
  for (const std::string& collective : collective_names) {
    Exchange exchange(MPI_COMM_WORLD, collective_of(collective), 1000, {});
    std::set<std::string> names;
    for (const auto& operation : {mpi_blocking(exchange), mpi_nonblocking(exchange), mpi_persistent(exchange)}) {
      if (operation != nullptr) {
        EXPECT_NO_THROW(validate(*operation, exchange));
        names.insert(operation->name());
      }
    }
    EXPECT_TRUE(names.contains("mpi-blocking") && names.contains("mpi-nonblocking"));
  }
}

// Moves data in the first epoch only, as an implementation does that reads its send buffer at init.
TEST(Operation, StaleDataAreNoticed) {
  class Stale final : public Operation {
  public:
    explicit Stale(Exchange& exchange) : exchange_(exchange) {}
    void start() override {
      if (starts_++ == 0) {
        std::copy(exchange_.send().begin(), exchange_.send().end(), exchange_.recv().begin());
      }
    }
    bool test() override { return true; }
    void wait() override {}
    [[nodiscard]] std::string name() const override { return "stale"; }

  private:
    Exchange& exchange_;
    int starts_ = 0;
  };
  Exchange exchange(MPI_COMM_SELF, Collective::alltoall, 8, {});
  Stale stale(exchange);
  EXPECT_THROW(validate(stale, exchange), std::runtime_error);
}

} // namespace
} // namespace stoker::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
