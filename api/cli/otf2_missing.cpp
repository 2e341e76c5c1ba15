// SPDX-License-Identifier: BSD-3-Clause
// In the place of otf2_archive.cpp where there is no library of OTF2.
#include "api/cli/otf2_archive.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace stoker::cli {

ArchiveContents write_otf2(const std::vector<TraceFile>& /*files*/, std::string folder) {
  throw std::runtime_error(fmt::format("--otf2 {}: this stoker was built without the library of OTF2; expected it when "
                                       "stoker is built (Debian: libotf2-trace-dev; Meson: -Dotf2=enabled)",
                                       folder));
}

} // namespace stoker::cli
