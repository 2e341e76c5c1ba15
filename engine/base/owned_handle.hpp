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

struct TypeKind {
  using Handle = MPI_Datatype;
  static MPI_Datatype null() { return MPI_DATATYPE_NULL; }
  static void free(MPI_Datatype* type) { PMPI_Type_free(type); }
};

using OwnedType = OwnedHandle<TypeKind>;

} // namespace stoker::engine
