// SPDX-License-Identifier: BSD-3-Clause
// `stoker trace`: traces in a form that other tools read. Needs no MPI.
#include "api/cli/commands.hpp"
#include "api/cli/otf2_archive.hpp"
#include "api/cli/trace_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <vector>

namespace stoker::cli {

int trace(const TraceOptions& options) {
  if (std::filesystem::exists(std::filesystem::symlink_status(options.otf2))) {
    throw std::invalid_argument(
        fmt::format("--otf2 {}: is there already; expected the name of a folder to be made", options.otf2));
  }
  std::vector<TraceFile> files;
  for (const std::string& path : options.files) {
    files.push_back(read_trace(path));
  }
  const ArchiveContents written = write_otf2(files, options.otf2);
  fmt::print("{}: {} processes, {} locations, {} events\n", written.anchor, written.processes, written.locations,
             written.events);
  return 0;
}

} // namespace stoker::cli
