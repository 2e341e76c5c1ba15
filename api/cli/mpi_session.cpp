// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/mpi_session.hpp"

#include "engine/base/gathered_texts.hpp"

namespace stoker::cli {

const char* thread_level_name(int level) {
  switch (level) {
  case MPI_THREAD_SINGLE:
    return "MPI_THREAD_SINGLE";
  case MPI_THREAD_FUNNELED:
    return "MPI_THREAD_FUNNELED";
  case MPI_THREAD_SERIALIZED:
    return "MPI_THREAD_SERIALIZED";
  case MPI_THREAD_MULTIPLE:
    return "MPI_THREAD_MULTIPLE";
  default:
    return "an unknown thread level";
  }
}

std::vector<std::string> gather(const std::string& text) { return engine::gathered_texts(text, MPI_COMM_WORLD); }

int broadcast(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

} // namespace stoker::cli
