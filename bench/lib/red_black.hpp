// SPDX-License-Identifier: BSD-3-Clause
// Red-black Gauss-Seidel for Laplace's equation on a square of side x side points, by rows. Points of one colour depend
// on points of the other only, so that the result does not depend, in any bit, on the order in which rows are visited
// or on who has them.
#pragma once

#include <cstddef>

namespace stoker::bench {

// Rows are side + 2 numbers long: a point of the boundary at either end.
constexpr std::size_t row_length(std::size_t side) { return side + 2; }

// Updates the points of one colour (0 or 1) in row `row` of the whole grid, counted from 0, between the rows above and
// below. Returns the largest change.
float relax_row(const float* above, float* own, const float* below, std::size_t side, std::size_t row, unsigned colour);

} // namespace stoker::bench
