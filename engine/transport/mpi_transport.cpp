// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transport/mpi_transport.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/type_size.hpp"
#include "engine/transport/message_type.hpp"

namespace stoker::engine {

int MpiTransport::send(Channel channel, const void* data, std::uint64_t bytes, int peer, int tag,
                       MPI_Request* request) {
  const MessageType type(bytes);
  return PMPI_Isend(data, type.count(), type.type(), peer, tag, comm(channel), request);
}

int MpiTransport::receive(Channel channel, void* data, std::uint64_t bytes, int peer, int tag, MPI_Request* request) {
  const MessageType type(bytes);
  return PMPI_Irecv(data, type.count(), type.type(), peer, tag, comm(channel), request);
}

int MpiTransport::test_some(std::span<MPI_Request> requests, int* count, int* indices, MPI_Status* statuses) {
  return PMPI_Testsome(static_cast<int>(requests.size()), requests.data(), count, indices, statuses);
}

std::uint64_t MpiTransport::received(const MPI_Status& status) const {
  MPI_Count bytes = 0;
  MPI_Status asked = status; // SMPI declares the argument without const
  get_elements(&asked, MPI_BYTE, &bytes);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0; // MPI_UNDEFINED is negative
}

void MpiTransport::cancel(MPI_Request& request) { PMPI_Cancel(&request); }

void MpiTransport::wait(MPI_Request& request) { PMPI_Wait(&request, MPI_STATUS_IGNORE); }

void MpiTransport::abandon(MPI_Request& request) {
  int done = 0;
  if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    PMPI_Cancel(&request);
    PMPI_Request_free(&request);
  }
}

std::string MpiTransport::text_of(int code) const { return mpi_text(code); }

} // namespace stoker::engine
