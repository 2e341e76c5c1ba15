// SPDX-License-Identifier: BSD-3-Clause
// Requests and calls whose buffers the ranks of the node reach by XPMEM, with the stand-in for it: that data are right,
// that nothing goes by cross-memory attach, what is reported, and that nothing grows. XPMEM_EXPECTED=cma: the stand-in
// is told to refuse something, so that all of it goes by cross-memory attach. STOKER_TEST_FULL=1: more epochs.
#include "engine/calls/calls.hpp"
#include "engine/shared/attached_memory.hpp"

#include "api/c/engine_of.hpp"
#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"
#include "tests/xpmem/stand_in.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

std::atomic<int> attaches{0}; // of the engine, across memory, by any thread

} // namespace

// In the place of the C library's.
extern "C" {
ssize_t counted_readv(pid_t pid, const iovec* local, unsigned long locals, const iovec* remote, unsigned long remotes,
                      unsigned long flags) noexcept __asm__("process_vm_readv");
ssize_t counted_writev(pid_t pid, const iovec* local, unsigned long locals, const iovec* remote, unsigned long remotes,
                       unsigned long flags) noexcept __asm__("process_vm_writev");
}
ssize_t counted_readv(pid_t pid, const iovec* local, unsigned long locals, const iovec* remote, unsigned long remotes,
                      unsigned long flags) noexcept {
  ++attaches;
  return syscall(SYS_process_vm_readv, pid, local, locals, remote, remotes, flags);
}
ssize_t counted_writev(pid_t pid, const iovec* local, unsigned long locals, const iovec* remote, unsigned long remotes,
                       unsigned long flags) noexcept {
  ++attaches;
  return syscall(SYS_process_vm_writev, pid, local, locals, remote, remotes, flags);
}

namespace api_tests {
namespace {

using stoker::algos::Collective;
using stoker::engine::AttachedMemory;
using stoker::engine::Calls;
using stoker::engine::CollectiveCall;
using stoker::engine::Executor;
using xpmem_tests::SharedDoubles;

constexpr double poison = -1;
constexpr std::size_t elements = 100'000; // more than is staged, or goes through a slot

bool refuses() {
  const char* const expected = std::getenv("XPMEM_EXPECTED");
  return expected != nullptr && std::string(expected) == "cma";
}
std::string expected_access() { return refuses() ? "cma" : "xpmem"; }

// What a rank sends; sums of all ranks are whole numbers, too.
double value(int rank, int epoch, std::size_t i) {
  return (1000.0 * (rank + 1)) + (10.0 * epoch) + static_cast<double>(i % 7);
}
double sum(int epoch, std::size_t i) {
  double total = 0;
  for (int rank = 0; rank < world_size(); ++rank) {
    total += value(rank, epoch, i);
  }
  return total;
}

struct Accesses {
  std::string send;
  std::string recv;
};
Accesses accesses_of(stoker_request request) {
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_request_statistics(request, &statistics)));
  return {statistics.send_access, statistics.recv_access};
}

void run_epoch(stoker_request request) {
  EXPECT_TRUE(ok(stoker_start(request)));
  EXPECT_TRUE(ok(stoker_wait(request)));
}

// How many system calls the epochs of this process have made to attach across memory, and whether that is as expected.
class AttachCount {
public:
  AttachCount() { barrier(); }
  void expect(bool some) const {
    barrier();
    EXPECT_EQ(everywhere(attaches == before_), !some); // on all ranks, or on some: the helper is in one process
  }

private:
  int before_ = attaches;
};

class Epochs : public ::testing::TestWithParam<const char*> {
protected:
  [[nodiscard]] Settings settings(const char* key = "log", const char* setting = "warn") const {
    return {{"executor", GetParam()}, {"staged_bytes", "0"}, {key, setting}};
  }
  [[nodiscard]] static Executor executor() {
    return std::string(GetParam()) == "engine" ? Executor::engine : Executor::inline_;
  }

  // An allreduce in several epochs. Returns how its buffers are reached.
  static Accesses check_allreduce(stoker_engine engine, std::span<double> send, std::span<double> recv) {
    stoker_request request = STOKER_REQUEST_NULL;
    EXPECT_TRUE(ok(stoker_allreduce_init(send.data(), recv.data(), static_cast<int>(send.size()), MPI_DOUBLE, MPI_SUM,
                                         MPI_COMM_WORLD, MPI_INFO_NULL, engine, &request)));
    for (int epoch = 0; epoch < 4; ++epoch) {
      for (std::size_t i = 0; i < send.size(); ++i) {
        send[i] = value(world_rank(), epoch, i);
      }
      std::ranges::fill(recv, poison);
      run_epoch(request);
      for (std::size_t i = 0; i < recv.size(); ++i) {
        if (recv[i] != sum(epoch, i)) {
          ADD_FAILURE() << "epoch " << epoch << ": element " << i << " is " << recv[i];
          break;
        }
      }
    }
    Accesses accesses = accesses_of(request);
    EXPECT_TRUE(ok(stoker_request_free(&request)));
    return accesses;
  }
};

