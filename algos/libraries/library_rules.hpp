// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms MPICH and Open MPI take, if nobody tunes them: their decision rules as pure functions, with choices
// of the registry in the place of the libraries' own algorithms. A choice sends the same messages as the library's
// algorithm, or `difference` says what else it does.
#pragma once

#include "algos/select/choice.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker::algos {

enum class Library : std::uint8_t { mpich, openmpi };
inline constexpr std::size_t library_count = 2;
inline constexpr std::array<std::string_view, library_count> library_names = {"mpich", "openmpi"};
[[nodiscard]] constexpr std::string_view name_of(Library library) {
  return library_names[static_cast<std::size_t>(library)];
}
// Nothing where there is none of that name.
[[nodiscard]] std::optional<Library> find_library(std::string_view name);

// A call of a collective, as far as the rules look at it.
struct LibraryCall {
  Collective collective = Collective::alltoall;
  // As the registry's problems count them: of the block for each pair in an all-to-all, of the whole vector in
  // allreduce, reduce and bcast, of each rank's block in all others. The mean where blocks have unequal sizes.
  std::uint64_t bytes = 0;
  std::uint64_t element_bytes = 1;
  bool commutative = true; // the operation
};

struct LibraryChoice {
  Choice choice;               // resolved for the layout
  std::string_view algorithm;  // as the library calls it
  std::string_view difference; // what `choice` does otherwise; "" if it sends the same messages
};

// Throws std::invalid_argument for a collective whose rules are not here: scans and neighborhoods.
[[nodiscard]] LibraryChoice library_choice(Library library, const topology::Layout& layout, const LibraryCall& call);

} // namespace stoker::algos
