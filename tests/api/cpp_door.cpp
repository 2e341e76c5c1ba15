// SPDX-License-Identifier: BSD-3-Clause
// The C++ interface: handles that move, exceptions with code and text, spans with checked bounds, in place, mapped
// arrays.
#include "tests/api/mpi_main.hpp"
#include <stoker/stoker.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <chrono>
#include <complex>
#include <concepts>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <type_traits>
#include <vector>

namespace api_tests {
namespace {

static_assert(!std::is_copy_constructible_v<stoker::Engine> && !std::is_copy_assignable_v<stoker::Engine>);
static_assert(!std::is_copy_constructible_v<stoker::Request> && !std::is_copy_assignable_v<stoker::Request>);
static_assert(!std::is_copy_constructible_v<stoker::MappedArray<int>>);
static_assert(std::is_nothrow_move_constructible_v<stoker::Engine> &&
              std::is_nothrow_move_assignable_v<stoker::Engine>);
static_assert(std::is_nothrow_move_constructible_v<stoker::Request> &&
              std::is_nothrow_move_assignable_v<stoker::Request>);
static_assert(std::is_nothrow_move_constructible_v<stoker::MappedArray<int>>);
static_assert(std::derived_from<stoker::Error, std::runtime_error>);

// The code of the stoker::Error that `call` throws, and its text.
std::pair<int, std::string> thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const stoker::Error& error) {
    return {error.code(), error.what()};
  }
  return {STOKER_SUCCESS, "nothing was thrown"};
}

// send[block r] of rank s carries value(s, r, epoch) + position; checks what arrived.
int value(int source, int destination, int epoch) { return source * 1000 + destination * 100 + epoch * 10000; }

template <class T>
void fill(std::span<T> send, int epoch) {
  const std::size_t block = send.size() / static_cast<std::size_t>(world_size());
  for (std::size_t i = 0; i < send.size(); ++i) {
    const int number = value(world_rank(), static_cast<int>(i / block), epoch) + static_cast<int>(i % block);
    send[i] = static_cast<T>(number);
  }
}

template <class T>
bool is_right(std::span<T> recv, int epoch) {
  const std::size_t block = recv.size() / static_cast<std::size_t>(world_size());
  for (std::size_t i = 0; i < recv.size(); ++i) {
    const int number = value(static_cast<int>(i / block), world_rank(), epoch) + static_cast<int>(i % block);
    if (recv[i] != static_cast<T>(number)) {
      return false;
    }
  }
  return true;
}

std::size_t ranks() { return static_cast<std::size_t>(world_size()); }

template <class T>
void exchange(stoker::Engine& engine, std::size_t block) {
  std::vector<T> send(ranks() * block), recv(ranks() * block);
  stoker::Request request = engine.alltoall_init(std::span<const T>(send), std::span<T>(recv), MPI_COMM_WORLD);
  for (int epoch = 0; epoch < 3; ++epoch) {
    fill(std::span(send), epoch);
    std::fill(recv.begin(), recv.end(), T(-1));
    request.start();
    while (!request.test()) {
    }
    EXPECT_TRUE(is_right(std::span(recv), epoch));
  }
}

TEST(CppDoor, ElementTypes) {
  stoker::Engine engine(MPI_COMM_WORLD);
  exchange<int>(engine, 5);
  exchange<unsigned>(engine, 5);
  exchange<long>(engine, 5);
  exchange<unsigned long long>(engine, 5);
  exchange<float>(engine, 5);
  exchange<double>(engine, 3000);
  exchange<long double>(engine, 5);
  exchange<std::complex<double>>(engine, 700);
  EXPECT_EQ(stoker::datatype_of<const double>(), MPI_DOUBLE);
  EXPECT_EQ(stoker::datatype_of<std::byte>(), MPI_BYTE);
}

