// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/rma_progress.hpp"

#include "api/pmpi/library.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/own_thread.hpp"
#include "engine/base/owned_handle.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

namespace stoker::pmpi {
namespace {

class Poller {
public:
  void start() {
    wanted_ = true;
    // The thread has a communicator of its own, in which a probe finds nothing. In MPICH a probe of a communicator of
    // one rank makes no progress.
    comm_ = engine::OwnedComm::like(MPI_COMM_WORLD).release();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      if (!wanted_) {
        return;
      }
      wanted_ = false;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
    PMPI_Comm_free(&comm_);
  }

  void count(int change) {
    {
      const std::lock_guard lock(mutex_);
      if (!wanted_) {
        return;
      }
      windows_ += change;
      if (windows_ > 0 && !thread_.joinable()) {
        const auto failure = engine::attempt([this] { thread_ = engine::own_thread([this] { poll(); }); });
        if (failure) {
          fmt::print(stderr, "stoker: STOKER_PMPI_RMA=1: {}\n", failure->what());
        }
      }
    }
    changed_.notify_all();
  }

private:
  void poll() {
    constexpr std::chrono::microseconds nap(200);
    std::unique_lock lock(mutex_);
    while (wanted_) {
      if (windows_ == 0) {
        changed_.wait(lock);
        continue;
      }
      lock.unlock();
      int flag = 0;
      PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE);
      lock.lock();
      changed_.wait_for(lock, nap);
    }
  }

  std::mutex mutex_; // guards what follows
  std::condition_variable changed_;
  bool wanted_ = false;
  int windows_ = 0;
  std::thread thread_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};
// Never destroyed: the application may free its windows late.
Poller& poller = *new Poller;

// Creates a window by the MPI library's function `create`. Open MPI 4.1 has no windows over Ethernet once threads were
// asked for, as this library does. A message says so, because nobody would look for the cause here.
template <class Create>
int create(MPI_Comm comm, Create&& create) {
  if (!raised_thread_level()) {
    const int code = create();
    poller.count(code == MPI_SUCCESS ? 1 : 0);
    return code;
  }
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int code = create();
  PMPI_Comm_set_errhandler(comm, handler);
  PMPI_Errhandler_free(&handler);
  if (code == MPI_SUCCESS) {
    poller.count(1);
    return code;
  }
  fmt::print(stderr,
             "stoker: the MPI library refuses a window, perhaps because MPI_Init was raised to MPI_THREAD_MULTIPLE; "
             "executor=inline leaves it as it was\n");
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

} // namespace

void start_rma_progress_if_wanted() {
  if (!settings().pmpi_rma) {
    return;
  }
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) {
    fmt::print(stderr, "stoker: STOKER_PMPI_RMA=1 needs MPI_THREAD_MULTIPLE, which the MPI library does not grant\n");
    return;
  }
  poller.start();
}

void stop_rma_progress() { poller.stop(); }

} // namespace stoker::pmpi

using stoker::pmpi::create;
using stoker::pmpi::poller;
using stoker::pmpi::real;

extern "C" {

int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_allocate(size, disp_unit, info, comm, baseptr, win); });
}
int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr, win); });
}
int MPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_create(base, size, disp_unit, info, comm, win); });
}
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_create_dynamic(info, comm, win); });
}
int MPI_Win_free(MPI_Win* win) {
  const int code = real().MPI_Win_free(win);
  poller.count(code == MPI_SUCCESS ? -1 : 0);
  return code;
}
}

#define ALIAS(name) extern "C" __typeof__(P##name) P##name __attribute__((alias(#name)));
ALIAS(MPI_Win_allocate)
ALIAS(MPI_Win_allocate_shared)
ALIAS(MPI_Win_create)
ALIAS(MPI_Win_create_dynamic)
ALIAS(MPI_Win_free)
