// SPDX-License-Identifier: BSD-3-Clause
// What MPI libraries are known to do wrong and what stoker does instead, in one table; and which versions it was tested
// with. docs/mpi-libraries.md is written from here.
#pragma once

#include "engine/base/mpi_identity.hpp"

#include <optional>
#include <span>

namespace stoker::engine {

// Defects that code asks for.
enum class MpiDefect : std::uint8_t {
  persistent_allgather,
  persistent_gather,
  persistent_completion,
  persistent_datatypes,
  wrong_calls,
  dynamic_windows,
};

struct MpiDefectRow {
  std::optional<MpiDefect> defect; // empty: the work-round costs nothing, or finds out by itself, and is always on
  MpiFamily family;
  MpiVersion mended_in; // the first version that was seen without it; 0.0.0: none was
  std::string_view what;
  std::string_view instead; // what stoker does
  std::string_view seen_by; // the test that fails without the work-round where the defect is
};
[[nodiscard]] std::span<const MpiDefectRow> mpi_defects();

// A library that does not tell the version of its base has all defects of its family.
[[nodiscard]] bool has_defect(const MpiIdentity& library, MpiDefect defect);
// Whether the library that runs has it.
[[nodiscard]] bool mpi_has(MpiDefect defect);

struct TestedMpi {
  std::string_view name; // as in MpiIdentity
  MpiVersion version;
};
// In the order of their versions.
[[nodiscard]] std::span<const TestedMpi> tested_mpi_libraries();
// A sentence about a library that is older or newer than all that stoker was tested with, or another one; else empty.
[[nodiscard]] std::string untested(const MpiIdentity& library);

} // namespace stoker::engine
