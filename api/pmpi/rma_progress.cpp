// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/rma_progress.hpp"

#include "api/pmpi/library.hpp"
#include "api/pmpi/settings.hpp"

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
    // Of its own: a probe of it finds nothing, and goes through the MPI library's progress all the same.
    MPI_Comm_dup(MPI_COMM_SELF, &comm_);
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
    MPI_Comm_free(&comm_);
  }

  void count(int change) {
    {
      const std::lock_guard lock(mutex_);
      if (!wanted_) {
        return;
      }
      windows_ += change;
      if (windows_ > 0 && !thread_.joinable()) {
        thread_ = std::thread([this] { poll(); });
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
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE);
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

int counted(int code, int change) {
  if (code == MPI_SUCCESS) {
    poller.count(change);
  }
  return code;
}

} // namespace

void start_rma_progress_if_wanted() {
  if (!settings().rma) {
    return;
  }
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) {
    fmt::print(stderr, "stoker: STOKER_PMPI_RMA=1 needs MPI_THREAD_MULTIPLE, which the MPI library does not grant\n");
    return;
  }
  poller.start();
}

void stop_rma_progress() { poller.stop(); }

} // namespace stoker::pmpi

using stoker::pmpi::counted;
using stoker::pmpi::real;

extern "C" {

int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return counted(real().MPI_Win_allocate(size, disp_unit, info, comm, baseptr, win), 1);
}
int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return counted(real().MPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr, win), 1);
}
int MPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return counted(real().MPI_Win_create(base, size, disp_unit, info, comm, win), 1);
}
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return counted(real().MPI_Win_create_dynamic(info, comm, win), 1);
}
int MPI_Win_free(MPI_Win* win) { return counted(real().MPI_Win_free(win), -1); }
}

#define ALIAS(name) extern "C" __typeof__(P##name) P##name __attribute__((alias(#name)));
ALIAS(MPI_Win_allocate)
ALIAS(MPI_Win_allocate_shared)
ALIAS(MPI_Win_create)
ALIAS(MPI_Win_create_dynamic)
ALIAS(MPI_Win_free)
