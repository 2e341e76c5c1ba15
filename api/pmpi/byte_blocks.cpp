// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/byte_blocks.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace stoker::pmpi {

using engine::Code;
using engine::Error;

ByteBlocks::ByteBlocks(const std::shared_ptr<engine::Engine>& engine, void* buffer, const Numbers<MPI_Count>& counts,
                       const Numbers<MPI_Aint>& displs, const MPI_Datatype* types, std::span<const int> peers)
    : bytes_(peers.size()), displs_(peers.size()), blocks_(peers.size()) {
  if (!peers.empty() && (!counts.given() || !displs.given() || types == nullptr)) {
    throw Error(Code::argument, "counts, displacements or datatypes are null; expected " +
                                    std::to_string(peers.size()) + " entries each");
  }
  bool runs = true;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] == MPI_PROC_NULL || counts[i] == 0) {
      continue;
    }
    if (counts[i] < 0) {
      throw Error(Code::argument,
                  "count " + std::to_string(i) + " is " + std::to_string(counts[i]) + "; expected 0 or more");
    }
    engine::Datatype type(types[i], "datatype " + std::to_string(i));
    runs = runs && type.contiguous();
    blocks_[i] = engine::UserBuffer(buffer, std::move(type), {{displs[i], counts[i]}});
    bytes_[i] = static_cast<MPI_Count>(blocks_[i].bytes());
    displs_[i] = displs[i];
  }
  if (!runs) {
    lie_packed(*engine);
    return;
  }
  // Displacements may be absolute addresses.
  MPI_Aint lowest = 0;
  for (std::size_t i = 0, seen = 0; i < peers.size(); ++i) {
    if (bytes_[i] > 0) {
      lowest = seen++ == 0 ? displs_[i] : std::min(lowest, displs_[i]);
    }
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    displs_[i] = bytes_[i] > 0 ? displs_[i] - lowest : 0;
  }
  address_ = static_cast<char*>(buffer) + lowest;
  blocks_.clear();
}

void ByteBlocks::lie_packed(engine::Engine& engine) {
  std::exclusive_scan(bytes_.begin(), bytes_.end(), displs_.begin(), MPI_Aint{0});
  const auto total = static_cast<std::size_t>(displs_.back() + bytes_.back());
  if (total == 0) {
    return;
  }
  try {
    arena_.reset(engine::allocate(engine.memory(), total));
    address_ = arena_.get();
  } catch (const Error&) {
    heap_.resize(total);
    address_ = heap_.data();
  }
}

void ByteBlocks::pack() const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].pack(static_cast<std::byte*>(address_) + displs_[i], MPI_COMM_SELF);
  }
}

void ByteBlocks::unpack() const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].unpack(static_cast<const std::byte*>(address_) + displs_[i], MPI_COMM_SELF);
  }
}

} // namespace stoker::pmpi
