// SPDX-License-Identifier: BSD-3-Clause
// A program with the buffers of its collectives on a device, as programs on MPI libraries that know devices have them.
// With the drop-in library preloaded, and everything given to the engine: the MPI libraries that this is tested with know
// none.
#include "tests/devices/device.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

namespace {

using device_tests::DeviceMemory;

int rank = 0;
int ranks = 1;
int failures = 0;

std::size_t whole(int count) { return static_cast<std::size_t>(count) * sizeof(int); }

// Data that this rank sends, element by element.
std::vector<int> values(int count, int call) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 1000 * rank + 7 * call);
  return all;
}

struct Buffers {
  Buffers(int out, int in) : send(whole(out)), recv(whole(in)), sent(out), received(in) {}
  DeviceMemory send;
  DeviceMemory recv;
  int sent;
  int received;
};

// Three calls with new data each. `expected`: of an element of the receive buffer; -1: it is not written.
void check(const char* name, Buffers& buffers, const std::function<void(const Buffers&)>& call,
           const std::function<int(int, int)>& expected) {
  for (int number = 0; number < 3; ++number) {
    buffers.send.upload(values(buffers.sent, number).data(), whole(buffers.sent));
    std::vector<int> result(static_cast<std::size_t>(buffers.received), -1);
    buffers.recv.upload(result.data(), whole(buffers.received));
    call(buffers);
    buffers.recv.download(result.data(), whole(buffers.received));
    for (int i = 0; i < buffers.received; ++i) {
      if (result[static_cast<std::size_t>(i)] != expected(i, number)) {
        std::fprintf(stderr, "rank %d: %s, call %d: element %d is %d, expected %d\n", rank, name, number, i,
                     result[static_cast<std::size_t>(i)], expected(i, number));
        ++failures;
        return;
      }
    }
  }
}

