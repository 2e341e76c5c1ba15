// SPDX-License-Identifier: BSD-3-Clause
// Blocks of one buffer that each have their own datatype, as alltoallw and its neighborhood form take them, seen as blocks of
// bytes, which the engine exchanges: where they lie if all types are runs of bytes, else packed in memory of this library's.
#pragma once

#include "api/pmpi/call.hpp"
#include "engine/core/engine.hpp"
#include "engine/data/datatype.hpp"
#include "engine/shared/allocations.hpp"

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace stoker::pmpi {

class ByteBlocks {
public:
  ByteBlocks() = default; // none
  // One block for each peer; those of MPI_PROC_NULL stay empty. Displacements are in bytes. Keeps what it needs of the types.
  // Throws engine::Error.
  ByteBlocks(const std::shared_ptr<engine::Engine>& engine, void* buffer, const Numbers<MPI_Count>& counts,
             const Numbers<MPI_Aint>& displs, const MPI_Datatype* types, std::span<const int> peers);

  // As the engine sees them.
  [[nodiscard]] void* address() const { return address_; }
  [[nodiscard]] const MPI_Count* bytes() const { return bytes_.data(); }
  [[nodiscard]] const MPI_Aint* displs() const { return displs_.data(); }

  // Between the application's buffer and there. Throw engine::Error(mpi).
  void pack() const;
  void unpack() const;

private:
  struct Deallocate {
    void operator()(void* memory) const { engine::deallocate(memory); }
  };
  void lie_packed(engine::Engine& engine);

  void* address_ = nullptr;
  std::vector<MPI_Count> bytes_;
  std::vector<MPI_Aint> displs_;
  std::vector<engine::UserBuffer> blocks_; // by peer; none where they are not packed
  std::unique_ptr<void, Deallocate> arena_;
  std::vector<std::byte> heap_; // where the arena has no room
};

} // namespace stoker::pmpi
