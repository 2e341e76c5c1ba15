// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/byte_blocks.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace stoker::engine {

ByteBlocks::ByteBlocks(Engine& engine, const CollectiveCall& call, int ranks, const Neighbors* neighbors)
    : call_(call) {
  const auto side = [&](const Arguments& arguments, const std::vector<int>* peers) {
    return Side(engine, arguments, peers == nullptr ? static_cast<std::size_t>(ranks) : peers->size(), peers);
  };
  recv_ = side({call.recvbuf, call.recvcounts, call.rdispls, call.recvtypes, call.memory},
               neighbors == nullptr ? nullptr : &neighbors->sources);
  recv_.describe(call_.recvbuf, call_.recvcounts, call_.rdispls);
  if (call.sendbuf != MPI_IN_PLACE) {
    void* sendbuf = const_cast<void*>(call.sendbuf); // only read
    send_ = side({sendbuf, call.sendcounts, call.sdispls, call.sendtypes, call.memory},
                 neighbors == nullptr ? nullptr : &neighbors->targets);
    send_.describe(sendbuf, call_.sendcounts, call_.sdispls);
    call_.sendbuf = sendbuf;
  }
  call_.sendtypes = call_.recvtypes = &byte_;
  call_.collective = traits_of(call.collective).carried_out_as;
}

ByteBlocks::Side::Side(Engine& engine, const Arguments& arguments, std::size_t blocks, const std::vector<int>* peers)
    : bytes_(blocks), displs_(blocks), blocks_(blocks) {
  const auto& [buffer, counts, displs, types, memory] = arguments;
  if (blocks != 0 && (!counts.given() || !displs.given() || types == nullptr)) {
    throw Error(Code::argument, "counts, displacements or datatypes are null; expected {} entries each", blocks);
  }
  bool runs = true;
  for (std::size_t i = 0; i < blocks; ++i) {
    if ((peers != nullptr && (*peers)[i] == MPI_PROC_NULL) || counts.at(i) == 0) {
      continue;
    }
    if (counts.at(i) < 0) {
      throw Error(Code::argument, "count {} is {}; expected 0 or more", i, counts.at(i));
    }
    Datatype type(types[i], "datatype " + std::to_string(i));
    runs = runs && type.contiguous();
    blocks_[i] = UserBuffer(buffer, std::move(type), {{displs.at(i), counts.at(i)}}, memory);
    runs = runs && blocks_[i].residence() != Residence::device;
    bytes_[i] = static_cast<MPI_Count>(blocks_[i].bytes());
    displs_[i] = displs.at(i);
  }
  if (!runs) {
    lie_packed(engine);
    return;
  }
  // Displacements may be absolute addresses.
  MPI_Aint lowest = 0;
  for (std::size_t i = 0, seen = 0; i < blocks; ++i) {
    if (bytes_[i] > 0) {
      lowest = seen++ == 0 ? displs_[i] : std::min(lowest, displs_[i]);
    }
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    displs_[i] = bytes_[i] > 0 ? displs_[i] - lowest : 0;
  }
  address_ = static_cast<char*>(buffer) + lowest;
  blocks_.clear();
}

void ByteBlocks::Side::lie_packed(Engine& engine) {
  std::exclusive_scan(bytes_.begin(), bytes_.end(), displs_.begin(), MPI_Aint{0});
  const auto total = static_cast<std::size_t>(displs_.back() + bytes_.back());
  if (total == 0) {
    return;
  }
  try {
    arena_.reset(allocate(engine.memory(), total));
    address_ = arena_.get();
  } catch (const Error&) {
    heap_.resize(total);
    address_ = heap_.data();
  }
}

void ByteBlocks::Side::describe(void*& buffer, Numbers<MPI_Count>& counts, Numbers<MPI_Aint>& displs) const {
  buffer = address_;
  counts = bytes_.data();
  displs = displs_.data();
}

template <class Copy>
std::vector<DevicePiece> ByteBlocks::Side::copy_on_host(Copy copy) const {
  std::vector<DevicePiece> pieces;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    std::byte* const place = static_cast<std::byte*>(address_) + displs_[i];
    if (blocks_[i].residence() == Residence::device) {
      blocks_[i].add_pieces(place, pieces);
    } else {
      copy(blocks_[i], place);
    }
  }
  return pieces;
}

void ByteBlocks::Side::pack() const {
  copy_to_host(copy_on_host([](const UserBuffer& block, std::byte* place) { block.pack(place, MPI_COMM_SELF); }));
}

void ByteBlocks::Side::unpack() const {
  copy_to_device(copy_on_host([](const UserBuffer& block, std::byte* place) { block.unpack(place, MPI_COMM_SELF); }));
}

} // namespace stoker::engine