TEST_P(Epochs, PersistentAllreduce) {
  const SharedDoubles send(elements);
  const SharedDoubles recv(elements);
  const EngineOwner engine(MPI_COMM_WORLD, settings());
  const AttachCount count;
  const Accesses accesses = check_allreduce(engine.get(), send.span(), recv.span());
  count.expect(refuses());
  EXPECT_EQ(accesses.send, expected_access());
  EXPECT_EQ(accesses.recv, expected_access());
  const auto memory = stoker::api::engine_of(engine.get())->memory();
  EXPECT_EQ(memory->xpmem_works(), !refuses());
  EXPECT_TRUE(everywhere(memory->xpmem_refusal().empty() || refuses())) << memory->xpmem_refusal();
  EXPECT_EQ(everywhere(memory->xpmem_refusal().empty()), !refuses()) << "no rank says why";
}

TEST_P(Epochs, PersistentAlltoallv) {
  const auto length = [](int source, int target) { return 3000 + (500 * source) + (70 * target); };
  std::vector<int> sent;
  std::vector<int> received;
  std::vector<int> sent_at{0};
  std::vector<int> received_at{0};
  for (int peer = 0; peer < world_size(); ++peer) {
    sent.push_back(length(world_rank(), peer));
    received.push_back(length(peer, world_rank()));
    sent_at.push_back(sent_at.back() + sent.back());
    received_at.push_back(received_at.back() + received.back());
  }
  const SharedDoubles send(static_cast<std::size_t>(sent_at.back()));
  const SharedDoubles recv(static_cast<std::size_t>(received_at.back()));
  const EngineOwner engine(MPI_COMM_WORLD, settings());
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(
      ok(stoker_alltoallv_init(send.data(), sent.data(), sent_at.data(), MPI_DOUBLE, recv.data(), received.data(),
                               received_at.data(), MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL, engine.get(), &request)));
  const AttachCount count;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (std::size_t i = 0; i < send.span().size(); ++i) {
      send.data()[i] = value(world_rank(), epoch, i);
    }
    std::ranges::fill(recv.span(), poison);
    run_epoch(request);
    for (int peer = 0; peer < world_size(); ++peer) {
      int theirs = 0; // where the block is in its sender's buffer
      for (int before = 0; before < world_rank(); ++before) {
        theirs += length(peer, before);
      }
      const auto at = static_cast<std::size_t>(peer);
      for (int i = 0; i < received[at]; ++i) {
        ASSERT_EQ(recv.data()[received_at[at] + i], value(peer, epoch, static_cast<std::size_t>(theirs + i)))
            << "from " << peer << ", element " << i;
      }
    }
  }
  count.expect(refuses());
  EXPECT_EQ(accesses_of(request).send, expected_access());
  EXPECT_TRUE(ok(stoker_request_free(&request)));
}

// A nonblocking allreduce with these buffers.
void call_allreduce(Calls& calls, Executor executor, std::span<double> send, std::span<double> recv, int epoch) {
  for (std::size_t i = 0; i < send.size(); ++i) {
    send[i] = value(world_rank(), epoch, i);
  }
  std::ranges::fill(recv, poison);
  const auto count = static_cast<MPI_Count>(send.size());
  const MPI_Datatype type = MPI_DOUBLE;
  const CollectiveCall call{.collective = Collective::allreduce,
                            .sendbuf = send.data(),
                            .sendcounts = &count,
                            .sendtypes = &type,
                            .recvbuf = recv.data(),
                            .recvcounts = &count,
                            .recvtypes = &type,
                            .op = MPI_SUM,
                            .comm = MPI_COMM_WORLD};
  const auto under_way = calls.start(call, MPI_INFO_NULL, executor);
  under_way->wait();
  under_way->finish();
  for (std::size_t i = 0; i < recv.size(); ++i) {
    ASSERT_EQ(recv[i], sum(epoch, i)) << "epoch " << epoch << ", element " << i;
  }
}

