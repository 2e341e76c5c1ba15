// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/waiting.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

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

bool is_gone(pid_t pid) {
  if (kill(pid, 0) != 0) {
    return errno == ESRCH;
  }
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(stat, line);
  const std::size_t name_end = line.rfind(')'); // the name may hold anything
  return name_end != std::string::npos && name_end + 2 < line.size() &&
         (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X');
}

void poke_mpi(MPI_Comm comm) {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
}

} // namespace stoker::engine
