// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/equal_call.hpp"

#include "engine/base/error.hpp"
#include "engine/requests/init.hpp"

#include <climits>
#include <stdexcept>

namespace stoker::cli {

EqualCall::EqualCall(algos::Collective collective, std::uint64_t bytes) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool doubles = algos::combines(collective) && bytes % sizeof(double) == 0;
  const std::uint64_t count = doubles ? bytes / sizeof(double) : bytes;
  if (count * static_cast<std::uint64_t>(ranks) > INT_MAX) {
    throw std::invalid_argument("--bytes " + std::to_string(bytes) + ": " + std::to_string(ranks) +
                                " such blocks are more than MPI counts");
  }
  type_ = doubles ? MPI_DOUBLE : MPI_BYTE;
  counts_.assign(static_cast<std::size_t>(ranks), static_cast<int>(count));
  for (int rank = 0; rank < ranks; ++rank) {
    displacements_.push_back(rank * static_cast<int>(count));
  }
  send_.resize(bytes * static_cast<std::uint64_t>(ranks));
  recv_.resize(send_.size());
  call_ = {.collective = collective,
           .sendbuf = send_.data(),
           .sendcounts = counts_.data(),
           .sdispls = displacements_.data(),
           .sendtypes = &type_,
           .recvbuf = recv_.data(),
           .recvcounts = counts_.data(),
           .rdispls = displacements_.data(),
           .recvtypes = &type_,
           .op = doubles ? MPI_SUM : MPI_BOR,
           .root = 0,
           .comm = MPI_COMM_WORLD};
}

std::unique_ptr<engine::Request> request_for(const std::shared_ptr<engine::Engine>& engine, const EqualCall& call,
                                             const InfoKeys& keys) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (const auto& [key, value] : keys) {
    MPI_Info_set(info, key, value.c_str());
  }
  std::unique_ptr<engine::Request> request;
  try {
    request = engine::init(engine, call.call(), info);
  } catch (const engine::Error&) { // on all ranks alike
  }
  MPI_Info_free(&info);
  return request;
}

} // namespace stoker::cli
