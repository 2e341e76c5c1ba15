// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/memory_limits.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// What a file of the kernel's has; nothing where there is none. Allocations come here: a program's malloc may
// hold the lock of a stream, or be cancelled, and so neither streams of the C library nor functions that are
// cancellation points are used.
std::istringstream contents_of(const fs::path& path) {
  std::string all;
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> part{};
  for (long got = 1; file >= 0 && got > 0;) {
    got = syscall(SYS_read, file, part.data(), part.size());
    all.append(part.data(), static_cast<std::size_t>(std::max(got, 0L)));
  }
  if (file >= 0) {
    syscall(SYS_close, file);
  }
  return std::istringstream(std::move(all));
}

// The number in a file, or the one behind `key` at the beginning of a line; `missing` if there is none.
std::uint64_t number_in(const fs::path& path, std::string_view key, std::uint64_t missing) {
  std::istringstream file = contents_of(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    std::uint64_t value = 0;
    if ((key.empty() || (words >> first && first == key)) && words >> value) {
      return value;
    }
  }
  return missing;
}

// The files of a version of control groups.
struct Version {
  std::string_view mount;
  std::string_view limit;
  std::string_view usage;
  std::array<std::string_view, 2> caches; // in memory.stat: what the kernel gives back before it kills
};
constexpr Version v1{
    "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
constexpr Version v2{"", "memory.max", "memory.current", {"inactive_file", "active_file"}};
constexpr Version v2_beside_v1{"unified", v2.limit, v2.usage, v2.caches};

// Calls visit(limit, usage) for the group and those above it that have a limit. In a container the path may be one of
// the host's, of which the last groups only are to be seen.
template <class Visit>
void for_each_limit(const fs::path& mount, fs::path group, const Version& version, Visit&& visit) {
  for (bool top = false; !top; group = group.parent_path()) {
    top = group == group.parent_path();
    const fs::path folder = mount / group.relative_path();
    const std::uint64_t limit = number_in(folder / version.limit, "", unlimited);
    if (limit == unlimited) {
      continue;
    }
    const std::uint64_t usage = number_in(folder / version.usage, "", 0);
    std::uint64_t cached = 0;
    for (const std::string_view key : version.caches) {
      cached += number_in(folder / "memory.stat", key, 0);
    }
    visit(limit, usage - std::min(usage, cached));
  }
}

template <class Visit>
void for_each_limit(const fs::path& root, Visit&& visit) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::istringstream file = contents_of(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) { // number:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = fs::path(line.substr(second + 1)).lexically_normal();
    if (controllers == ",,") {
      for (const Version& version : {v2, v2_beside_v1}) {
        for_each_limit(mounts / version.mount, group, version, visit);
      }
    } else if (controllers.find(",memory,") != std::string::npos) {
      for_each_limit(mounts / v1.mount, group, v1, visit);
    }
  }
}

} // namespace

std::uint64_t memory_limit(const fs::path& root) {
  std::uint64_t least =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for_each_limit(root, [&](std::uint64_t limit, std::uint64_t) { least = std::min(least, limit); });
  return least;
}

std::uint64_t available_memory(const fs::path& root) {
  const std::uint64_t kibibytes = number_in(root / "proc/meminfo", "MemAvailable:", unlimited);
  std::uint64_t least = kibibytes == unlimited ? unlimited : kibibytes * 1024;
  for_each_limit(
      root, [&](std::uint64_t limit, std::uint64_t usage) { least = std::min(least, limit - std::min(limit, usage)); });
  return least;
}

} // namespace stoker::engine