TEST_P(Epochs, NonblockingWithOtherBuffersEachTime) {
  std::vector<SharedDoubles> buffers;
  for (int i = 0; i < 12; ++i) {
    buffers.emplace_back(elements);
  }
  const EngineOwner engine(MPI_COMM_WORLD, settings());
  Calls calls(stoker::api::engine_of(engine.get()), MPI_COMM_WORLD, false);
  const AttachCount count;
  for (std::size_t i = 0; i < buffers.size(); i += 2) {
    call_allreduce(calls, executor(), buffers[i].span(), buffers[i + 1].span(), static_cast<int>(i));
  }
  count.expect(refuses());
}

// The stand-in refuses private memory. Only the last rank has such: every rank reports what it has. All blocks go
// straight to their ranks, of which rank 0 has whatever helper there is in its own process.
TEST_P(Epochs, BuffersThatAreRefusedGoByCrossMemoryAttach) {
  constexpr int block = 20'000;
  const auto ranks = static_cast<std::size_t>(world_size());
  const bool has_private = world_rank() == world_size() - 1;
  std::vector<double> private_send(ranks * block);
  const SharedDoubles shared_send(ranks * block);
  const SharedDoubles recv(ranks * block);
  const std::span<double> send = has_private ? std::span(private_send) : shared_send.span();
  const EngineOwner engine(MPI_COMM_WORLD, settings("algorithms", "alltoall=nonblocking"));
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(ok(stoker_alltoall_init(send.data(), block, MPI_DOUBLE, recv.data(), block, MPI_DOUBLE, MPI_COMM_WORLD,
                                      MPI_INFO_NULL, engine.get(), &request)));
  const AttachCount count;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (std::size_t i = 0; i < send.size(); ++i) {
      send[i] = value(world_rank(), epoch, i);
    }
    std::ranges::fill(recv.span(), poison);
    run_epoch(request);
    for (std::size_t i = 0; i < recv.span().size(); ++i) {
      const std::size_t source = i / block;
      const std::size_t place = (static_cast<std::size_t>(world_rank()) * block) + (i % block); // there
      ASSERT_EQ(recv.data()[i], value(static_cast<int>(source), epoch, place)) << "element " << i;
    }
  }
  count.expect(true);
  EXPECT_EQ(accesses_of(request).send, has_private ? "cma" : "xpmem");
  EXPECT_TRUE(ok(stoker_request_free(&request)));
}

TEST_P(Epochs, SettingsDoWithoutIt) {
  const SharedDoubles send(elements);
  const SharedDoubles recv(elements);
  for (const auto& [key, setting] : {std::pair("xpmem", "never"), std::pair("access", "cma")}) {
    const EngineOwner engine(MPI_COMM_WORLD, settings(key, setting));
    const AttachCount count;
    const Accesses accesses = check_allreduce(engine.get(), send.span(), recv.span());
    count.expect(true);
    EXPECT_EQ(accesses.send, "cma") << key;
    EXPECT_FALSE(stoker::api::engine_of(engine.get())->memory()->xpmem_works()) << key;
  }
}

long mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}
long descriptors() { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); }

TEST_P(Epochs, NothingGrowsWithChangingBuffers) {
  constexpr std::size_t length = 4096; // a third of which is more than goes through a slot
  constexpr std::size_t places = 3 * AttachedMemory::most_kept;
  const int epochs = full_run() ? 10'000 : 2000; // which take long where ranks share cores
  const SharedDoubles memory(2 * places * length);
  const EngineOwner engine(MPI_COMM_WORLD, settings());
  Calls calls(stoker::api::engine_of(engine.get()), MPI_COMM_WORLD, false);
  const auto peers = static_cast<std::size_t>(world_size() - 1);
  const std::size_t of_requests = 2 * peers * stoker::engine::lanes_of_a_shape; // which the helper has for its ranks
  const std::size_t most_attachments = (peers * AttachedMemory::most_kept) + of_requests;
  long mappings_before = 0; // with those of attachments that may still come: who attaches depends on who is early
  long descriptors_before = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (epoch == epochs / 10) {
      mappings_before = mappings() + static_cast<long>(most_attachments - xpmem_tests::attachments());
      descriptors_before = descriptors();
    }
    const std::size_t place = 2 * length * (static_cast<std::size_t>(epoch) % places);
    call_allreduce(calls, executor(), memory.span().subspan(place, length),
                   memory.span().subspan(place + length, length), epoch);
  }
  EXPECT_FALSE(everywhere(xpmem_tests::attachments() == 0));
  EXPECT_LE(xpmem_tests::attachments(), most_attachments);
  EXPECT_LE(mappings(), mappings_before + 64); // one for each epoch would be thousands
  EXPECT_LE(descriptors(), descriptors_before);
}

INSTANTIATE_TEST_SUITE_P(Executors, Epochs, ::testing::Values("engine", "inline"));

} // namespace
} // namespace api_tests
