// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/mpi_library.hpp"

#include "api/cli/child_output.hpp"
#include "engine/base/mpi_identity.hpp"

#include <fmt/format.h>

#include <sstream>

namespace stoker::cli {

std::string text_of(const MpiLibrary& library) {
  return fmt::format("{} => {} ({})", library.soname, library.path.empty() ? "not found" : library.path, library.abi);
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
    const std::string abi(engine::mpi_abi_of(soname));
    if (arrow == "=>" && !abi.empty()) {
      return MpiLibrary{abi, soname, path.starts_with('/') ? path : ""};
    }
  }
  return std::nullopt;
}

} // namespace stoker::cli