// One request of every form that combines, gathers or scatters, on a double per rank.
TEST(CppDoor, ReductionsAndTheirLike) {
  stoker::Engine engine(MPI_COMM_WORLD);
  const MPI_Comm comm = MPI_COMM_WORLD;
  const double n = world_size();
  const double me = world_rank();
  const std::vector<double> one(1, me + 1);
  const std::vector<double> all(ranks(), me + 1);
  const std::vector<MPI_Count> counts(ranks(), 1);
  std::vector<MPI_Aint> displs(ranks());
  std::iota(displs.begin(), displs.end(), MPI_Aint{0});
  std::vector<double> ranks_numbers(ranks()); // 1, 2, ...
  std::iota(ranks_numbers.begin(), ranks_numbers.end(), 1.0);
  const double sum = n * (n + 1) / 2;
  const auto run = [](stoker::Request request) {
    request.start();
    request.wait();
  };
  const std::span<const double> send(one);
  const std::span<const double> send_all(all);
  std::vector<double> got(1);
  std::vector<double> got_all(ranks());
  const std::span<double> recv(got);
  const std::span<double> recv_all(got_all);

  run(engine.allreduce_init(send, recv, MPI_SUM, comm));
  EXPECT_EQ(got[0], sum);
  got[0] = me;
  run(engine.allreduce_init(stoker::in_place, recv, MPI_MAX, comm));
  EXPECT_EQ(got[0], n - 1);
  got[0] = -1;
  run(engine.reduce_init(send, recv, MPI_SUM, 0, comm));
  EXPECT_EQ(got[0], world_rank() == 0 ? sum : -1);
  got[0] = me + 1;
  run(engine.reduce_init(stoker::in_place, recv, MPI_SUM, world_size() - 1, comm));
  EXPECT_EQ(got[0], world_rank() == world_size() - 1 ? sum : me + 1);
  run(engine.reduce_scatter_init(send_all, recv, std::span(counts), MPI_SUM, comm));
  EXPECT_EQ(got[0], sum);
  got_all.assign(ranks(), me + 1);
  run(engine.reduce_scatter_init(stoker::in_place, recv_all, std::span(counts), MPI_MIN, comm));
  EXPECT_EQ(got_all[0], 1);
  run(engine.reduce_scatter_block_init(send_all, recv, MPI_SUM, comm));
  EXPECT_EQ(got[0], sum);
  run(engine.scan_init(send, recv, MPI_SUM, comm));
  EXPECT_EQ(got[0], (me + 1) * (me + 2) / 2);
  got[0] = -1;
  run(engine.exscan_init(send, recv, MPI_SUM, comm));
  EXPECT_EQ(got[0], world_rank() == 0 ? -1 : me * (me + 1) / 2);
  got[0] = me;
  run(engine.bcast_init(recv, world_size() - 1, comm));
  EXPECT_EQ(got[0], n - 1);
  run(engine.allgather_init(send, recv_all, comm));
  EXPECT_EQ(got_all, ranks_numbers);
  got_all.assign(ranks(), me + 1);
  run(engine.allgather_init(stoker::in_place, recv_all, comm));
  EXPECT_EQ(got_all, ranks_numbers);
  got_all.assign(ranks(), -1);
  run(engine.allgatherv_init(send, recv_all, std::span(counts), std::span(displs), comm));
  EXPECT_EQ(got_all, ranks_numbers);
  const auto untouched = std::vector<double>(ranks(), -1);
  got_all = untouched;
  run(engine.gather_init(send, recv_all, 0, comm));
  EXPECT_EQ(got_all, world_rank() == 0 ? ranks_numbers : untouched);
  got_all = untouched;
  run(engine.gatherv_init(send, recv_all, std::span(counts), std::span(displs), 0, comm));
  EXPECT_EQ(got_all, world_rank() == 0 ? ranks_numbers : untouched);
  run(engine.scatter_init(std::span<const double>(ranks_numbers), recv, 0, comm));
  EXPECT_EQ(got[0], me + 1);
  got[0] = -1;
  run(engine.scatterv_init(std::span<const double>(ranks_numbers), std::span(counts), std::span(displs), recv, 0,
                           comm));
  EXPECT_EQ(got[0], me + 1);
  run(engine.barrier_init(comm));

  // Spans that do not fit are found by their own rank, and refused everywhere.
  const auto [code, text] =
      thrown_by([&] { (void)engine.allreduce_init(world_rank() == 0 ? send.first(0) : send, recv, MPI_SUM, comm); });
  EXPECT_EQ(code, STOKER_ERR_ARGUMENT) << text;
  EXPECT_NE(text.find(world_rank() == 0 ? "send has 0 elements" : "rank 0"), std::string::npos) << text;
}

