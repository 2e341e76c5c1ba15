// SPDX-License-Identifier: BSD-3-Clause
// What the parts of programs in docs/global-memory.md take for granted.
#include <stoker/stoker_global.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

extern stoker::Engine engine;
extern stoker::Team team;
extern std::size_t heap_bytes, bins, bin, cells;
extern std::ptrdiff_t border, first;
extern int right;
extern std::vector<std::int64_t> neighbours;
extern std::vector<double> values, ghost;
void compute(std::span<std::int64_t> block);