void wait(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

int sum_at(int i, int call) { return ranks * (7 * call + i) + 1000 * (ranks * (ranks - 1) / 2); }

void check_all(int count) {
  Buffers vector(count, count);
  check(
      "MPI_Allreduce", vector,
      [&](const Buffers& b) {
        MPI_Allreduce(b.send.address(), b.recv.address(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      },
      sum_at);
  check(
      "MPI_Iallreduce", vector,
      [&](const Buffers& b) {
        MPI_Request request;
        MPI_Iallreduce(b.send.address(), b.recv.address(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        wait(&request);
      },
      sum_at);
  Buffers blocks(ranks * count, ranks * count);
  const auto from_each = [&](int i, int call) { return 1000 * (i / count) + 7 * call + rank * count + i % count; };
  check(
      "MPI_Ialltoall", blocks,
      [&](const Buffers& b) {
        MPI_Request request;
        MPI_Ialltoall(b.send.address(), count, MPI_INT, b.recv.address(), count, MPI_INT, MPI_COMM_WORLD, &request);
        wait(&request);
      },
      from_each);
  // Every second element of the receive buffer, whose others stay as they are.
  Buffers spaced(ranks * count, 2 * ranks * count);
  const auto every_second = [&](int i, int call) { return i % 2 == 0 ? from_each(i / 2, call) : -1; };
  MPI_Datatype strided;
  MPI_Type_vector(count, 1, 2, MPI_INT, &strided);
  MPI_Datatype block;
  MPI_Type_create_resized(strided, 0, static_cast<MPI_Aint>(2 * whole(count)), &block);
  MPI_Type_commit(&block);
  const std::vector<int> counts(static_cast<std::size_t>(ranks), count);
  const std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
  std::vector<int> send_places(static_cast<std::size_t>(ranks));
  std::vector<int> recv_places(static_cast<std::size_t>(ranks));
  std::vector<int> send_bytes(static_cast<std::size_t>(ranks));
  std::vector<int> recv_bytes(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    send_places[at] = r * count;
    recv_places[at] = r;
    send_bytes[at] = static_cast<int>(whole(r * count));
    recv_bytes[at] = static_cast<int>(whole(2 * r * count));
  }
  const std::vector<MPI_Datatype> ints(static_cast<std::size_t>(ranks), MPI_INT);
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(ranks), block);
  check(
      "MPI_Ialltoallv", spaced,
      [&](const Buffers& b) {
        MPI_Request request;
        MPI_Ialltoallv(b.send.address(), counts.data(), send_places.data(), MPI_INT, b.recv.address(), ones.data(),
                       recv_places.data(), block, MPI_COMM_WORLD, &request);
        wait(&request);
      },
      every_second);
  check(
      "MPI_Ialltoallw", spaced,
      [&](const Buffers& b) {
        MPI_Request request;
        MPI_Ialltoallw(b.send.address(), counts.data(), send_bytes.data(), ints.data(), b.recv.address(), ones.data(),
                       recv_bytes.data(), types.data(), MPI_COMM_WORLD, &request);
        wait(&request);
      },
      every_second);
#if MPI_VERSION >= 4
  MPI_Request persistent;
  MPI_Alltoallw_init(spaced.send.address(), counts.data(), send_bytes.data(), ints.data(), spaced.recv.address(),
                     ones.data(), recv_bytes.data(), types.data(), MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
  check(
      "MPI_Alltoallw_init", spaced,
      [&](const Buffers&) {
        MPI_Start(&persistent);
        wait(&persistent);
      },
      every_second);
  MPI_Request_free(&persistent);
#endif
  MPI_Type_free(&block);
  MPI_Type_free(&strided);
}

// How often a driver was asked about the buffers of a few calls on comm.
int questions_about_the_host(MPI_Comm comm) {
  const int before = device_tests::questions();
  std::vector<int> send(static_cast<std::size_t>(ranks) * 1000);
  std::vector<int> recv(send.size());
  const std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
  std::vector<int> places(ones.size());
  std::iota(places.begin(), places.end(), 0);
  for (int call = 0; call < 3; ++call) {
    MPI_Request requests[2];
    MPI_Ialltoall(send.data(), 1000, MPI_INT, recv.data(), 1000, MPI_INT, comm, &requests[0]);
    wait(&requests[0]);
    MPI_Ialltoallv(send.data(), ones.data(), places.data(), MPI_INT, recv.data(), ones.data(), places.data(), MPI_INT,
                   comm, &requests[1]);
    wait(&requests[1]);
    MPI_Allreduce(send.data(), recv.data(), 1000, MPI_INT, MPI_SUM, comm);
  }
#if MPI_VERSION >= 4
  MPI_Request persistent;
  MPI_Alltoall_init(send.data(), 1000, MPI_INT, recv.data(), 1000, MPI_INT, comm, MPI_INFO_NULL, &persistent);
  MPI_Start(&persistent);
  wait(&persistent);
  MPI_Request_free(&persistent);
#endif
  return device_tests::questions() - before;
}

void expect(bool right, const char* what) {
  if (!right) {
    std::fprintf(stderr, "rank %d: %s\n", rank, what);
    ++failures;
  }
}

// MPI-4.1, section 11.4.3: which memory the buffers of a communicator's calls may have.
void check_assertions() {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system,mpi");
  MPI_Comm asserted;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &asserted);
  const bool is_stand_in = device_tests::questions() > 0;
  expect(questions_about_the_host(asserted) == 0, "the driver was asked for memory that is the host's by assertion");
  expect(!is_stand_in || questions_about_the_host(MPI_COMM_WORLD) > 0, "the driver was not asked without assertion");
  // An assertion is not inherited, and another takes its place.
  MPI_Comm plain;
  MPI_Comm_dup(asserted, &plain);
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system,cuda:device");
  MPI_Comm_set_info(asserted, info);
  Buffers vector(100, 100);
  for (MPI_Comm comm : {plain, asserted}) {
    check(
        "MPI_Allreduce", vector,
        [&](const Buffers& b) { MPI_Allreduce(b.send.address(), b.recv.address(), 100, MPI_INT, MPI_SUM, comm); },
        sum_at);
  }
  MPI_Comm_free(&plain);
  MPI_Comm_free(&asserted);
  MPI_Info_free(&info);
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const int count : {1, 10000}) {
    check_all(count);
  }
  check_assertions();
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