TEST(CppDoor, InPlace) {
  stoker::Engine engine(MPI_COMM_WORLD, {{"executor", "inline"}});
  std::vector<int> buffer(ranks() * 9);
  stoker::Request request = engine.alltoall_init(stoker::in_place, std::span<int>(buffer), MPI_COMM_WORLD);
  for (int epoch = 0; epoch < 3; ++epoch) {
    fill(std::span(buffer), epoch);
    request.start();
    request.wait();
    EXPECT_TRUE(is_right(std::span(buffer), epoch));
  }
}

TEST(CppDoor, CountsAndDisplacements) {
  stoker::Engine engine(MPI_COMM_WORLD);
  const int me = world_rank();
  std::vector<MPI_Count> send_counts, recv_counts;
  std::vector<MPI_Aint> send_displs, recv_displs;
  for (int peer = 0; peer < world_size(); ++peer) {
    send_displs.push_back(std::accumulate(send_counts.begin(), send_counts.end(), MPI_Aint{0}));
    recv_displs.push_back(std::accumulate(recv_counts.begin(), recv_counts.end(), MPI_Aint{0}));
    send_counts.push_back(me + 2 * peer); // to peer
    recv_counts.push_back(peer + 2 * me); // from peer
  }
  std::vector<double> send(static_cast<std::size_t>(send_displs.back() + send_counts.back()));
  std::vector<double> recv(static_cast<std::size_t>(recv_displs.back() + recv_counts.back()));
  stoker::Request request = engine.alltoallv_init(std::span<const double>(send), send_counts, send_displs,
                                                  std::span<double>(recv), recv_counts, recv_displs, MPI_COMM_WORLD);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::size_t next = 0;
    for (int peer = 0; peer < world_size(); ++peer) {
      for (MPI_Count i = 0; i < send_counts[static_cast<std::size_t>(peer)]; ++i) {
        send[next++] = value(me, peer, epoch) + static_cast<double>(i);
      }
    }
    std::fill(recv.begin(), recv.end(), -1.0);
    request.start();
    request.wait();
    next = 0;
    for (int peer = 0; peer < world_size(); ++peer) {
      for (MPI_Count i = 0; i < recv_counts[static_cast<std::size_t>(peer)]; ++i) {
        EXPECT_EQ(recv[next++], value(peer, me, epoch) + static_cast<double>(i));
      }
    }
  }
}

