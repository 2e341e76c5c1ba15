// SPDX-License-Identifier: BSD-3-Clause
// MPI datatypes, and a buffer of the application described by one.
#pragma once

#include "engine/base/owned_handle.hpp"
#include "engine/device/device_memory.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stoker::engine {

// Bytes of an element that lie one behind the other.
struct TypeRun {
  std::int64_t offset = 0; // from the element's address
  std::uint64_t bytes = 0;
};

// What is needed of a committed datatype after the caller has freed it. Holds a duplicate only if elements must be
// packed.
class Datatype {
public:
  Datatype() = default;
  // `what` names the argument. Throws Error(argument) for MPI_DATATYPE_NULL and datatypes that MPI refuses.
  Datatype(MPI_Datatype type, const std::string& what);

  // MPI_DATATYPE_NULL if contiguous().
  [[nodiscard]] MPI_Datatype handle() const { return type_; }
  [[nodiscard]] std::int64_t extent() const { return extent_; }
  [[nodiscard]] std::int64_t true_lower() const { return true_lower_; }
  [[nodiscard]] std::int64_t true_extent() const { return true_extent_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Any number of elements are one run of bytes that begins at the buffer's address.
  [[nodiscard]] bool contiguous() const { return contiguous_; }
  // An element's bytes in the order in which they are packed. What MPI_Pack cannot reach has to be packed by these; to
  // find them out takes a multiple of the true extent, in time and, for that time, in memory. Throws Error(mpi).
  void find_runs();
  [[nodiscard]] const std::vector<TypeRun>& runs() const { return runs_; } // that were found

private:
  OwnedType type_;
  std::uint64_t size_ = 0;
  std::int64_t extent_ = 0;
  std::int64_t true_lower_ = 0;
  std::int64_t true_extent_ = 0;
  bool contiguous_ = false;
  std::vector<TypeRun> runs_;
};

// Copy `count` elements to the bytes at `packed`, one behind the other, and back, all in the host's memory. Throw
// Error(mpi).
void pack(const Datatype& type, const std::byte* elements, std::int64_t count, std::byte* packed, MPI_Comm comm);
void unpack(const Datatype& type, const std::byte* packed, std::int64_t count, std::byte* elements, MPI_Comm comm);
// Adds what has to be copied where the elements are on a device. Their runs have to be known.
void add_pieces(const Datatype& type, std::byte* elements, std::int64_t count, std::byte* packed,
                std::vector<DevicePiece>& pieces);

// One block per peer in a buffer of the application.
struct UserBlock {
  std::int64_t displacement = 0; // bytes from the buffer's address
  std::int64_t count = 0;        // elements
};

class UserBuffer {
public:
  UserBuffer() = default;
  UserBuffer(void* address, Datatype type, std::vector<UserBlock> blocks, MemoryKinds kinds = MemoryKinds::any);

  [[nodiscard]] std::byte* address() const { return address_; }
  [[nodiscard]] Residence residence() const { return residence_; } // of all data
  [[nodiscard]] const Datatype& type() const { return type_; }
  [[nodiscard]] Datatype take_type() { return std::move(type_); } // only the places of blocks may be asked for then
  [[nodiscard]] const std::vector<UserBlock>& blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t block_bytes(std::size_t block) const {
    return static_cast<std::uint64_t>(blocks_[block].count) * type_.size();
  }
  [[nodiscard]] std::vector<std::uint64_t> block_sizes() const;
  // How many bytes of data all blocks have.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // First byte touched, and one past the last, from address(); both 0 when there is no data.
  [[nodiscard]] std::int64_t lower() const { return lower_; }
  [[nodiscard]] std::int64_t upper() const { return upper_; }

  // Where the blocks begin in the packed form: one behind the other, in their order. Elements that several blocks
  // share, as the blocks of a neighborhood exchange may, are packed once.
  [[nodiscard]] const std::vector<std::uint64_t>& packed_offsets() const { return packed_offsets_; }
  [[nodiscard]] std::uint64_t packed_bytes() const { return packed_bytes_; }
  // Elements to pack, in the order of the packed form: the blocks, or what they cover together.
  [[nodiscard]] const std::vector<UserBlock>& runs() const { return runs_; }
  // Only the packed form is asked for from now on: what is kept for each block goes, and runs are joined.
  void forget_blocks();
  // Copy the data to and from the packed form, which is in the host's memory. Throw Error(mpi); Error(access) for data
  // on a device.
  void pack(std::byte* staging, MPI_Comm comm) const;
  void unpack(const std::byte* staging, MPI_Comm comm) const;
  // Adds what they copy where the data are on a device.
  void add_pieces(std::byte* staging, std::vector<DevicePiece>& pieces) const;

private:
  void lay_out_packed();

  std::byte* address_ = nullptr;
  Residence residence_ = Residence::host;
  Datatype type_;
  std::vector<UserBlock> blocks_;
  std::vector<UserBlock> runs_;
  std::vector<std::uint64_t> packed_offsets_; // by block
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
};

} // namespace stoker::engine
