// SPDX-License-Identifier: BSD-3-Clause
// A count and datatype for any number of bytes; beyond 2 GiB that needs a datatype of its own.
#pragma once

#include <mpi.h>

#include <array>
#include <climits>
#include <cstdint>

namespace stoker::engine {

class MessageType {
public:
  explicit MessageType(std::uint64_t bytes) {
    if (bytes <= INT_MAX) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr std::uint64_t chunk = std::uint64_t{1} << 30U;
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    PMPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &whole);
    const std::array<int, 2> lengths{static_cast<int>(bytes / chunk), static_cast<int>(bytes % chunk)};
    const std::array<MPI_Aint, 2> offsets{0, static_cast<MPI_Aint>((bytes / chunk) * chunk)};
    const std::array<MPI_Datatype, 2> types{whole, MPI_BYTE};
    PMPI_Type_create_struct(2, lengths.data(), offsets.data(), types.data(), &type_);
    PMPI_Type_commit(&type_);
    PMPI_Type_free(&whole);
    owned_ = true;
    count_ = 1;
  }
  MessageType(const MessageType&) = delete;
  MessageType& operator=(const MessageType&) = delete;
  ~MessageType() {
    if (owned_) {
      PMPI_Type_free(&type_); // messages in flight keep it
    }
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
  bool owned_ = false;
};

} // namespace stoker::engine
