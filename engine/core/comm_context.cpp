// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core/comm_context.hpp"

#include "engine/base/agreement.hpp"

#include <algorithm>
#include <numeric>

namespace stoker::engine {

std::vector<int> translate(MPI_Comm comm, MPI_Group engine_group) {
  int inter = 0;
  check_mpi(PMPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter != 0) {
    throw Error(Code::unsupported, "comm is an intercommunicator; expected an intracommunicator");
  }
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(comm, &group), "MPI_Comm_group");
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> translated(ranks.size());
  const int code = PMPI_Group_translate_ranks(group, size, ranks.data(), engine_group, translated.data());
  PMPI_Group_free(&group);
  check_mpi(code, "MPI_Group_translate_ranks");
  for (int r = 0; r < size; ++r) {
    if (translated[static_cast<std::size_t>(r)] == MPI_UNDEFINED) {
      throw Error(
          Code::argument,
          "rank {} of comm is not a rank of the engine's communicator; expected a communicator whose ranks all are", r);
    }
  }
  return translated;
}

CommContext::CommContext(MPI_Comm comm, MPI_Comm engine_comm, MPI_Group engine_group,
                         const topology::Layout& engine_layout)
    : engine_ranks_(translate(comm, engine_group)), layout_(engine_layout.restricted_to(engine_ranks_)),
      comm_(OwnedComm::like(comm, engine_comm)) {
  PMPI_Comm_rank(comm_, &rank_);
  if (layout_.nodes() > 1) {
    node_ = OwnedComm::part_of(comm_, layout_.node_of(rank_));
  }
}

int CommContext::rank_of(int engine_rank) const {
  const auto found = std::ranges::find(engine_ranks_, engine_rank);
  return found == engine_ranks_.end() ? -1 : static_cast<int>(found - engine_ranks_.begin());
}

void CommContext::free() {
  attachments_.clear();
  node_ = OwnedComm();
  comm_ = OwnedComm();
}

} // namespace stoker::engine