TEST(CppDoor, BadSpansThrowBeforeAnythingIsSent) {
  stoker::Engine engine(MPI_COMM_WORLD);
  std::vector<int> wrong(ranks() * 4 + 1), right(ranks() * 4);
  if (world_size() > 1) {
    const auto [code, text] = thrown_by(
        [&] { (void)engine.alltoall_init(std::span<const int>(wrong), std::span<int>(right), MPI_COMM_WORLD); });
    EXPECT_EQ(code, STOKER_ERR_ARGUMENT);
    EXPECT_NE(text.find("send"), std::string::npos) << text;
  }
  const std::vector<MPI_Count> counts(ranks(), 4);
  std::vector<MPI_Aint> displs;
  for (std::size_t i = 0; i < ranks(); ++i) {
    displs.push_back(static_cast<MPI_Aint>(4 * i));
  }
  displs.back() += 1;
  const auto [code, text] = thrown_by([&] {
    (void)engine.alltoallv_init(std::span<const int>(wrong), counts, displs, std::span<int>(right), counts, displs,
                                MPI_COMM_WORLD);
  });
  EXPECT_EQ(code, STOKER_ERR_ARGUMENT);
  EXPECT_NE(text.find("recv"), std::string::npos) << text;
  const auto [short_code, short_text] = thrown_by([&] {
    (void)engine.alltoallv_init(std::span<const int>(wrong), std::span(counts).first(0), displs, std::span<int>(right),
                                counts, displs, MPI_COMM_WORLD);
  });
  EXPECT_EQ(short_code, STOKER_ERR_ARGUMENT) << short_text;

  // Arrays that are too short are not read beyond their ends, where memory may end, too.
  void* const unreadable = mmap(nullptr, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(unreadable, MAP_FAILED);
  const std::span<const MPI_Count> few(static_cast<const MPI_Count*>(unreadable), 0);
  const std::span<const MPI_Aint> nowhere(static_cast<const MPI_Aint*>(unreadable), 0);
  const std::span<const int> send(right.data(), 4);
  const auto refused = [](const std::function<void()>& init) {
    const auto [wrong_code, wrong_text] = thrown_by(init);
    EXPECT_EQ(wrong_code, STOKER_ERR_ARGUMENT) << wrong_text;
    EXPECT_NE(wrong_text.find("counts"), std::string::npos) << wrong_text;
  };
  refused([&] { (void)engine.allgatherv_init<int>(send, std::span<int>(wrong), few, nowhere, MPI_COMM_WORLD); });
  if (world_rank() == 0) { // what is wrong at the root is wrong everywhere
    refused([&] { (void)engine.gatherv_init<int>(send, std::span<int>(wrong), few, nowhere, 0, MPI_COMM_WORLD); });
    refused(
        [&] { (void)engine.scatterv_init<int>(right, few, nowhere, std::span(wrong).first(4), 0, MPI_COMM_WORLD); });
  } else {
    EXPECT_EQ(
        thrown_by([&] { (void)engine.gatherv_init<int>(send, std::span<int>(), {}, {}, 0, MPI_COMM_WORLD); }).first,
        STOKER_ERR_ARGUMENT);
    EXPECT_EQ(thrown_by([&] {
                (void)engine.scatterv_init<int>(std::span<const int>(), {}, {}, std::span(wrong).first(4), 0,
                                                MPI_COMM_WORLD);
              }).first,
              STOKER_ERR_ARGUMENT);
  }
  munmap(unreadable, 1);
}

// A star: rank 0 sends to everybody else and receives from nobody; with one rank it is alone.
TEST(CppDoor, Neighborhoods) {
  const int others = world_size() - 1;
  std::vector<int> targets(world_rank() == 0 ? static_cast<std::size_t>(others) : 0);
  std::iota(targets.begin(), targets.end(), 1);
  const int source = 0;
  const int sources = world_rank() == 0 ? 0 : 1;
  MPI_Comm star = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, &source, MPI_UNWEIGHTED, static_cast<int>(targets.size()),
                                 targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &star);
  stoker::Engine engine(MPI_COMM_WORLD);
  std::vector<int> send(2 * targets.size());
  std::vector<int> recv(2 * static_cast<std::size_t>(sources), -1);
  const std::vector<MPI_Count> send_counts(targets.size(), 2);
  std::vector<MPI_Aint> send_displs;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    send_displs.push_back(static_cast<MPI_Aint>(2 * i));
  }
  const std::vector<MPI_Count> recv_counts(static_cast<std::size_t>(sources), 2);
  const std::vector<MPI_Aint> recv_displs(static_cast<std::size_t>(sources), 0);
  for (const bool with_counts : {false, true}) {
    stoker::Request request = with_counts ? engine.neighbor_alltoallv_init<int>(send, send_counts, send_displs, recv,
                                                                                recv_counts, recv_displs, star)
                                          : engine.neighbor_alltoall_init<int>(send, recv, star);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      std::iota(send.begin(), send.end(), 100 * epoch);
      std::fill(recv.begin(), recv.end(), -1);
      request.start();
      request.wait();
      const int first = (100 * epoch) + (2 * (world_rank() - 1));
      EXPECT_EQ(recv, world_rank() == 0 ? std::vector<int>() : (std::vector{first, first + 1}));
    }
  }
  if (others > 0) { // wrong on the last rank alone; everybody hears of it
    const bool bad = world_rank() == others;
    std::vector<int> odd(bad ? 3 : 0);
    const std::span<int> wrong = bad ? std::span<int>(odd) : std::span<int>(recv);
    const std::vector<MPI_Count> far(static_cast<std::size_t>(sources), bad ? 9 : 2);
    const auto refusal = thrown_by([&] {
      (void)engine.neighbor_alltoallv_init<int>(send, send_counts, send_displs, recv, far, recv_displs, star);
    });
    EXPECT_EQ(refusal.first, STOKER_ERR_ARGUMENT) << refusal.second;
    EXPECT_EQ(refusal.second.find("reaches beyond") != std::string::npos, bad) << refusal.second;
    // Three elements in one block are no error here: they do not match what is sent.
    const auto mismatch = thrown_by([&] { (void)engine.neighbor_alltoall_init<int>(send, wrong, star); });
    EXPECT_EQ(mismatch.first, STOKER_ERR_MISMATCH) << mismatch.second;
  }
  EXPECT_EQ(thrown_by([&] { (void)engine.neighbor_alltoall_init<int>(send, recv, MPI_COMM_WORLD); }).first,
            STOKER_ERR_ARGUMENT);
  MPI_Comm_free(&star);
}

