// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transport/eager_limit.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/networks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

namespace stoker::engine {
namespace {

constexpr std::array<int, 4> tried_bytes{8192, 16384, 32768,
                                         65536}; // ascending: one that is asked for may hold up those behind it
constexpr std::chrono::milliseconds patience(2); // after the latest message that was sent
constexpr int least_polls = 1000;
constexpr int first_trips = 3; // until the two are connected
constexpr int answer_tag = 0;  // the messages' are 1 and following
constexpr int go_tag = 100;

std::array<char, tried_bytes.back()> data; // of messages, which may outlive a call that fails

// Control variables exist for the parts of Open MPI that are in use; no other library has any of that name.
bool exists(const char* variable) {
  int index = 0;
  return PMPI_T_cvar_get_index(variable, &index) == MPI_SUCCESS;
}

std::optional<std::uint64_t> value_of(const char* variable) {
  int index = 0;
  MPI_T_cvar_handle handle = nullptr;
  int count = 0;
  if (PMPI_T_cvar_get_index(variable, &index) != MPI_SUCCESS ||
      PMPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
    return std::nullopt;
  }
  unsigned long value = 0; // a size_t there
  const bool read = count == 1 && PMPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
  PMPI_T_cvar_handle_free(&handle);
  return read ? std::optional<std::uint64_t>(value) : std::nullopt;
}

// The limit that Open MPI states for its TCP, if it has nothing else between hosts.
std::optional<std::uint64_t> stated_limit() {
  // Open MPI 4.1 makes the level that is asked for here the thread level of all of MPI: it must be the present one.
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  int provided = 0;
  if (PMPI_T_init_thread(level, &provided) != MPI_SUCCESS) {
    return std::nullopt;
  }
  bool only_tcp = exists("pml_ob1_verbose");
  for (const char* other : {"btl_openib_eager_limit", "btl_uct_eager_limit", "btl_ofi_eager_limit",
                            "btl_usnic_eager_limit", "btl_ugni_eager_limit", "btl_portals4_eager_limit"}) {
    only_tcp = only_tcp && !exists(other);
  }
  const auto limit = only_tcp ? value_of("btl_tcp_eager_limit") : std::nullopt;
  PMPI_T_finalize();
  return limit;
}

// The receiver begins to receive only after the sender has seen which messages are done without it.
int send_unasked(MPI_Comm comm, int receiver) {
  for (int trip = 0; trip < first_trips; ++trip) {
    check_mpi(PMPI_Send(nullptr, 0, MPI_BYTE, receiver, go_tag, comm), "MPI_Send");
    check_mpi(PMPI_Recv(nullptr, 0, MPI_BYTE, receiver, answer_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  std::array<MPI_Request, tried_bytes.size()> requests{};
  for (std::size_t i = 0; i < tried_bytes.size(); ++i) {
    check_mpi(PMPI_Isend(data.data(), tried_bytes[i], MPI_BYTE, receiver, static_cast<int>(1 + i), comm, &requests[i]),
              "MPI_Isend");
  }
  std::array<int, tried_bytes.size()> done{};
  using Clock = std::chrono::steady_clock;
  auto latest = Clock::now();
  for (int polls = 0; polls < least_polls || Clock::now() - latest < patience; ++polls) {
    for (std::size_t i = 0; i < tried_bytes.size(); ++i) {
      if (done[i] == 0) {
        check_mpi(PMPI_Test(&requests[i], &done[i], MPI_STATUS_IGNORE), "MPI_Test");
        latest = done[i] != 0 ? Clock::now() : latest;
      }
    }
  }
  check_mpi(PMPI_Send(nullptr, 0, MPI_BYTE, receiver, go_tag, comm), "MPI_Send");
  check_mpi(PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  const auto unasked = static_cast<std::size_t>(std::ranges::find(done, 0) - done.begin());
  return unasked > 0 ? tried_bytes[unasked - 1] : 0;
}

void receive_unasked(MPI_Comm comm, int sender) {
  for (int trip = 0; trip < first_trips; ++trip) {
    check_mpi(PMPI_Recv(nullptr, 0, MPI_BYTE, sender, go_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    check_mpi(PMPI_Send(nullptr, 0, MPI_BYTE, sender, answer_tag, comm), "MPI_Send");
  }
  check_mpi(PMPI_Recv(nullptr, 0, MPI_BYTE, sender, go_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
  for (std::size_t i = 0; i < tried_bytes.size(); ++i) {
    check_mpi(
        PMPI_Recv(data.data(), tried_bytes[i], MPI_BYTE, sender, static_cast<int>(1 + i), comm, MPI_STATUS_IGNORE),
        "MPI_Recv");
  }
}

} // namespace

std::uint64_t agreed_eager_limit(MPI_Comm comm, int sender, int receiver) {
  const auto stated = stated_limit();
  std::array<std::uint64_t, 2> least{stated.value_or(0), stated || has_only_tcp() ? 1U : 0U};
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, least.data(), 2, MPI_UINT64_T, MPI_MIN, comm), "MPI_Allreduce");
  if (least[0] != 0 || least[1] == 0) {
    return least[0];
  }
  const int rank = rank_in(comm);
  std::uint64_t found = 0;
  if (rank == sender) {
    found = static_cast<std::uint64_t>(send_unasked(comm, receiver));
  } else if (rank == receiver) {
    receive_unasked(comm, sender);
  }
  check_mpi(PMPI_Bcast(&found, 1, MPI_UINT64_T, sender, comm), "MPI_Bcast");
  return found;
}

} // namespace stoker::engine
