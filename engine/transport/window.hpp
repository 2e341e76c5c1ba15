// SPDX-License-Identifier: BSD-3-Clause
// An MPI window: memory of a communicator's ranks into which the others write. It is in one passive epoch from creation
// to release, so that an access needs no call of its target. Users of windows synchronise with messages instead of
// fences and locks: MPI_Win_fence and MPI_Win_lock block, for ever if requests are started in different orders.
#pragma once

#include "engine/base/error.hpp"
#include "engine/transport/transport.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace stoker::engine {

class Window final : public RemoteMemory {
public:
  // Collective over comm. Over `bytes` at `base` of each rank; displacements in bytes from there. nullptr on all ranks
  // where the MPI library refuses it on one.
  [[nodiscard]] static std::shared_ptr<Window> over(MPI_Comm comm, void* base, std::uint64_t bytes);
  // The same over nothing until memory is attached; displacements are addresses. nullptr where the MPI library's are
  // not usable (engine/base/mpi_defects.hpp).
  [[nodiscard]] static std::shared_ptr<Window> dynamic(MPI_Comm comm);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  // Without free() the window stays until MPI ends.
  ~Window() = default;

  // Collective over the ranks of the communicator. All that was put has to be flushed.
  void free();

  // Local. The displacement of the memory, or nothing where the MPI library refuses it.
  [[nodiscard]] std::optional<std::uint64_t> attach(void* memory, std::uint64_t bytes);
  void detach(void* memory);

  // All return MPI's code. The data must stay as they are until the flush of that target, which makes sure that they
  // are at the target, and may wait until that process enters the MPI library.
  [[nodiscard]] int put(const void* data, std::uint64_t bytes, int target, std::uint64_t displacement);
  [[nodiscard]] int put(const void* data, std::uint64_t bytes, int target, std::uint64_t displacement,
                        MPI_Request* request) override;
  // Done when the data are here.
  [[nodiscard]] int get(void* data, std::uint64_t bytes, int target, std::uint64_t displacement, MPI_Request* request);
  [[nodiscard]] int flush(int target) override;
  // Flushes every target of a put since the last call.
  [[nodiscard]] int flush_all();
  void sync() override { PMPI_Win_sync(win_); }

private:
  explicit Window(MPI_Win win) : win_(win) {}
  template <class Create>
  static std::shared_ptr<Window> create(MPI_Comm comm, Create create);
  [[nodiscard]] std::uint64_t in_window(int target, std::uint64_t displacement) const {
    return displacement + (skews_.empty() ? 0U : skews_[static_cast<std::size_t>(target)]);
  }

  MPI_Win win_ = MPI_WIN_NULL;
  std::vector<std::uint64_t>
      skews_; // by rank: how far its memory begins behind what MPI takes for its base; none of a dynamic window
  std::vector<void*> attached_;
  std::vector<int> targets_; // of puts that were not flushed
};

} // namespace stoker::engine
