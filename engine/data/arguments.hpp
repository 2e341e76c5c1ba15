// SPDX-License-Identifier: BSD-3-Clause
// What a caller passes to the init function of an exchange, and what can be said about it without asking other ranks.
#pragma once

#include "engine/data/datatype.hpp"

#include <mpi.h>

namespace stoker::engine {

// In the general form. The arrays hold one entry for each block; collectives with equal blocks have equal ones.
struct ExchangeArguments {
  const void* sendbuf = nullptr; // may be MPI_IN_PLACE where the collective allows that
  const MPI_Count* sendcounts = nullptr;
  const MPI_Aint* sdispls = nullptr; // in extents
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  void* recvbuf = nullptr;
  const MPI_Count* recvcounts = nullptr;
  const MPI_Aint* rdispls = nullptr;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
};

// One buffer, and what messages call its arguments.
struct BufferArguments {
  const void* address = nullptr;
  std::size_t blocks = 0;
  const MPI_Count* counts = nullptr;
  const MPI_Aint* displs = nullptr; // in extents
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const char* address_name = "";
  const char* counts_name = "";
  const char* displs_name = "";
  const char* type_name = "";
};
// Throw Error(argument) that names the argument and what was expected: null where there is data, negative counts, places beyond
// 64 bits. Of equal blocks, which lie one behind the other, `counts` points to the one count and `displs` is not read.
[[nodiscard]] UserBuffer checked_blocks(const BufferArguments& arguments);
[[nodiscard]] UserBuffer checked_equal_blocks(const BufferArguments& arguments);
// Throws Error(argument) for blocks to receive that overlap.
void check_blocks_apart(const UserBuffer& buffer);

// The buffers that the arguments describe, with so many blocks. Throw Error(argument) that names the argument and what was
// expected: null where there is data, negative counts, places beyond 64 bits, blocks to receive that overlap.
[[nodiscard]] UserBuffer checked_send_buffer(const ExchangeArguments& arguments, std::size_t blocks);
[[nodiscard]] UserBuffer checked_recv_buffer(const ExchangeArguments& arguments, std::size_t blocks);
void check_buffers_apart(const UserBuffer& send, const UserBuffer& recv);

} // namespace stoker::engine
