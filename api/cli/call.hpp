// SPDX-License-Identifier: BSD-3-Clause
// What is simulated: a call of a collective, and the programs of all its ranks. Blocks and vectors have no gaps.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/simulate/simulate.hpp"
#include "api/sparse/product_counts.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stoker::cli {

// The length of the elements of a vector, or of blocks, of so many bytes. Nothing is cut within an element.
[[nodiscard]] constexpr std::uint64_t element_bytes(std::uint64_t bytes) { return bytes % 8 == 0 ? 8 : 1; }

// Without a grid and a matrix all ranks send the same to all, or share a vector.
struct Call {
  algos::Collective collective = algos::Collective::alltoall;
  topology::Layout layout;
  int root = 0;
  std::vector<int> grid = {}; // of ranks, periodic: each sends a block to either neighbor in each dimension
  // A rank sends the elements of a vector that the product with this matrix needs: so many to each.
  std::string matrix_name = {};
  std::shared_ptr<const matrix_market::Coordinates> matrix = nullptr;
  matrix_market::CountMatrix counts = {};

  [[nodiscard]] std::string title() const; // "neighbor_alltoall on a grid of 8x4"
  // The mean length of a block for each pair of ranks, given that of an element of the matrix's vector: MPI libraries'
  // rules and init take it. Without a matrix it is the same number.
  [[nodiscard]] std::uint64_t mean_bytes(std::uint64_t bytes) const;
  // The same call on another layout; of a grid there is none.
  [[nodiscard]] Call on(const topology::Layout& other) const;
};

// "8x4". Throws std::invalid_argument.
[[nodiscard]] std::vector<int> grid_of(const std::string& text);
// Gives the call its grid or its matrix, of which one is there unless the texts are empty. Throws std::invalid_argument
// where it does not fit the collective or the number of ranks, and matrix_market::InputError for the file.
void set_pattern(Call& call, const std::string& grid, const std::string& matrix_file);

// `bytes`: of each block, of the vector, or of each element of a matrix's vector. The call outlives the result.
[[nodiscard]] algos::ProgramOf programs_of(const algos::Choice& choice, const Call& call, std::uint64_t bytes);
// Bytes of memory that it takes to simulate them, which so many threads compile.
[[nodiscard]] std::uint64_t memory_to_simulate(const algos::Choice& choice, const Call& call, std::uint64_t bytes,
                                               int compilers = 1);

} // namespace stoker::cli
