// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/mpi_identity.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace stoker::engine {
namespace {

struct Maker {
  std::string_view name;
  MpiFamily family;
  std::string_view before_version; // what it says before its version
  std::string_view before_base;    // and before that of its base; empty: it does not tell
};
// No row's words occur in what the library of another row says.
constexpr std::array<Maker, 6> makers{{
    {"MPICH", MpiFamily::mpich, "MPICH Version:", "MPICH Version:"},
    {"Open MPI", MpiFamily::open_mpi, "Open MPI v", "Open MPI v"},
    {"Intel MPI", MpiFamily::mpich, "Intel(R) MPI Library", ""},
    {"MVAPICH", MpiFamily::mpich, "MVAPICH Version", ""},
    {"MVAPICH2", MpiFamily::mpich, "MVAPICH2 Version", ""},
    {"Cray MPICH", MpiFamily::mpich, "CRAY MPICH version", "ANL base"},
}};

struct FileName {
  std::string_view begin;
  std::string_view abi;
};
// The first row that fits counts.
constexpr std::array<FileName, 4> file_names{{
    {"libmpi_abi.so", "the standard ABI"},
    {"libmpich.so", "MPICH"},  // as Debian names it
    {"libmpi.so.12", "MPICH"}, // as MPICH names itself
    {"libmpi.so.", "Open MPI"},
}};

// What follows `key`, as far as the end of the line. Blanks and a colon before it are left out. Empty: no such key.
std::string_view after(std::string_view said, std::string_view key) {
  const auto at = key.empty() ? std::string_view::npos : said.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = said.substr(at + key.size());
  const auto begin = rest.find_first_not_of(" \t:");
  return begin == std::string_view::npos ? "" : rest.substr(begin, rest.find('\n', begin) - begin);
}

MpiVersion version_from(std::string_view text) {
  MpiVersion version;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int* const number : {&version.major, &version.minor, &version.patch}) {
    const auto [next, error] = std::from_chars(at, end, *number);
    if (error != std::errc() || next == end || *next != '.') {
      break;
    }
    at = next + 1;
  }
  return version;
}

} // namespace

std::string text_of(const MpiVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

MpiIdentity mpi_identity_from(const std::string& said) {
  for (const Maker& maker : makers) {
    const std::string_view version = after(said, maker.before_version);
    if (version.empty()) {
      continue;
    }
    const std::string_view device = after(said, "MPICH Device");
    return {.name = std::string(maker.name),
            .version = version_from(version),
            .family = maker.family,
            .base = version_from(after(said, maker.before_base)),
            .text = fmt::format("{} {}{}", maker.name, version.substr(0, version.find_first_of(", ")),
                                device.empty() ? "" : fmt::format(" ({})", device))};
  }
  MpiIdentity other;
  other.text = said.substr(0, said.find('\n'));
  return other;
}

const MpiIdentity& mpi_identity() {
  static const MpiIdentity identity = [] {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> said{};
    int length = 0;
    PMPI_Get_library_version(said.data(), &length);
    return mpi_identity_from(said.data());
  }();
  return identity;
}

std::string_view mpi_abi_of(std::string_view file) {
  const auto* const row =
      std::ranges::find_if(file_names, [file](const FileName& name) { return file.starts_with(name.begin); });
  return row == file_names.end() ? std::string_view() : row->abi;
}

std::string_view own_mpi_abi() {
#if defined(MPICH_VERSION)
  return "MPICH";
#elif defined(OPEN_MPI)
  return "Open MPI";
#else
  return "the standard ABI";
#endif
}

} // namespace stoker::engine
