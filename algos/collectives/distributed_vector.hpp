// SPDX-License-Identifier: BSD-3-Clause
// The problem that every collective but the all-to-alls poses, seen from one rank: a vector of elements that consists
// of blocks, of which each rank has some before, and some afterwards, combined or not.
//
//   collective                  blocks        send buffer                   recv buffer
//   allreduce, scan, exscan     the vector    operand                       result; in place: operand before
//   reduce                      the vector    operand                       root only, as allreduce
//   reduce_scatter(_block)      one per rank  all blocks, one behind the    this rank's block, at 0; in place: all
//                                             other                         blocks before, one behind the other
//   bcast                       the vector    root only                     all but the root
//   allgather(v)                one per rank  this rank's block, at 0       all blocks, at `offsets`; in place: this
//                                                                           rank's lies there before
//   gather(v)                   one per rank  this rank's block, at 0       root only, as allgather
//   scatter(v)                  one per rank  root only: all blocks, at     this rank's block, at 0; in place, on the
//                                             `offsets`                     root: not written
//   barrier                     none
#pragma once

#include "algos/schedule/schedule.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <vector>

namespace stoker::algos {

struct DistributedVector {
  const topology::Layout& layout;
  int rank = 0;
  int root = 0;                            // of reduce, bcast, gather and scatter
  std::uint64_t element_bytes = 1;         // nothing is cut within an element
  std::vector<std::uint64_t> sizes = {};   // in bytes, of each block; equal on all ranks
  std::vector<std::uint64_t> offsets = {}; // byte offset of each block in this rank's buffer that holds all of them
  // Byte offset of this rank's block in each rank's receive buffer, where all blocks are; for algorithms that put.
  std::vector<std::uint64_t> put_offsets = {};
  bool in_place = false;   // of this rank; of reduce, gather and scatter at the root only
  bool commutative = true; // the operation
};

} // namespace stoker::algos
