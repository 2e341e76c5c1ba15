// SPDX-License-Identifier: BSD-3-Clause
// The transposes of one direction, cut into tiles.
#pragma once

#include "grid.hpp"

#include "examples/transposes/exchange.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace taylor_green {

using namespace transposes;

// Complex values in a block of a tile.
inline std::size_t tile_block(const Grid& grid, int components, int plane_chunk, int row_chunk) {
  return static_cast<std::size_t>(components) *
         product(grid.planes_of(plane_chunk).size(), grid.rows_of(row_chunk).size() * grid.columns());
}

class Tiles {
public:
  // Collective. The exchange must outlive the tiles, which describe their all-to-alls to it.
  Tiles(const Grid& grid, int components, Exchange& exchange);

  // The kx of row `row` in plane `plane`, of the other rank that has the one or the other.
  [[nodiscard]] Complex* to_send(int rank, int component, int plane_chunk, int plane, int row_chunk, int row) const {
    return &send_[line(rank, component, plane_chunk, plane, row_chunk, row)];
  }
  [[nodiscard]] const Complex* received(int rank, int component, int plane_chunk, int plane, int row_chunk,
                                        int row) const {
    return &received_[line(rank, component, plane_chunk, plane, row_chunk, row)];
  }

  // All tiles of a chunk.
  void start_rows(int chunk);
  void start_planes(int chunk);
  void wait_for_rows(int chunk);
  void wait_for_planes(int chunk);

private:
  [[nodiscard]] std::size_t tile(int plane_chunk, int row_chunk) const {
    return product(plane_chunk, grid_.chunks) + static_cast<std::size_t>(row_chunk);
  }
  [[nodiscard]] std::size_t line(int rank, int component, int plane_chunk, int plane, int row_chunk, int row) const;

  Grid grid_;
  int components_;
  Exchange& exchange_;
  std::span<Complex> send_;
  std::span<Complex> received_;
  std::vector<std::size_t> offsets_; // of the tiles
  std::vector<std::size_t> numbers_; // of their all-to-alls
};

} // namespace taylor_green
