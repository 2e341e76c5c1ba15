// SPDX-License-Identifier: BSD-3-Clause
// The functions that start or make requests for messages. Unless messages are followed they go straight to the MPI
// library.
#include "api/pmpi/advice.hpp"
#include "api/pmpi/alias.hpp"
#include "api/pmpi/followed_requests.hpp"
#include "api/pmpi/library.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/type_size.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace stoker::pmpi {
namespace {

std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype) {
  MPI_Count size = 0;
  engine::get_size(datatype, &size);
  std::uint64_t bytes = 0;
  const bool overflows =
      size < 0 || __builtin_mul_overflow(static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(size), &bytes);
  return overflows ? std::numeric_limits<std::uint64_t>::max() : bytes;
}

// A function of the MPI library that is followed: from before its call until it has succeeded.
class FollowedCall {
public:
  FollowedCall(const char* function, const void* site) : call_{function, site, advising() ? engine::now_ns() : 0} {}
  // Both return what the application's call returns.
  [[nodiscard]] int started(std::uint64_t bytes, const MPI_Request* request) const {
    follower().message_started(call_, *request, bytes);
    return MPI_SUCCESS;
  }
  [[nodiscard]] int made(std::uint64_t bytes, const MPI_Request* request) const {
    follower().message_made(call_, *request, bytes);
    return MPI_SUCCESS;
  }

private:
  MessageCall call_;
};

} // namespace
} // namespace stoker::pmpi

using stoker::pmpi::bytes_of;
using stoker::pmpi::FollowedCall;
using stoker::pmpi::following;
using stoker::pmpi::real;

// NOLINTBEGIN(bugprone-macro-parentheses): types and names

// peer: the name of the other rank's argument; then: what is done with the request. The MPI library is asked before
// anything looks at the datatype: it knows whether the arguments are right.
#define MESSAGE(name, Buffer, Count, peer, then)                                                                       \
  extern "C" int name(Buffer buf, Count count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm,                \
                      MPI_Request* request) {                                                                          \
    if (!following() || peer == MPI_PROC_NULL) [[likely]] {                                                            \
      return real().name(buf, count, datatype, peer, tag, comm, request);                                              \
    }                                                                                                                  \
    const FollowedCall call(#name, __builtin_return_address(0));                                                       \
    const int code = real().name(buf, count, datatype, peer, tag, comm, request);                                      \
    return code != MPI_SUCCESS ? code : call.then(bytes_of(count, datatype), request);                                 \
  }                                                                                                                    \
  ALIAS_PMPI(name)

#define MATCHED(name, Count)                                                                                           \
  extern "C" int name(void* buf, Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request) {     \
    if (!following()) [[likely]] {                                                                                     \
      return real().name(buf, count, datatype, message, request);                                                      \
    }                                                                                                                  \
    const FollowedCall call(#name, __builtin_return_address(0));                                                       \
    const int code = real().name(buf, count, datatype, message, request);                                              \
    return code != MPI_SUCCESS ? code : call.started(bytes_of(count, datatype), request);                              \
  }                                                                                                                    \
  ALIAS_PMPI(name)

MESSAGE(MPI_Isend, const void*, int, dest, started)
MESSAGE(MPI_Ibsend, const void*, int, dest, started)
MESSAGE(MPI_Issend, const void*, int, dest, started)
MESSAGE(MPI_Irsend, const void*, int, dest, started)
MESSAGE(MPI_Irecv, void*, int, source, started)
MATCHED(MPI_Imrecv, int)
MESSAGE(MPI_Send_init, const void*, int, dest, made)
MESSAGE(MPI_Bsend_init, const void*, int, dest, made)
MESSAGE(MPI_Ssend_init, const void*, int, dest, made)
MESSAGE(MPI_Rsend_init, const void*, int, dest, made)
MESSAGE(MPI_Recv_init, void*, int, source, made)

#if MPI_VERSION >= 4
// Two messages with one request, of which the longer one counts.
#define EXCHANGE(name, Count)                                                                                          \
  extern "C" int name(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,              \
                      void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,   \
                      MPI_Request* request) {                                                                          \
    const FollowedCall call(#name, __builtin_return_address(0));                                                       \
    const int code = real().name(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,    \
                                 recvtag, comm, request);                                                              \
    return code != MPI_SUCCESS || !following()                                                                         \
               ? code                                                                                                  \
               : call.started(std::max(bytes_of(sendcount, sendtype), bytes_of(recvcount, recvtype)), request);        \
  }                                                                                                                    \
  ALIAS_PMPI(name)

#define EXCHANGE_IN_PLACE(name, Count)                                                                                 \
  extern "C" int name(void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,   \
                      MPI_Comm comm, MPI_Request* request) {                                                           \
    const FollowedCall call(#name, __builtin_return_address(0));                                                       \
    const int code = real().name(buf, count, datatype, dest, sendtag, source, recvtag, comm, request);                 \
    return code != MPI_SUCCESS || !following() ? code : call.started(bytes_of(count, datatype), request);              \
  }                                                                                                                    \
  ALIAS_PMPI(name)

MESSAGE(MPI_Isend_c, const void*, MPI_Count, dest, started)
MESSAGE(MPI_Ibsend_c, const void*, MPI_Count, dest, started)
MESSAGE(MPI_Issend_c, const void*, MPI_Count, dest, started)
MESSAGE(MPI_Irsend_c, const void*, MPI_Count, dest, started)
MESSAGE(MPI_Irecv_c, void*, MPI_Count, source, started)
MATCHED(MPI_Imrecv_c, MPI_Count)
MESSAGE(MPI_Send_init_c, const void*, MPI_Count, dest, made)
MESSAGE(MPI_Bsend_init_c, const void*, MPI_Count, dest, made)
MESSAGE(MPI_Ssend_init_c, const void*, MPI_Count, dest, made)
MESSAGE(MPI_Rsend_init_c, const void*, MPI_Count, dest, made)
MESSAGE(MPI_Recv_init_c, void*, MPI_Count, source, made)
EXCHANGE(MPI_Isendrecv, int)
EXCHANGE(MPI_Isendrecv_c, MPI_Count)
EXCHANGE_IN_PLACE(MPI_Isendrecv_replace, int)
EXCHANGE_IN_PLACE(MPI_Isendrecv_replace_c, MPI_Count)
#endif
// NOLINTEND(bugprone-macro-parentheses)
