// SPDX-License-Identifier: BSD-3-Clause
// Errors of collective calls: either nobody fails or everybody does, with the code of the lowest rank that failed.
#pragma once

#include "engine/base/error.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace stoker::engine {

[[nodiscard]] inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

// Collective over comm. Throws on all ranks if `mine` holds an error on any. All throw the same code, since what they
// do next may depend on it. The text is that of the lowest rank that failed, or a rank's own about an error of that
// code.
void agree(MPI_Comm comm, const std::optional<Error>& mine);

// Collective over comm.
[[nodiscard]] std::string text_of_rank_0(MPI_Comm comm, std::string mine);

// The same error with the rank in front, as texts name the ranks of a communicator.
[[nodiscard]] std::optional<Error> with_rank(int rank, const std::optional<Error>& error);

// Runs `work` and keeps the error that it throws, so that the rank can still take part in what the others do next.
template <class Work>
[[nodiscard]] std::optional<Error> attempt(Work&& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Code::resource, "out of memory");
  } catch (const std::exception& error) {
    return Error(Code::argument, error.what());
  }
}

// Collective over comm: runs `work` on each rank. Throws on all of them if it throws on any, with that rank in front.
template <class Work>
void attempt_on_all(MPI_Comm comm, Work&& work) {
  agree(comm, with_rank(rank_in(comm), attempt(work)));
}

// MPI's own text for an error code.
[[nodiscard]] std::string mpi_text(int code);

// Throws Error(Code::mpi) with MPI's own code and text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

// Collective over comm: whether it is so on all ranks.
[[nodiscard]] bool on_all(MPI_Comm comm, bool mine);

// Collective over comm: each rank's, in the order of ranks.
template <class T>
[[nodiscard]] std::vector<T> gathered(MPI_Comm comm, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  std::vector<T> all(static_cast<std::size_t>(ranks));
  check_mpi(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm), "MPI_Allgather");
  return all;
}

// Collective over comm: one number for every rank, and from every rank.
[[nodiscard]] std::vector<std::uint64_t> exchanged(MPI_Comm comm, const std::vector<std::uint64_t>& mine);

} // namespace stoker::engine
