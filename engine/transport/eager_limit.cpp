// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transport/eager_limit.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/networks.hpp"

#include <dlfcn.h>

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

// Open MPI's variables, which exist for the parts of it that are in use; no other library has any of these names. MPI's
// own way to them, MPI_T, opens all parts that are installed, which takes 0.2 s each time. So the functions are asked
// that it asks itself. Open MPI 1.7 to 5.0 exports them, with these types.
class OpenMpiVariables {
public:
  OpenMpiVariables() {
    look_up("mca_base_var_find_by_name", find_);
    look_up("mca_base_var_get_value", place_);
  }
  [[nodiscard]] bool exists(const char* name) const { return index_of(name).has_value(); }
  // The variable is a size there.
  [[nodiscard]] std::optional<std::uint64_t> value_of(const char* name) const {
    const auto index = index_of(name);
    const std::size_t* place = nullptr;
    if (!index || place_ == nullptr || place_(*index, &place, nullptr, nullptr) != 0 || place == nullptr) {
      return std::nullopt;
    }
    return *place;
  }

private:
  [[nodiscard]] std::optional<int> index_of(const char* name) const {
    int index = 0;
    return find_ != nullptr && find_(name, &index) == 0 ? std::optional(index) : std::nullopt;
  }
  template <class Function>
  static void look_up(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  }
  int (*find_)(const char* name, int* index) = nullptr;
  int (*place_)(int index, const void* to_pointer, void* source, const char** source_file) = nullptr;
};

// The limit that Open MPI states for its TCP, if it has nothing else between hosts.
std::optional<std::uint64_t> stated_limit() {
  const OpenMpiVariables variables;
  bool only_tcp = variables.exists("pml_ob1_verbose");
  for (const char* other : {"btl_openib_eager_limit", "btl_uct_eager_limit", "btl_ofi_eager_limit",
                            "btl_usnic_eager_limit", "btl_ugni_eager_limit", "btl_portals4_eager_limit"}) {
    only_tcp = only_tcp && !variables.exists(other);
  }
  return only_tcp ? variables.value_of("btl_tcp_eager_limit") : std::nullopt;
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
