// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stoker::engine {

// Collective. At rank 0 the texts of all ranks, in their order; nothing elsewhere. One text is less than 2 GiB;
// all of them together may be more: they come in rounds of `most_at_once` bytes, or of one text.
[[nodiscard]] std::vector<std::string> gathered_texts(const std::string& mine, MPI_Comm comm,
                                                      std::int64_t most_at_once = std::int64_t{1} << 28);

} // namespace stoker::engine
