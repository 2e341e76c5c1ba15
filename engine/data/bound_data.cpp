// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/bound_data.hpp"

#include "engine/base/error.hpp"
#include "engine/device/driver.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

void check(const PeerBlock& block, std::size_t ranks) {
  if (block.peer < 0 || static_cast<std::size_t>(block.peer) >= ranks) {
    throw Error(Code::argument, "a block is for rank {}; expected 0 to {}, a rank of comm", block.peer, ranks - 1);
  }
  if (block.count < 0) {
    throw Error(Code::argument, "a block for rank {} has count {}; expected 0 or more", block.peer, block.count);
  }
}

} // namespace

BoundData::BoundData(UserBuffer buffer) {
  begin_part();
  const Residence residence = buffer.residence();
  types_.push_back(buffer.take_type());
  pieces_.reserve(buffer.blocks().size());
  for (const UserBlock& block : buffer.blocks()) { // where blocks overlap, the last one's data stay
    add({buffer.address() + block.displacement, block.count, 0, residence});
  }
}

BoundData::BoundData(std::span<const PeerBlock> blocks, std::size_t ranks, MemoryKinds kinds) {
  // Sorts the blocks by rank; those of one rank keep their order.
  std::vector<std::size_t> next(ranks + 1, 0);
  for (const PeerBlock& block : blocks) {
    check(block, ranks);
    ++next[static_cast<std::size_t>(block.peer) + 1];
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    next[r + 1] += next[r];
  }
  const std::vector<std::size_t> begin = next;
  std::vector<std::size_t> order(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    order[next[static_cast<std::size_t>(blocks[b].peer)]++] = b;
  }
  const bool devices = kinds == MemoryKinds::any && loaded_driver() != nullptr; // asked once for all blocks
  std::vector<MPI_Datatype> handles;                                            // of types_
  pieces_.reserve(blocks.size());
  parts_.reserve(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    begin_part();
    for (std::size_t i = begin[r]; i < begin[r + 1]; ++i) {
      const PeerBlock& block = blocks[order[i]];
      if (block.count == 0) {
        continue; // its type need not be one
      }
      const auto known = std::ranges::find(handles, block.type);
      const auto type = static_cast<std::size_t>(known - handles.begin());
      if (known == handles.end()) {
        types_.emplace_back(block.type, "datatype");
        handles.push_back(block.type);
      }
      if (block.address == nullptr && types_[type].contiguous() && types_[type].size() > 0) {
        throw Error(Code::argument, "the address of a block for rank {} is null; expected a buffer", r);
      }
      auto* const address = static_cast<std::byte*>(block.address);
      const Residence residence =
          devices && types_[type].size() > 0 ? residence_of(address + types_[type].true_lower()) : Residence::host;
      if (residence == Residence::device && types_[type].runs().empty()) {
        types_[type].find_runs();
      }
      add({address, block.count, type, residence});
    }
  }
}

void BoundData::add(const Piece& piece) {
  const Datatype& type = types_[piece.type];
  const std::uint64_t bytes = static_cast<std::uint64_t>(piece.count) * type.size();
  if (bytes == 0) {
    return;
  }
  Part& part = parts_.back();
  pieces_.push_back(piece);
  if (part.bytes == 0) {
    part.begin = piece.address;
  }
  pinned_ = pinned_ || piece.residence == Residence::pinned;
  runs_ =
      runs_ && piece.residence != Residence::device && type.contiguous() && piece.address == part.begin + part.bytes;
  lowest_ = bytes_ == 0 ? piece.address : std::min(lowest_, piece.address);
  highest_ = bytes_ == 0 ? piece.address + bytes : std::max(highest_, piece.address + bytes);
  part.bytes += bytes;
  bytes_ += bytes;
}

std::vector<DevicePiece> BoundData::device_pieces(std::byte* packed) const {
  std::vector<DevicePiece> pieces;
  for (const Piece& piece : pieces_) {
    if (piece.residence == Residence::device) {
      add_pieces(types_[piece.type], piece.address, piece.count, packed, pieces);
    }
    packed += static_cast<std::uint64_t>(piece.count) * types_[piece.type].size();
  }
  return pieces;
}

void BoundData::pack(std::byte* packed, MPI_Comm comm) const {
  copy_to_host(device_pieces(packed));
  for (const Piece& piece : pieces_) {
    if (piece.residence != Residence::device) {
      engine::pack(types_[piece.type], piece.address, piece.count, packed, comm);
    }
    packed += static_cast<std::uint64_t>(piece.count) * types_[piece.type].size();
  }
}

void BoundData::unpack(const std::byte* packed, MPI_Comm comm) const {
  copy_to_device(device_pieces(const_cast<std::byte*>(packed))); // only read
  for (const Piece& piece : pieces_) {
    if (piece.residence != Residence::device) {
      engine::unpack(types_[piece.type], packed, piece.count, piece.address, comm);
    }
    packed += static_cast<std::uint64_t>(piece.count) * types_[piece.type].size();
  }
}

void BoundData::unpack_beginnings(std::byte* packed, std::span<const std::uint64_t> bytes, MPI_Comm comm) const {
  bool whole = true;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    whole = whole && bytes[p] == parts_[p].bytes;
  }
  if (!whole) { // an end may lie within an element
    std::vector<std::byte> before(bytes_);
    pack(before.data(), comm);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      std::memcpy(packed + parts_[p].packed + bytes[p], before.data() + parts_[p].packed + bytes[p],
                  parts_[p].bytes - bytes[p]);
    }
  }
  unpack(packed, comm);
}

} // namespace stoker::engine
