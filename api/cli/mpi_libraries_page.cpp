// SPDX-License-Identifier: BSD-3-Clause
// The page of the documentation about MPI libraries.
#include "api/cli/mpi_libraries_page.hpp"

#include "engine/base/mpi_defects.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace stoker::cli {
namespace {

constexpr std::string_view head =
    R"(<!-- Written by `stoker info --mpi-libraries-markdown` from engine/base/mpi_defects.cpp; a test compares the two. -->
# MPI libraries

stoker is tested with

)";

constexpr std::string_view about_others = R"(
The first version of each is Debian 12's, which `scripts/test` takes, with gcc 12; the second Debian 13's, which
`scripts/test --on debian-13` takes, with gcc 14 ([CONTRIBUTING.md](../CONTRIBUTING.md#other-releases-of-debian)).
`scripts/test-here` runs the same tests with the libraries that a machine has. Programs of MPI-5's standard ABI were tested with
MPICH 5.0.2 and Open MPI 6.0.0rc2 ([their defects](drop-in.md#programs-of-the-standard-abi)).

`stoker info`, `stoker doctor` and the drop-in library's summary say in one line if the library that runs is older or newer than
these, or another one. Intel MPI, MVAPICH, MVAPICH2 and Cray MPICH are known by name and version. They are made from MPICH's
sources. stoker takes them to have the defects of the version of MPICH that they tell, as Cray MPICH does; the others do not
tell it, and are taken to have all of MPICH's.

## Defects, and what stoker does instead

What stoker does depends on the version of the library that is *loaded*, not of the one that stoker was built with. *Always*
means that it does so with every library, since it costs nothing. The test is one that meets the defect; to see whether a new
version still has it, take out the row, or what the test says that it leaves out, and run that test. A version stands in the table
once the defect was seen to be gone there. *All so far* means that no version was seen without it; whether newer ones still have
those of the rows with *always* was not looked into.

| library | versions | defect | what stoker does | when | test |
|---|---|---|---|---|---|
)";

std::string_view name_of(engine::MpiFamily family) { return family == engine::MpiFamily::mpich ? "MPICH" : "Open MPI"; }

std::string versions(const engine::MpiDefectRow& row) {
  return row.mended_in == engine::MpiVersion() ? "all so far" : "before " + text_of(row.mended_in);
}

} // namespace

void print_mpi_libraries_page() {
  fmt::print("{}", head);
  for (const engine::TestedMpi& tested : engine::tested_mpi_libraries()) {
    fmt::print("- {} {}\n", tested.name, text_of(tested.version));
  }
  fmt::print("{}", about_others);
  for (const engine::MpiDefectRow& row : engine::mpi_defects()) {
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", name_of(row.family), versions(row), row.what, row.instead,
               row.defect ? "these versions" : "always", row.seen_by);
  }
}

} // namespace stoker::cli
