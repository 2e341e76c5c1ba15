// SPDX-License-Identifier: BSD-3-Clause
#include "tiles.hpp"

namespace taylor_green {

Tiles::Tiles(const Grid& grid, int components, Exchange& exchange)
    : grid_(grid), components_(components), exchange_(exchange) {
  const std::size_t all = static_cast<std::size_t>(components) * product(grid.n, grid.rows() * grid.columns());
  send_ = exchange.allocate(all);
  received_ = exchange.allocate(all);
  std::size_t offset = 0;
  for (int p = 0; p < grid.chunks; ++p) {
    for (int q = 0; q < grid.chunks; ++q) {
      const std::size_t size = static_cast<std::size_t>(grid.ranks) * tile_block(grid, components, p, q);
      offsets_.push_back(offset);
      numbers_.push_back(exchange.add(send_.subspan(offset, size), received_.subspan(offset, size)));
      offset += size;
    }
  }
}

std::size_t Tiles::line(int rank, int component, int plane_chunk, int plane, int row_chunk, int row) const {
  const Range planes = grid_.planes_of(plane_chunk);
  const Range rows = grid_.rows_of(row_chunk);
  const int block = rank * components_ + component;
  const int index = (block * planes.size() + plane - planes.begin) * rows.size() + row - rows.begin;
  return offsets_[tile(plane_chunk, row_chunk)] + product(index, grid_.columns());
}

void Tiles::start_rows(int chunk) {
  for (int p = 0; p < grid_.chunks; ++p) {
    exchange_.start(numbers_[tile(p, chunk)]);
  }
}

void Tiles::start_planes(int chunk) {
  for (int q = 0; q < grid_.chunks; ++q) {
    exchange_.start(numbers_[tile(chunk, q)]);
  }
}

void Tiles::wait_for_rows(int chunk) {
  for (int p = 0; p < grid_.chunks; ++p) {
    exchange_.wait(numbers_[tile(p, chunk)]);
  }
}

void Tiles::wait_for_planes(int chunk) {
  for (int q = 0; q < grid_.chunks; ++q) {
    exchange_.wait(numbers_[tile(chunk, q)]);
  }
}

} // namespace taylor_green