TEST(CppDoor, ErrorsCarryCodeAndText) {
  const auto [code, text] = thrown_by([] { const stoker::Engine engine(MPI_COMM_WORLD, {{"executor", "fast"}}); });
  EXPECT_EQ(code, STOKER_ERR_SETTING);
  EXPECT_NE(text.find("executor"), std::string::npos) << text;
  EXPECT_NE(text.find("rank"), std::string::npos) << text;
}

// This test is about moved-from handles.
// NOLINTBEGIN(bugprone-use-after-move)
TEST(CppDoor, MovedFromHandlesAreEmpty) {
  stoker::Engine first(MPI_COMM_WORLD);
  stoker::Engine engine(std::move(first));
  EXPECT_EQ(first.handle(), STOKER_ENGINE_NULL);
  EXPECT_NE(engine.handle(), STOKER_ENGINE_NULL);
  EXPECT_NE(thrown_by([&] { first.pause(); }).first, STOKER_SUCCESS);
  EXPECT_NE(thrown_by([&] { (void)first.facts(); }).first, STOKER_SUCCESS);
  EXPECT_EQ(engine.facts().ranks, world_size());

  std::vector<int> send(ranks() * 3), recv(ranks() * 3), other(ranks() * 3);
  stoker::Request a = engine.alltoall_init(std::span<const int>(send), std::span<int>(recv), MPI_COMM_WORLD);
  fill(std::span(send), 1);
  a.start();
  stoker::Request b = std::move(a); // while active
  EXPECT_FALSE(a);
  EXPECT_TRUE(b);
  EXPECT_EQ(thrown_by([&] { a.start(); }).first, STOKER_ERR_REQUEST);
  EXPECT_EQ(thrown_by([&] { (void)a.test(); }).first, STOKER_ERR_REQUEST);
  EXPECT_EQ(thrown_by([&] { a.wait(); }).first, STOKER_ERR_REQUEST);
  b.wait();
  EXPECT_TRUE(is_right(std::span(recv), 1));
  a = engine.alltoall_init(std::span<const int>(send), std::span<int>(other), MPI_COMM_WORLD); // into an empty one
  a.start();
  b.start();
  a = std::move(b); // onto an active one: that is waited for and freed
  EXPECT_TRUE(is_right(std::span(other), 1));
  a.wait();

  engine = stoker::Engine(MPI_COMM_WORLD, {{"executor", "inline"}}); // the old engine is destroyed
  EXPECT_EQ(thrown_by([&] { a.start(); }).first, STOKER_ERR_REQUEST);
  EXPECT_EQ(engine.facts().helpers, 0);
  EXPECT_EQ(engine.helper_statistics().busy_rounds, 0U);
}

