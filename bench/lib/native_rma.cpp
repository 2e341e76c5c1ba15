// SPDX-License-Identifier: BSD-3-Clause
// The MPI library's windows: see native_rma.hpp.
#include "bench/lib/native_rma.hpp"

#include <fmt/core.h>

#include <array>
#include <stdexcept>

namespace stoker::bench {

namespace {

std::string error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  const std::string whole(text.data(), static_cast<std::size_t>(length));
  return whole.substr(0, whole.find('\n'));
}

// Failures of calls on no communicator in particular go to the world's handler.
class ReturningWorld {
public:
  ReturningWorld() {
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ReturningWorld(const ReturningWorld&) = delete;
  ReturningWorld& operator=(const ReturningWorld&) = delete;
  ~ReturningWorld() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    MPI_Errhandler_free(&before_);
  }

private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

} // namespace

ReturningComm::ReturningComm(MPI_Comm comm) {
  MPI_Comm_dup(comm, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

Window::Window(MPI_Comm comm, void* memory, std::size_t bytes) : comm_(comm), memory_(static_cast<std::byte*>(memory)) {
  const ReturningWorld returning;
  finish(MPI_Win_create(memory, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm_.get(), &window_),
         "MPI_Win_create");
}

Window::Window(MPI_Comm comm, std::size_t bytes) : comm_(comm) {
  const ReturningWorld returning;
  finish(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm_.get(), &memory_, &window_),
         "MPI_Win_allocate");
}

// Either all ranks have the window or none. A window that only some ranks have is left behind, because freeing is
// collective.
void Window::finish(int status, const char* call) {
  int worst = status == MPI_SUCCESS ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm_.get());
  if (worst != 0) {
    throw std::runtime_error(
        fmt::format("{}: {}", call, status == MPI_SUCCESS ? "refused on another rank" : error_text(status)));
  }
  MPI_Win_set_errhandler(window_, MPI_ERRORS_ARE_FATAL);
}

std::string why_no_rma(MPI_Comm comm) {
  try {
    std::array<std::byte, 8> memory{};
    const Window trial(comm, memory.data(), memory.size());
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::string why_no_fences([[maybe_unused]] const Session& session) {
#ifndef OPEN_MPI
  if (session.nodes() > 1 && session.ranks_per_node() > 1) {
    return "MPICH's fences and unlocks across hosts were seen to hang with more than one rank on a host";
  }
#endif
  return {};
}

} // namespace stoker::bench
