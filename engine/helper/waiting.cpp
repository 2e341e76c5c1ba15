// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/waiting.hpp"

namespace stoker::engine {

void Plea::make(RankRoot& carrier) {
  if (carrier_ == nullptr) {
    carrier_ = &carrier;
    carrier.waiting.fetch_add(1, std::memory_order_relaxed);
    carrier.helper.ring(); // full fence: the helper sees the count, or the ring
  }
}

void Plea::withdraw() {
  if (carrier_ != nullptr) {
    carrier_->waiting.fetch_sub(1, std::memory_order_relaxed);
    carrier_ = nullptr;
  }
}

void poke_mpi(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL) {
    int flag = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
  }
}

} // namespace stoker::engine