TEST(CppDoor, DestroyingAnActiveRequestWaits) {
  stoker::Engine engine(MPI_COMM_WORLD);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> send(ranks() * 40000), recv(ranks() * 40000, -1);
    fill(std::span(send), epoch);
    {
      stoker::Request request = engine.alltoall_init(std::span<const int>(send), std::span<int>(recv), MPI_COMM_WORLD);
      if (world_rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      request.start();
    }
    EXPECT_TRUE(is_right(std::span(recv), epoch));
  }
}

TEST(CppDoor, ListsOfRequests) {
  stoker::Engine engine(MPI_COMM_WORLD);
  constexpr std::size_t number = 5;
  std::vector<std::vector<int>> send(number), recv(number);
  std::vector<stoker::Request> requests;
  for (std::size_t i = 0; i < number; ++i) {
    send[i].resize(ranks() * (i + 1) * 10);
    recv[i].resize(send[i].size());
    requests.push_back(engine.alltoall_init(std::span<const int>(send[i]), std::span<int>(recv[i]), MPI_COMM_WORLD));
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t i = 0; i < number; ++i) {
      fill(std::span(send[i]), epoch);
    }
    stoker::start_all(requests);
    if (epoch == 0) {
      stoker::wait_all(requests);
    } else if (epoch == 1) {
      while (!stoker::test_all(requests)) {
      }
    } else {
      std::size_t seen = 0;
      while (const auto index = stoker::wait_any(requests)) {
        EXPECT_TRUE(is_right(std::span(recv[*index]), epoch));
        ++seen;
      }
      EXPECT_EQ(seen, number);
    }
    for (std::size_t i = 0; i < number; ++i) {
      EXPECT_TRUE(is_right(std::span(recv[i]), epoch));
    }
  }
  EXPECT_FALSE(stoker::wait_any(requests).has_value());
  EXPECT_EQ(requests[2].statistics().starts, 3u);
}

TEST(CppDoor, MappedArraysOutliveTheirEngine) {
  stoker::MappedArray<double> send, recv;
  EXPECT_EQ(send.size(), 0u);
  {
    stoker::Engine engine(MPI_COMM_WORLD, {{"access", "mapped"}});
    send = engine.allocate<double>(ranks() * 100);
    recv = engine.allocate<double>(ranks() * 100);
    EXPECT_EQ(send.size(), ranks() * 100);
    stoker::Request request = engine.alltoall_init(std::span<const double>(send.begin(), send.end()),
                                                   std::span<double>(recv), MPI_COMM_WORLD);
    for (int epoch = 0; epoch < 3; ++epoch) {
      fill(std::span<double>(send), epoch);
      request.start();
      request.wait();
      EXPECT_TRUE(is_right(std::span<double>(recv), epoch));
    }
    stoker::MappedArray<double> moved = std::move(send);
    EXPECT_EQ(send.size(), 0u);
    EXPECT_EQ(send.data(), nullptr);
    send = std::move(moved);
  }
  EXPECT_TRUE(is_right(std::span<double>(recv), 2));
  send[0] = 1.0;
  EXPECT_EQ(*send.begin(), 1.0);
}

// NOLINTEND(bugprone-use-after-move)

} // namespace
} // namespace api_tests
