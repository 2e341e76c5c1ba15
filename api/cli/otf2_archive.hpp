// SPDX-License-Identifier: BSD-3-Clause
// Traces as an archive in the format OTF2, which Vampir and other tools read.
#pragma once

#include "api/cli/trace_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stoker::cli {

struct ArchiveContents {
  std::string anchor; // the file that tools open
  std::uint64_t processes = 0;
  std::uint64_t locations = 0;
  std::uint64_t events = 0;
};

// One archive of all, in a folder that it makes. Throws std::runtime_error if it cannot make that, or was built without
// the library of OTF2. If the library fails the process ends with a message, and without the folder.
ArchiveContents write_otf2(const std::vector<TraceFile>& files, std::string folder);

} // namespace stoker::cli
