// SPDX-License-Identifier: BSD-3-Clause
// Programs of the registry in SimGrid's SMPI: the engine's own inline executor, SMPI as its transport. Checks what
// arrives, and prints how long it took in simulated time.
//
//   smpirun ... stoker-smpi.so MACHINE LONG PPN POINTS
#include "algos/simulate/places.hpp"
#include "bench/smpi/check.hpp"
#include "bench/smpi/point.hpp"
#include "bench/smpi/rank_request.hpp"
#include "bench/smpi/waiting_transport.hpp"
#include "engine/settings/machine_file.hpp"

#include <mpi.h>
#include <simgrid/s4u.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

using namespace stoker;

namespace {

// Lasts longer than any message that is still on its way.
constexpr double pause_seconds = 1;

// What all ranks share.
struct Job {
  bench::LongMessages long_messages;
  algos::Machine machine;
  topology::Layout layout;
  algos::Places places;
  std::vector<bench::Point> points;

  Job(const std::string& machine_file, bench::LongMessages kind, int ppn, const std::string& points_file, int ranks)
      : long_messages(kind), machine(bench::without_what_smpi_lacks(engine::read_machine(machine_file), kind)),
        layout(bench::layout_of(machine, ranks, ppn)), places(layout, machine, 1),
        points(bench::read_points(points_file)) {}
};

double largest(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

// Seconds from the moment at which all ranks start to the end of the last one.
template <class Call>
double measure(Call call) {
  const double start = largest(MPI_Wtime()) + pause_seconds;
  simgrid::s4u::this_actor::sleep_until(start);
  call();
  return largest(MPI_Wtime()) - start;
}

void call_library(const bench::Point& point, std::vector<std::byte>& send, std::vector<std::byte>& recv, int rank) {
  const auto bytes = static_cast<int>(point.bytes);
  switch (point.collective) {
  case algos::Collective::alltoall:
    MPI_Alltoall(send.data(), bytes, MPI_BYTE, recv.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
    break;
  case algos::Collective::allgather:
    MPI_Allgather(send.data(), bytes, MPI_BYTE, recv.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
    break;
  case algos::Collective::allreduce:
    MPI_Allreduce(send.data(), recv.data(), static_cast<int>(point.bytes / bench::element_bytes), MPI_UINT32_T, MPI_SUM,
                  MPI_COMM_WORLD);
    break;
  default:
    MPI_Bcast(rank == 0 ? send.data() : recv.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    break;
  }
}

void run(const Job& job, int ppn) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto memory = bench::one_rank_memory();
  bench::WaitingTransport transport(job.machine, job.places);
  const std::uint64_t piece_bytes = job.long_messages == bench::LongMessages::announced ? job.machine.eager_bytes : 0;
  const engine::Network network{&transport, piece_bytes};
  for (const bench::Point& point : job.points) {
    std::vector<std::byte> send = bench::send_buffer(point, rank, job.layout.ranks());
    std::vector<std::byte> recv = bench::recv_buffer(point, job.layout.ranks());
    double seconds = 0;
    const bool by_library = point.algorithm == bench::library;
    bench::charge_messages(job.machine, job.places,
                           by_library ? bench::Receivers::by_smpi : bench::Receivers::by_transport);
    if (by_library) {
      seconds = measure([&] { call_library(point, send, recv, rank); });
    } else {
      const algos::Program program = bench::program_of(point, job.layout, rank);
      bench::RankRequest request(program, send, recv, *memory, network, MPI_COMM_WORLD);
      seconds = measure([&] { request.run(); });
    }
    bench::check(point, rank, job.layout.ranks(), recv);
    if (rank == 0) {
      std::cout << bench::to_json(point, "smpi", job.layout, ppn, seconds) << std::endl;
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    if (argc != 5) {
      throw std::invalid_argument("usage: stoker-smpi.so MACHINE LONG PPN POINTS");
    }
    const int ppn = std::stoi(argv[3]);
    static const Job job(argv[1], bench::long_messages_of(argv[2]), ppn, argv[4],
                         ranks); // one for all ranks, which are contexts of this process
    run(job, ppn);
  } catch (const std::exception& error) {
    std::cerr << "rank " << rank << ": " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
