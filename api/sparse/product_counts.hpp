// SPDX-License-Identifier: BSD-3-Clause
// How much each rank sends to each other in the product of a sparse matrix and a vector. Rows, and the vector's
// elements, are dealt to ranks in contiguous blocks; rank r needs the element of each column in which one of its rows
// has an entry, from the rank that has it.
#pragma once

#include "api/sparse/matrix_market.hpp"

#include <vector>

namespace matrix_market {

// [source][destination]: elements, each counted once however many rows need it; 0 on the diagonal.
using CountMatrix = std::vector<std::vector<int>>;

CountMatrix product_counts(const Coordinates& matrix, int ranks);

} // namespace matrix_market
