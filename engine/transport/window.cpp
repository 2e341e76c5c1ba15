// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transport/window.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/mpi_defects.hpp"
#include "engine/base/own_comm.hpp"
#include "engine/transport/message_type.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

// How far `base` lies behind what MPI takes for the base of its window. MPICH 4.0 over UCX takes the begin of what UCX
// has registered there, which is earlier if memory before it was part of another window or message, and puts that much
// too low. It says so.
std::uint64_t skew_of(const void* base, MPI_Win win) {
  void* begin = nullptr;
  int known = 0;
  PMPI_Win_get_attr(win, MPI_WIN_BASE, static_cast<void*>(&begin), &known);
  return known == 0 ? 0 : reinterpret_cast<std::uintptr_t>(base) - reinterpret_cast<std::uintptr_t>(begin);
}

} // namespace

template <class Create>
std::shared_ptr<Window> Window::create(MPI_Comm comm, Create create) {
  const OwnedComm own = OwnedComm::like(comm); // the window makes one for itself
  MPI_Win win = MPI_WIN_NULL;
  bool works = create(own, &win) == MPI_SUCCESS;
  if (works) {
    PMPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    works = PMPI_Win_lock_all(MPI_MODE_NOCHECK, win) == MPI_SUCCESS;
  }
  works = on_all(own, works);
  if (!works) {
    // This happens if the MPI library has no one-sided communication between these ranks, and then on all of them. A
    // window that only some ranks had would be left behind, because freeing is collective.
    return nullptr;
  }
  return std::shared_ptr<Window>(new Window(win));
}

std::shared_ptr<Window> Window::over(MPI_Comm comm, void* base, std::uint64_t bytes) {
  auto window = create(comm, [&](MPI_Comm own, MPI_Win* win) {
    return PMPI_Win_create(base, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, own, win);
  });
  if (window != nullptr) {
    window->skews_ = gathered(comm, bytes == 0 ? 0 : skew_of(base, window->win_));
  }
  return window;
}

std::shared_ptr<Window> Window::dynamic(MPI_Comm comm) {
  if (mpi_has(MpiDefect::dynamic_windows)) {
    return nullptr;
  }
  return create(comm, [](MPI_Comm own, MPI_Win* win) { return PMPI_Win_create_dynamic(MPI_INFO_NULL, own, win); });
}

void Window::free() {
  for (void* memory : attached_) {
    PMPI_Win_detach(win_, memory);
  }
  PMPI_Win_unlock_all(win_);
  PMPI_Win_free(&win_);
}

std::optional<std::uint64_t> Window::attach(void* memory, std::uint64_t bytes) {
  MPI_Aint address = 0;
  if (PMPI_Win_attach(win_, memory, static_cast<MPI_Aint>(bytes)) != MPI_SUCCESS ||
      PMPI_Get_address(memory, &address) != MPI_SUCCESS) {
    return std::nullopt;
  }
  attached_.push_back(memory);
  return static_cast<std::uint64_t>(address);
}

void Window::detach(void* memory) {
  std::erase(attached_, memory);
  PMPI_Win_detach(win_, memory);
}

int Window::put(const void* data, std::uint64_t bytes, int target, std::uint64_t displacement) {
  if (std::ranges::find(targets_, target) == targets_.end()) {
    targets_.push_back(target);
  }
  const MessageType type(bytes);
  displacement = in_window(target, displacement);
  return PMPI_Put(data, type.count(), type.type(), target, static_cast<MPI_Aint>(displacement), type.count(),
                  type.type(), win_);
}

int Window::put(const void* data, std::uint64_t bytes, int target, std::uint64_t displacement, MPI_Request* request) {
  const MessageType type(bytes);
  return PMPI_Rput(data, type.count(), type.type(), target, static_cast<MPI_Aint>(in_window(target, displacement)),
                   type.count(), type.type(), win_, request);
}

int Window::get(void* data, std::uint64_t bytes, int target, std::uint64_t displacement, MPI_Request* request) {
  const MessageType type(bytes);
  return PMPI_Rget(data, type.count(), type.type(), target, static_cast<MPI_Aint>(in_window(target, displacement)),
                   type.count(), type.type(), win_, request);
}

int Window::flush(int target) {
  std::erase(targets_, target);
  return PMPI_Win_flush(target, win_);
}

int Window::flush_all() {
  int first = MPI_SUCCESS;
  // One by one: MPI_Win_flush_all was seen to wait for processes that were never put to.
  for (const int target : targets_) {
    const int code = PMPI_Win_flush(target, win_);
    first = first == MPI_SUCCESS ? code : first;
  }
  targets_.clear();
  return first;
}

} // namespace stoker::engine
