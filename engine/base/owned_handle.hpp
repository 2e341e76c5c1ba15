// SPDX-License-Identifier: BSD-3-Clause
// Handles of MPI's that are freed at the end, unless MPI is finalized by then.
#pragma once

#include <mpi.h>

#include <utility>

namespace stoker::engine {

// `Kind` says what the handle is, how it is freed, and its null value.
template <class Kind>
class OwnedHandle {
public:
  using Handle = typename Kind::Handle;

  OwnedHandle() = default;
  explicit OwnedHandle(Handle handle) : handle_(handle) {}
  OwnedHandle(OwnedHandle&& other) noexcept : handle_(std::exchange(other.handle_, Kind::null())) {}
  OwnedHandle& operator=(OwnedHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~OwnedHandle() {
    if (handle_ != Kind::null()) {
      int finalized = 0;
      PMPI_Finalized(&finalized);
      if (finalized == 0) {
        Kind::free(&handle_);
      }
    }
  }
  [[nodiscard]] Handle release() { return std::exchange(handle_, Kind::null()); } // the caller frees it
  operator Handle() const { return handle_; } // NOLINT(google-explicit-constructor): it is one

private:
  Handle handle_ = Kind::null();
};

struct CommKind {
  using Handle = MPI_Comm;
  static MPI_Comm null() { return MPI_COMM_NULL; }
  static void free(MPI_Comm* comm);
};
struct TypeKind {
  using Handle = MPI_Datatype;
  static MPI_Datatype null() { return MPI_DATATYPE_NULL; }
  static void free(MPI_Datatype* type) { PMPI_Type_free(type); }
};

using OwnedType = OwnedHandle<TypeKind>;

// How many communicators this process has taken from the MPI library for the engine, which has few thousands.
[[nodiscard]] int comms_taken();

// A communicator of the engine's own; errors are returned. Freeing is collective.
class OwnedComm : public OwnedHandle<CommKind> {
public:
  OwnedComm() = default;
  explicit OwnedComm(MPI_Comm comm);
  [[nodiscard]] MPI_Comm release(); // not counted any more
  // The ranks of `comm` in their order, with its topology. Unlike in a duplicate, there are no attributes and no hints:
  // the application's copy functions are never called for a communicator of the engine's. Collective, blocking.
  // Throws Error(mpi) on all ranks if any has none left. The error handler of `comm` is not told, because it is another
  // one meanwhile: `comm` is an own one, or one that no other thread of the application's uses yet.
  [[nodiscard]] static OwnedComm like(MPI_Comm comm);
  // The same for any communicator of the application's, whose error handler stays. `own` has all of its ranks.
  [[nodiscard]] static OwnedComm like(MPI_Comm comm, MPI_Comm own);
  // The part of `comm`, an own one, with the same color. Collective. Throws as like() does.
  [[nodiscard]] static OwnedComm part_of(MPI_Comm comm, int color);
};

} // namespace stoker::engine
