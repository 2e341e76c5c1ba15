// SPDX-License-Identifier: BSD-3-Clause
// The data of one epoch of a rebindable request, wherever the application has them.
#pragma once

#include "engine/data/datatype.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker::engine {

// Data for or from one rank. Several for the same rank are sent and received in the order of the list.
struct PeerBlock {
  int peer = 0;
  void* address = nullptr; // not written where it is sent
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL; // may be freed once the call has returned
};

// The parts of a buffer, in their order, which a program takes for one run of bytes. The elements of a part may lie
// anywhere.
class BoundData {
public:
  BoundData() = default;
  explicit BoundData(UserBuffer buffer); // one part: all blocks, in their order
  // One for each rank. Throws Error(argument).
  BoundData(std::span<const PeerBlock> blocks, std::size_t ranks, MemoryKinds kinds);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t part_bytes(std::size_t part) const { return parts_[part].bytes; }
  // Whether every part is one run of bytes in the host's memory, too, somewhere within [lowest, lowest + span).
  [[nodiscard]] bool runs() const { return runs_; }
  [[nodiscard]] bool attachable() const { return !pinned_; } // by other processes
  [[nodiscard]] std::byte* lowest() const { return lowest_; }
  [[nodiscard]] std::uint64_t span() const { return static_cast<std::uint64_t>(highest_ - lowest_); }
  // Where a part begins: counted from the lowest byte if all parts are runs, else from the beginning of the packed
  // form.
  [[nodiscard]] std::uint64_t place(std::size_t part) const {
    return parts_[part].bytes == 0 ? 0 : static_cast<std::uint64_t>(parts_[part].begin - lowest_);
  }
  [[nodiscard]] std::uint64_t packed_place(std::size_t part) const { return parts_[part].packed; }

  // Copy the data to and from the packed form, which is in the host's memory. Throw Error(mpi); Error(access) for data
  // on a device.
  void pack(std::byte* packed, MPI_Comm comm) const;
  void unpack(const std::byte* packed, MPI_Comm comm) const;
  // Unpacks the first bytes of each part. What lies behind them stays as it is in memory, and `packed` takes it over.
  void unpack_beginnings(std::byte* packed, std::span<const std::uint64_t> bytes, MPI_Comm comm) const;

private:
  struct Piece {
    std::byte* address = nullptr;
    std::int64_t count = 0;
    std::size_t type = 0;
    Residence residence = Residence::host;
  };
  struct Part {
    std::uint64_t bytes = 0;
    std::uint64_t packed = 0;
    std::byte* begin = nullptr; // of the run
  };
  void begin_part() { parts_.push_back({.packed = bytes_}); }
  void add(const Piece& piece);
  // Pieces on a device, and where they lie in the packed form.
  [[nodiscard]] std::vector<DevicePiece> device_pieces(std::byte* packed) const;

  std::vector<Datatype> types_;
  std::vector<Piece> pieces_; // in the order of the parts
  std::vector<Part> parts_;
  std::uint64_t bytes_ = 0;
  std::byte* lowest_ = nullptr; // of runs
  std::byte* highest_ = nullptr;
  bool runs_ = true;
  bool pinned_ = false; // some of it
};

} // namespace stoker::engine
