// SPDX-License-Identifier: BSD-3-Clause
// The slab decomposition: which wavenumbers and which planes a rank holds, and where they lie in memory.
//
// The velocity is periodic on [0, 2*pi]^3 with n points a side. Products of two fields are dealiased by the 2/3 rule,
// so only the wavenumbers |k| <= kmax = (n - 1) / 3 are kept, transformed and sent.
//
//   spectral slab   all kz, `rows` of the ky, kx = 0..kmax      [z][row][kx]
//   physical slab   `planes` of the z, all y, all x             [plane][y][x]
//
// A transpose turns one into the other. It may be cut into chunks of planes, each an all-to-all of its own. Ranks take
// their planes chunk by chunk: chunk 0 of rank 0, chunk 0 of rank 1, ..., chunk 1 of rank 0, ... In that order the
// block of every rank and chunk is contiguous on both sides, so that nothing is packed for MPI.
#pragma once

#include <cstddef>

namespace taylor_green {

struct Range {
  int begin;
  int end;
  [[nodiscard]] int size() const { return end - begin; }
};

struct Grid {
  int n;      // points a side
  int ranks;  // n % ranks == 0
  int rank;   // this one
  int chunks; // 1 <= chunks <= planes()

  [[nodiscard]] int kmax() const { return (n - 1) / 3; }
  [[nodiscard]] int columns() const { return kmax() + 1; }                       // kx stored
  [[nodiscard]] int rows_in_use() const { return 2 * kmax() + 1; }               // ky kept, over all ranks
  [[nodiscard]] int rows() const { return (rows_in_use() + ranks - 1) / ranks; } // ky stored by each rank
  [[nodiscard]] int planes() const { return n / ranks; }

  // Rows are the kept ky in the order of the transform: 0..kmax, -kmax..-1. The last rank's may be padding, all zero.
  [[nodiscard]] bool row_in_use(int owner, int row) const { return owner * rows() + row < rows_in_use(); }
  [[nodiscard]] int ky(int owner, int row) const {
    const int global = owner * rows() + row;
    return global <= kmax() ? global : global - rows_in_use();
  }
  [[nodiscard]] int kz(int z) const { return z <= n / 2 ? z : z - n; }
  // Where a wavenumber of either sign lies in a transform of length n.
  [[nodiscard]] int position(int wavenumber) const { return wavenumber >= 0 ? wavenumber : wavenumber + n; }

  [[nodiscard]] Range chunk(int c) const { return {planes() * c / chunks, planes() * (c + 1) / chunks}; }
  // The z index of this rank's plane `plane`, which belongs to chunk c.
  [[nodiscard]] int z_of(int c, int plane) const {
    const Range r = chunk(c);
    return ranks * r.begin + rank * r.size() + plane - r.begin;
  }

  // Real values in a plane of the physical slab.
  [[nodiscard]] std::size_t points() const { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }
  // Complex values in one z of the spectral slab, in the whole slab, and before and in each block of chunk c.
  [[nodiscard]] std::size_t layer() const {
    return static_cast<std::size_t>(rows()) * static_cast<std::size_t>(columns());
  }
  [[nodiscard]] std::size_t slab() const { return static_cast<std::size_t>(n) * layer(); }
  [[nodiscard]] std::size_t chunk_offset(int c) const {
    return static_cast<std::size_t>(ranks * chunk(c).begin) * layer();
  }
  [[nodiscard]] std::size_t block(int c) const { return static_cast<std::size_t>(chunk(c).size()) * layer(); }
};

} // namespace taylor_green
