// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/drop_ins.hpp"

#include "api/cli/elf_file.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

// A value of the option mpi, and the folder in which scripts/setup builds for it.
struct Build {
  std::string_view mpi;
  std::string_view folder;
  std::string_view file_name;
};
constexpr std::array<Build, 3> builds{{
    {"mpich", "build", "libstoker-pmpi.so"},
    {"openmpi", "build-openmpi", "libstoker-pmpi.so"},
    {"abi", "build-abi", "libstoker-pmpi_abi.so"},
}};
constexpr const Build& own = *std::ranges::find(builds, std::string_view(STOKER_MPI), &Build::mpi);

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

void add_build_folders(const fs::path& build, std::vector<std::string>& places) {
  places.push_back((build / "api/pmpi" / own.file_name).string());
  for (const Build& other : builds) {
    places.push_back((build.parent_path() / other.folder / "api/pmpi" / other.file_name).string());
  }
}

void add_prefixes(const std::string& prefix, std::vector<std::string>& places) {
  for (const Build& other : builds) {
    for (const fs::path& folder : {fs::path(prefix), fs::path(replaced(prefix, own.mpi, other.mpi))}) {
      places.push_back((folder / STOKER_LIBRARY_FOLDER / other.file_name).string());
    }
  }
  for (const Build& one : builds) {
    places.push_back((fs::path(prefix) / STOKER_LIBRARY_FOLDER / "stoker" / one.mpi / one.file_name).string());
  }
}

} // namespace

std::vector<std::string> places_of_drop_ins() {
  std::vector<std::string> places;
  std::error_code failed;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (folder.filename() == "cli") {
    add_build_folders(folder.parent_path().parent_path(), places);
  } else {
    add_prefixes(folder.parent_path().string(), places);
  }
  if (const char* const searched = std::getenv("LD_LIBRARY_PATH")) {
    std::istringstream folders(searched);
    for (std::string one; std::getline(folders, one, ':');) {
      if (one.empty()) {
        continue;
      }
      for (const Build& build : builds) {
        places.push_back((fs::path(one) / build.file_name).string());
      }
    }
  }
  std::vector<std::string> different;
  for (const std::string& place : places) {
    if (std::find(different.begin(), different.end(), place) == different.end()) {
      different.push_back(place);
    }
  }
  return different;
}

std::vector<DropIn> find_drop_ins() {
  std::vector<DropIn> found;
  for (const std::string& place : places_of_drop_ins()) {
    std::error_code failed;
    if (const auto mpi = fs::is_regular_file(place, failed) ? mpi_library_of(own_loader(), place) : std::nullopt) {
      found.push_back({place, *mpi});
    }
  }
  return found;
}

} // namespace stoker::cli
