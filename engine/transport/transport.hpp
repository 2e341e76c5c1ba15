// SPDX-License-Identifier: BSD-3-Clause
// The transport: what messages between nodes need of a network. In production that is the MPI library
// (mpi_transport.hpp). In the hand-cranked tests it is a network within the process, where the test decides what
// arrives, when, and what fails.
//
// Requests, statuses and codes are MPI's own types, so that one MPI_Testsome asks for all of a user's requests without
// copying any. A network that is no MPI library gives them its own values.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>

namespace stoker::engine {

// Messages of one process, to and from all others. Between two processes, messages of one channel and tag keep their
// order. Any thread may call it; a request is used by one thread at a time.
class Transport {
public:
  enum class Channel : std::uint8_t {
    data,
    ready,   // receivers say that they are; a tag there is that of the message in the other direction
    unasked, // short messages that no receiver has asked for
  };
  static constexpr int channels = 3;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // As MPI_Isend and MPI_Irecv. Any code but MPI_SUCCESS: there is no request.
  [[nodiscard]] virtual int send(Channel channel, const void* data, std::uint64_t bytes, int peer, int tag,
                                 MPI_Request* request) = 0;
  [[nodiscard]] virtual int receive(Channel channel, void* data, std::uint64_t bytes, int peer, int tag,
                                    MPI_Request* request) = 0;
  // As MPI_Testsome; both arrays have room for all requests.
  [[nodiscard]] virtual int test_some(std::span<MPI_Request> requests, int* count, int* indices,
                                      MPI_Status* statuses) = 0;
  // How many bytes a receive brought whose status this is.
  [[nodiscard]] virtual std::uint64_t received(const MPI_Status& status) const = 0;
  // The request ends soon, with its message or without.
  virtual void cancel(MPI_Request& request) = 0;
  virtual void wait(MPI_Request& request) = 0;
  // Nobody asks for the request again, and nothing waits for its end.
  virtual void abandon(MPI_Request& request) = 0;

  [[nodiscard]] virtual std::string text_of(int code) const = 0;
};

// Memory of other processes that this one writes into without a call of theirs. All return a code like the transport's.
class RemoteMemory {
public:
  // Done when the data may be overwritten: they need not be at the target before a flush.
  [[nodiscard]] virtual int put(const void* data, std::uint64_t bytes, int target, std::uint64_t displacement,
                                MPI_Request* request) = 0;
  // What was put is at that target; may wait until its process enters the MPI library.
  [[nodiscard]] virtual int flush(int target) = 0;
  // After this call this process can read what others have put here and flushed.
  virtual void sync() = 0;

protected:
  ~RemoteMemory() = default;
};

// How messages travel between nodes. A message longer than a piece goes in several pieces, none of which is long enough
// for the MPI library to ask the receiver first. Instead, the receiver says when it starts that it is ready. An answer
// that the library waits for would stand in the queue behind everything that the answering node sends. On TCP that can
// leave a node without anything to send for a fifth of a large exchange. With piece_bytes = 0 messages go whole, which
// is right on a network that moves them without the processor (RDMA).
struct Network {
  Transport* transport = nullptr; // outlives every user
  std::uint64_t piece_bytes = 0;  // equal in all processes; INT_MAX at most
};

} // namespace stoker::engine
