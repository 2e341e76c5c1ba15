// SPDX-License-Identifier: BSD-3-Clause
// The collectives whose blocks have datatypes of their own, alltoallw and its neighborhood form, seen as those whose
// blocks are bytes: where they lie if all types are runs of bytes, else packed in memory of the request's.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/data/datatype.hpp"
#include "engine/shared/allocations.hpp"

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace stoker::engine {

class ByteBlocks {
public:
  // Local. Keeps what it needs of the types. `neighbors`: of the neighborhood form. Throws Error.
  ByteBlocks(Engine& engine, const CollectiveCall& call, int ranks, const Neighbors* neighbors);
  ByteBlocks(const ByteBlocks&) = delete;
  ByteBlocks& operator=(const ByteBlocks&) = delete;
  ~ByteBlocks() = default;

  // The call of bytes that takes its place, as long as this exists.
  [[nodiscard]] const CollectiveCall& call() const { return call_; }

  // What is sent, and what was received, between the application's buffers and there. Throw Error(mpi).
  void pack() const { (call_.in_place() ? recv_ : send_).pack(); }
  void unpack() const { recv_.unpack(); }

private:
  struct Arguments {
    void* buffer;
    const Numbers<MPI_Count>& counts;
    const Numbers<MPI_Aint>& displs; // in bytes
    const MPI_Datatype* types;
    MemoryKinds memory;
  };
  class Side {
  public:
    Side() = default;
    // One block for each peer; those of MPI_PROC_NULL stay empty.
    Side(Engine& engine, const Arguments& arguments, std::size_t blocks, const std::vector<int>* peers);
    void describe(void*& buffer, Numbers<MPI_Count>& counts, Numbers<MPI_Aint>& displs) const;
    void pack() const;
    void unpack() const;

  private:
    struct Deallocate {
      void operator()(void* memory) const { (void)deallocate(memory); }
    };
    void lie_packed(Engine& engine);
    // Calls copy(block, its place in the packed form) for blocks in the host's memory; what has to be copied of others.
    template <class Copy>
    std::vector<DevicePiece> copy_on_host(Copy copy) const;

    void* address_ = nullptr;
    std::vector<MPI_Count> bytes_;
    std::vector<MPI_Aint> displs_;
    std::vector<UserBuffer> blocks_; // by peer; none where they are not packed
    std::unique_ptr<void, Deallocate> arena_;
    std::vector<std::byte> heap_; // where the arena has no room
  };

  Side send_; // none in place
  Side recv_;
  CollectiveCall call_;
  MPI_Datatype byte_ = MPI_BYTE; // the call points to it
};

} // namespace stoker::engine
