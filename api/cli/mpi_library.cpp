// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/mpi_library.hpp"

#include "api/cli/child_output.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>

namespace stoker::cli {
namespace {

struct Name {
  std::string_view begin; // of the soname
  std::string_view implementation;
};
// The first row that fits counts.
constexpr std::array<Name, 3> names{{
    {"libmpich.so", "MPICH"},  // as Debian names it
    {"libmpi.so.12", "MPICH"}, // as MPICH names itself, and libraries with its binary interface: Intel MPI, MVAPICH2
    {"libmpi.so.", "Open MPI"},
}};

std::string implementation_of(std::string_view soname) {
  for (const Name& name : names) {
    if (soname.starts_with(name.begin)) {
      return std::string(name.implementation);
    }
  }
  return "";
}

} // namespace

std::string text_of(const MpiLibrary& library) {
  return fmt::format("{} => {} ({})", library.soname, library.path.empty() ? "not found" : library.path,
                     library.implementation);
}

std::optional<MpiLibrary> mpi_library_of(const std::string& loader, const std::string& file) {
  std::istringstream lines(output_of({loader, "--list", file}));
  // "	libmpich.so.12 => /usr/lib/libmpich.so.12 (0x00007f2823841000)", or "=> not found".
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string soname;
    std::string arrow;
    std::string path;
    words >> soname >> arrow >> path;
    const std::string implementation = implementation_of(soname);
    if (arrow == "=>" && !implementation.empty()) {
      return MpiLibrary{implementation, soname, path.starts_with('/') ? path : ""};
    }
  }
  return std::nullopt;
}

} // namespace stoker::cli
