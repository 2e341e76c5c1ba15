// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/agreement.hpp"

#include <array>
#include <climits>
#include <cstdio>

namespace stoker::engine {

void agree(MPI_Comm comm, const std::optional<Error>& mine) {
  const int rank = rank_in(comm);
  const int failing = mine ? rank : INT_MAX;
  int first = INT_MAX;
  check_mpi(PMPI_Allreduce(&failing, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (first == INT_MAX) {
    return;
  }
  struct {
    int code = 0;
    std::array<char, 1020> text{};
  } message;
  if (rank == first) {
    message.code = static_cast<int>(mine->code());
    std::snprintf(message.text.data(), message.text.size(), "%s", mine->what());
  }
  check_mpi(PMPI_Bcast(&message, sizeof message, MPI_BYTE, first, comm), "MPI_Bcast");
  const auto code = static_cast<Code>(message.code);
  if (mine && mine->code() == code) {
    throw *mine;
  }
  throw Error(code, message.text.data());
}

std::string text_of_rank_0(MPI_Comm comm, std::string mine) {
  int length = static_cast<int>(mine.size());
  check_mpi(PMPI_Bcast(&length, 1, MPI_INT, 0, comm), "MPI_Bcast");
  mine.resize(static_cast<std::size_t>(length));
  check_mpi(PMPI_Bcast(mine.data(), length, MPI_CHAR, 0, comm), "MPI_Bcast");
  return mine;
}

std::string mpi_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  PMPI_Error_string(code, text.data(), &length);
  return text.data();
}

void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) {
    throw Error(Code::mpi, code, std::string(call) + ": " + mpi_text(code));
  }
}

bool on_all(MPI_Comm comm, bool mine) {
  int value = mine ? 1 : 0;
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  return value != 0;
}

std::optional<Error> with_rank(int rank, const std::optional<Error>& error) {
  return error ? std::optional(Error(error->code(), "rank {}: {}", rank, error->what())) : std::nullopt;
}

std::vector<std::uint64_t> exchanged(MPI_Comm comm, const std::vector<std::uint64_t>& mine) {
  std::vector<std::uint64_t> theirs(mine.size());
  check_mpi(PMPI_Alltoall(mine.data(), 1, MPI_UINT64_T, theirs.data(), 1, MPI_UINT64_T, comm), "MPI_Alltoall");
  return theirs;
}

} // namespace stoker::engine
