// SPDX-License-Identifier: BSD-3-Clause
// The slab decomposition: which wavenumbers and which planes a rank holds, and where they lie in memory.
//
// The velocity is periodic on [0, 2*pi]^3 with n points a side. Products of two fields are dealiased by the 2/3 rule,
// so only the wavenumbers |k| <= kmax = (n - 1) / 3 are kept, transformed and sent.
//
//   spectral slab   `rows` of the ky, all kz, kx = 0..kmax      [row][kz][kx]
//   physical slab   `planes` of the z, all y, all x             [plane][y][x]
//
// A transpose turns one into the other. Both slabs may be cut into chunks, of rows and of planes. What lies in one
// chunk of either is a tile of the transpose, an all-to-all of its own, of all components together:
//
//   tile            [rank of the other side][component][plane][row][kx]
//
// Ranks take their planes chunk by chunk: chunk 0 of rank 0, chunk 0 of rank 1, ..., chunk 1 of rank 0, ...
#pragma once

#include <cstddef>

namespace taylor_green {

// As an index, or as a count of values.
inline std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

struct Range {
  int begin;
  int end;
  [[nodiscard]] int size() const { return end - begin; }
};

struct Grid {
  int n;      // points a side
  int ranks;  // n % ranks == 0
  int rank;   // this one
  int chunks; // of the rows and of the planes, 1 <= chunks <= rows()

  [[nodiscard]] int kmax() const { return (n - 1) / 3; }
  [[nodiscard]] int columns() const { return kmax() + 1; }                       // kx stored
  [[nodiscard]] int rows_in_use() const { return 2 * kmax() + 1; }               // ky kept, over all ranks
  [[nodiscard]] int rows() const { return (rows_in_use() + ranks - 1) / ranks; } // ky stored by each rank
  [[nodiscard]] int planes() const { return n / ranks; }                         // at least as many

  // Rows are the kept ky in the order of the transform: 0..kmax, -kmax..-1. The last rank's may be padding, all zero.
  [[nodiscard]] bool row_in_use(int owner, int row) const { return owner * rows() + row < rows_in_use(); }
  [[nodiscard]] int ky(int owner, int row) const {
    const int global = owner * rows() + row;
    return global <= kmax() ? global : global - rows_in_use();
  }
  [[nodiscard]] int kz(int z) const { return z <= n / 2 ? z : z - n; }
  // Where a wavenumber of either sign lies in a transform of length n.
  [[nodiscard]] int position(int wavenumber) const { return wavenumber >= 0 ? wavenumber : wavenumber + n; }

  [[nodiscard]] Range rows_of(int chunk) const { return {rows() * chunk / chunks, rows() * (chunk + 1) / chunks}; }
  [[nodiscard]] Range planes_of(int chunk) const {
    return {planes() * chunk / chunks, planes() * (chunk + 1) / chunks};
  }
  // The z index of an owner's plane `plane`, which belongs to a chunk.
  [[nodiscard]] int z_of(int owner, int chunk, int plane) const {
    const Range r = planes_of(chunk);
    return ranks * r.begin + owner * r.size() + plane - r.begin;
  }

  // Real values in a plane of the physical slab.
  [[nodiscard]] std::size_t points() const { return product(n, n); }
  // Complex values in a row of the spectral slab, and in the whole slab.
  [[nodiscard]] std::size_t panel() const { return product(n, columns()); }
  [[nodiscard]] std::size_t slab() const { return static_cast<std::size_t>(rows()) * panel(); }
};

} // namespace taylor_green
