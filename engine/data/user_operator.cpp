// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/user_operator.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/named_type.hpp"
#include "engine/data/datatype.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

namespace stoker::engine {
namespace {

constexpr std::int64_t cell_alignment = 16;
constexpr std::uint64_t bytes_at_once = 1U << 14U; // a part and its operands stay in a first-level cache

std::int64_t rounded_up(std::int64_t bytes) { return ((bytes + cell_alignment - 1) / cell_alignment) * cell_alignment; }

} // namespace

UserOperator::UserOperator(MPI_Op op, MPI_Datatype type) : op_(op), type_(type) {
  int commutes = 0;
  if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS) {
    throw Error(Code::argument, "op is not an operator that MPI accepts; expected one of MPI_Op_create");
  }
  commutative_ = commutes != 0;
  lay_out(type);
  scratch_.resize(elements_at_once_ * std::max(element_bytes_, size_));
  if (!is_named(type)) {
    check_mpi(PMPI_Type_dup(type, &type_), "MPI_Type_dup");
    duplicate_ = OwnedType(type_);
  }
}

void UserOperator::lay_out(MPI_Datatype type) {
  const Datatype layout(type, "datatype");
  if (layout.extent() < 0) {
    throw Error(Code::unsupported, "datatype has a negative extent, {} bytes; expected elements in ascending order",
                layout.extent());
  }
  if (layout.size() > INT_MAX) {
    throw Error(Code::unsupported, "datatype has elements of {} bytes; expected less than 2 GiB", layout.size());
  }
  size_ = layout.size();
  extent_ = layout.extent();
  // Elements without data are cells too, of one byte: nothing may be read at the application's addresses.
  cells_ = size_ == 0 || (!layout.contiguous() && !is_named(type));
  const bool inside = layout.true_lower() >= 0 && layout.true_lower() + layout.true_extent() <= extent_;
  if (inside) {
    element_bytes_ = static_cast<std::uint64_t>(std::max<std::int64_t>(1, extent_));
  } else {
    // The data of an element may reach beyond its extent, where those of a neighbour may lie. A cell has room for all
    // of them.
    const std::int64_t remainder = layout.true_lower() % cell_alignment;
    const std::int64_t shift = remainder < 0 ? remainder + cell_alignment : remainder;
    element_bytes_ = static_cast<std::uint64_t>(rounded_up(shift + std::max<std::int64_t>(1, layout.true_extent())));
    origin_ = shift - layout.true_lower();
  }
  const bool as_extent_says = element_bytes_ == static_cast<std::uint64_t>(extent_);
  elements_at_once_ = as_extent_says ? std::max<std::uint64_t>(1, bytes_at_once / element_bytes_) : 1;
}

// Calls part(first element, how many).
template <class Part>
void UserOperator::in_parts(std::uint64_t count, Part part) const {
  for (std::uint64_t first = 0; first < count; first += elements_at_once_) {
    part(first, static_cast<int>(std::min(elements_at_once_, count - first)));
  }
}

// Copies between addresses as MPI is told them; only data are written, no gaps.
void UserOperator::copy(const std::byte* from, std::byte* to, int count) {
  if (size_ == 0) {
    return; // Open MPI does not pack nothing
  }
  const auto bytes = static_cast<int>(static_cast<std::uint64_t>(count) * size_);
  int packed = 0;
  check_mpi(PMPI_Pack(from, count, type_, scratch_.data(), bytes, &packed, MPI_COMM_SELF), "MPI_Pack");
  int unpacked = 0;
  check_mpi(PMPI_Unpack(scratch_.data(), bytes, &unpacked, to, count, type_, MPI_COMM_SELF), "MPI_Unpack");
  if (packed != bytes || unpacked != bytes) {
    throw Error(Code::mpi, "MPI_Pack and MPI_Unpack handled {} and {} bytes, expected {}", packed, unpacked, bytes);
  }
}

void UserOperator::to_cells(const std::byte* buffer, std::uint64_t count, std::byte* cells) {
  in_parts(count, [&](std::uint64_t first, int elements) {
    copy(buffer + (static_cast<std::int64_t>(first) * extent_), cells + (first * element_bytes_) + origin_, elements);
  });
}

void UserOperator::from_cells(const std::byte* cells, std::uint64_t count, std::byte* buffer) {
  in_parts(count, [&](std::uint64_t first, int elements) {
    copy(cells + (first * element_bytes_) + origin_, buffer + (static_cast<std::int64_t>(first) * extent_), elements);
  });
}

void UserOperator::call(const std::byte* in, std::byte* inout, int count) const {
  check_mpi(PMPI_Reduce_local(in + origin_, inout + origin_, count, type_, op_), "MPI_Reduce_local");
}

// MPI_Reduce_local has two operands and replaces the right one.
void UserOperator::combine(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes) {
  in_parts(bytes / element_bytes_, [&](std::uint64_t first, int elements) {
    const std::uint64_t offset = first * element_bytes_;
    const std::uint64_t part = static_cast<std::uint64_t>(elements) * element_bytes_;
    if (target != left) {
      if (target != right) {
        std::memcpy(target + offset, right + offset, part);
      }
      call(left + offset, target + offset, elements);
    } else if (commutative_ && target != right) {
      call(right + offset, target + offset, elements);
    } else {
      std::memcpy(scratch_.data(), right + offset, part);
      call(left + offset, scratch_.data(), elements);
      std::memcpy(target + offset, scratch_.data(), part);
    }
  });
}

} // namespace stoker::engine
