// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/drop_ins.hpp"

#include "api/cli/elf_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view file_name = "libstoker-pmpi.so";
constexpr std::string_view own_mpi = STOKER_MPI; // mpich, openmpi
constexpr std::string_view other_mpi = own_mpi == "mpich" ? "openmpi" : "mpich";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

void add_build_folders(const fs::path& build, std::vector<std::string>& places) {
  for (const fs::path& folder : {build, build.parent_path() / "build", build.parent_path() / "build-openmpi"}) {
    places.push_back((folder / "api/pmpi" / file_name).string());
  }
}

void add_prefixes(const std::string& prefix, std::vector<std::string>& places) {
  for (const std::string& folder : {prefix, replaced(prefix, own_mpi, other_mpi)}) {
    places.push_back((fs::path(folder) / STOKER_LIBRARY_FOLDER / file_name).string());
  }
  for (const std::string_view mpi : {own_mpi, other_mpi}) {
    places.push_back((fs::path(prefix) / STOKER_LIBRARY_FOLDER / "stoker" / mpi / file_name).string());
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
      if (!one.empty()) {
        places.push_back((fs::path(one) / file_name).string());
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
