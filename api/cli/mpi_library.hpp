// SPDX-License-Identifier: BSD-3-Clause
// Which MPI library a program or a shared library loads.
#pragma once

#include <optional>
#include <string>

namespace stoker::cli {

struct MpiLibrary {
  std::string abi;    // whose programs and libraries go with it: engine::mpi_abi_of
  std::string soname; // by which it is asked for
  std::string path;   // where the loader finds it; empty: nowhere
};

// "libmpich.so.12 => /usr/lib/libmpich.so.12 (MPICH)".
[[nodiscard]] std::string text_of(const MpiLibrary& library);

// The MPI library that comes first among those which `loader` would load with `file`. The loader is asked, as ldd asks
// it: it alone knows how RPATH, RUNPATH, LD_LIBRARY_PATH, its cache and its default folders go together on this system,
// and it runs nothing of the file's.
[[nodiscard]] std::optional<MpiLibrary> mpi_library_of(const std::string& loader, const std::string& file);

} // namespace stoker::cli
