// SPDX-License-Identifier: BSD-3-Clause
// stoker's global memory: the C++ interface. Move-only handles and typed pointers over stoker_global.h. Each function
// calls the C function of the same name, whose comment holds for semantics, ownership, threads and the memory model.
// Errors are thrown as stoker::Error. A moved-from handle is empty: it may be destroyed or assigned; every other use
// throws.
//
// Elements are trivially copyable. A pointer, reference or array does not own the GlobalMemory, which has to outlive
// it. Without NDEBUG, pointer arithmetic and dereferencing that leave the unit's part of the segment throw.
#pragma once

#include "stoker.hpp"
#include "stoker_global.h"
#include "stoker_global_atomics.hpp"
#include "stoker_global_iterator.hpp"
#include "stoker_global_pointer.hpp"
#include "stoker_global_transfers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace stoker {

// A global memory over an engine's units, owned. Construction and destruction are collective over the engine's
// communicator; destruction ignores errors.
class GlobalMemory {
public:
  // `heap_bytes`: each unit's room for allocate(); equal on all units.
  GlobalMemory(const Engine& engine, std::size_t heap_bytes) {
    detail::check(stoker_global_create(engine.handle(), heap_bytes, handle_.address()));
  }

  // Allocates `count` elements on the calling unit only, cleared to zero. They live until deallocate, or as long as
  // this. Local.
  template <class T>
  [[nodiscard]] GlobalPointer<T> allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw Error(STOKER_ERR_ARGUMENT, "count is " + std::to_string(count) + "; expected as many as fit into memory");
    }
    return {handle_, detail::result_of<stoker_gptr>(stoker_global_allocate, handle_, count * sizeof(T))};
  }
  // Frees memory from allocate, on the unit that allocated it. Local.
  template <class T>
  void deallocate(GlobalPointer<T> pointer) {
    detail::check(stoker_global_deallocate(handle_, pointer.address()));
  }
  // A typed pointer from an address, for example one that another unit has sent. Nothing is checked here.
  template <class T>
  [[nodiscard]] GlobalPointer<T> pointer(stoker_gptr address) const {
    return {handle_, address};
  }

  // Complete the calling unit's transfers from and to one unit, or all units.
  void flush(int unit) { detail::check(stoker_flush(handle_, unit)); }
  void flush_all() { detail::check(stoker_flush_all(handle_)); }
  // What the calling unit has transferred so far.
  [[nodiscard]] stoker_global_statistics statistics() const {
    return detail::sized_result_of<stoker_global_statistics>(stoker_global_get_statistics, handle_);
  }
  // The C handle, which this keeps.
  [[nodiscard]] stoker_global handle() const noexcept { return handle_; }

private:
  detail::Owned<stoker_global, stoker_global_free> handle_;
};

// A team: units that allocate together. Owned. Construction and destruction are collective over the communicator, which
// may be freed after construction.
class Team {
public:
  Team(const GlobalMemory& global, MPI_Comm comm) : global_(global.handle()) {
    detail::check(stoker_team_create(global_, comm, handle_.address()));
  }

  // The number of units; the caller's number among them; and the unit with a given number. Local.
  [[nodiscard]] int size() const { return detail::result_of<int>(stoker_team_size, handle_); }
  [[nodiscard]] int rank() const { return detail::result_of<int>(stoker_team_rank, handle_); }
  [[nodiscard]] int unit(int rank) const { return detail::result_of<int>(stoker_team_unit, handle_, rank); }
  [[nodiscard]] stoker_global global() const noexcept { return global_; }
  [[nodiscard]] stoker_team handle() const noexcept { return handle_; }

private:
  stoker_global global_;
  detail::Owned<stoker_team, stoker_team_free> handle_;
};

// An array of `size` elements over the ranks of a team, in equal blocks (the last ones shorter or empty), cleared to
// zero. Construction and destruction are collective over the team, which must outlive the array.
template <class T>
class GlobalArray {
public:
  GlobalArray(const Team& team, std::size_t size) : global_(team.global()), size_(size) {
    for (int rank = 0; rank < team.size(); ++rank) {
      units_.push_back(team.unit(rank));
    }
    block_ = size / units_.size() + (size % units_.size() != 0 ? 1 : 0);
    if (block_ > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw Error(STOKER_ERR_ARGUMENT, "size is " + std::to_string(size) + "; expected as many as fit into memory");
    }
    const int rank = team.rank();
    const auto begin = detail::result_of<stoker_gptr>(stoker_team_allocate, team.handle(), block_ * sizeof(T));
    const GlobalPointer<T> block(global_, begin);
    mine_ = std::span<T>(block.at_unit(team.unit(rank)).local(block_), size_of(rank));
    segment_ = {team.handle(), Deallocate{begin}}; // last: its release is collective
  }

  // Elements of the whole array, and of a full block.
  [[nodiscard]] std::size_t size() const noexcept { return segment_ ? size_ : 0; }
  [[nodiscard]] std::size_t block_size() const noexcept { return block_; }
  // The number of elements in the block of a rank of the team, and the index of its first element in the whole array.
  [[nodiscard]] std::size_t size_of(int rank) const { return std::min(block_, size_ - first_of(rank)); }
  [[nodiscard]] std::size_t first_of(int rank) const {
    return std::min(size_, static_cast<std::size_t>(rank) * block_);
  }
  // The caller's own block, as ordinary memory; lbegin() and lend() are its ends, as DASH calls them.
  [[nodiscard]] std::span<T> local() const noexcept { return segment_ ? mine_ : std::span<T>(); }
  [[nodiscard]] T* lbegin() const noexcept { return local().data(); }
  [[nodiscard]] T* lend() const noexcept { return local().data() + local().size(); }
  // The whole array, over all units.
  [[nodiscard]] GlobalIterator<T> begin() const { return {*this, 0}; }
  [[nodiscard]] GlobalIterator<T> end() const { return {*this, size()}; }
  // A pointer to element `index` of the block of a rank of the team.
  [[nodiscard]] GlobalPointer<T> pointer(int rank, std::size_t index) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= units_.size() || index > block_) {
      throw Error(STOKER_ERR_ARGUMENT, "rank is " + std::to_string(rank) + " and index " + std::to_string(index) +
                                           "; expected a rank of the team and at most " + std::to_string(block_));
    }
    return {global_,
            {.unit = units_[static_cast<std::size_t>(rank)],
             .segment = segment_.get_deleter().begin.segment,
             .offset = index * sizeof(T)}};
  }
  // A pointer to element `index` of the whole array.
  [[nodiscard]] GlobalPointer<T> pointer(std::size_t index) const {
    if (index >= size()) {
      throw Error(STOKER_ERR_ARGUMENT,
                  "index is " + std::to_string(index) + "; expected less than " + std::to_string(size()));
    }
    return pointer(static_cast<int>(index / block_), index % block_);
  }
  // Element `index` of the whole array: reading it is a get, assigning to it a put.
  [[nodiscard]] GlobalReference<T> operator[](std::size_t index) const { return *pointer(index); }

private:
  struct Deallocate {
    stoker_gptr begin{STOKER_GPTR_NULL_UNIT, 0, 0};
    void operator()(stoker_team team) const noexcept { (void)stoker_team_deallocate(team, begin); }
  };
  std::unique_ptr<std::remove_pointer_t<stoker_team>, Deallocate> segment_; // with the team that frees it
  stoker_global global_;
  std::vector<int> units_; // by rank of the team
  std::size_t size_;
  std::size_t block_ = 0;
  std::span<T> mine_;
};

} // namespace stoker
