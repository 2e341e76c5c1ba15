// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/mpi_library_name.hpp"

#include <mpi.h>

#include <array>

namespace stoker::engine {
namespace {

// The rest of the line that begins with `key`, without leading blanks.
std::string value_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  if (at == std::string::npos) {
    return {};
  }
  const auto begin = text.find_first_not_of(" \t", at + key.size());
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

} // namespace

std::string mpi_library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> buffer{};
  int length = 0;
  PMPI_Get_library_version(buffer.data(), &length);
  const std::string text(buffer.data());
  if (text.starts_with("MPICH")) {
    const std::string device = value_after(text, "MPICH Device:");
    return "MPICH " + value_after(text, "MPICH Version:") + (device.empty() ? "" : " (" + device + ")");
  }
  if (text.starts_with("Open MPI v")) {
    return "Open MPI " + text.substr(10, text.find_first_of(", ", 10) - 10);
  }
  return text.substr(0, text.find('\n'));
}

} // namespace stoker::engine
