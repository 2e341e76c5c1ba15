// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/call_path.hpp"

#include "api/pmpi/debug_information.hpp"
#include "api/pmpi/settings.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace stoker::pmpi {
namespace {

// How the files of libraries begin whose frames are not the application's: this one, MPI libraries with their bindings
// of Fortran and C++, and the C library, which calls main.
constexpr std::array<std::string_view, 13> libraries{
    "libstoker-pmpi.", "libmpi.",    "libmpi_cray", "libmpi_gnu",    "libmpi_mpifh.", "libmpi_usempi", "libmpi_cxx.",
    "libmpifort",      "libmpicxx.", "libmpich.",   "libmpichfort.", "libmpichcxx.",  "libc.so."};

std::string_view file_of(const Dl_info& info) {
  const std::string_view path(info.dli_fname);
  return path.substr(path.find_last_of('/') + 1);
}

bool lies_in_application(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 || info.dli_fname == nullptr ||
         std::ranges::none_of(libraries,
                              [file = file_of(info)](std::string_view name) { return file.starts_with(name); });
}

// What was found out about addresses, as dladdr takes its time.
struct KnownAddresses {
  std::mutex mutex;
  std::unordered_map<const void*, bool> in_application;
};
// Never destroyed: calls may come late.
KnownAddresses& known = *new KnownAddresses;

bool is_applications(const void* address) {
  const std::lock_guard lock(known.mutex);
  const auto [place, is_new] = known.in_application.try_emplace(address);
  if (is_new) {
    place->second = lies_in_application(address);
  }
  return place->second;
}

struct Walk {
  CallPath path;
  std::size_t found = 0;
  std::size_t wanted = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const auto* const address =
      reinterpret_cast<const void*>(_Unwind_GetIP(context)); // NOLINT(performance-no-int-to-ptr)
  if (address != nullptr && is_applications(address)) {
    walk.path.frames[walk.found++] = address;
  }
  return address == nullptr || walk.found == walk.wanted ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// As dladdr names it.
std::string place_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "?";
  }
  const auto offset = [address](const void* base) {
    return static_cast<const std::byte*>(address) - static_cast<const std::byte*>(base);
  };
  const std::string in_file = fmt::format("{}+{:#x}", file_of(info), offset(info.dli_fbase));
  return info.dli_sname == nullptr ? in_file
                                   : fmt::format("{}+{:#x} ({})", info.dli_sname, offset(info.dli_saddr), in_file);
}

} // namespace

CallPath call_path(const void* return_address) {
  Walk walk;
  if (settings().pmpi_depth > 1 && !settings().pmpi_summary.empty()) {
    walk.wanted = static_cast<std::size_t>(settings().pmpi_depth);
    _Unwind_Backtrace(visit, &walk);
  }
  if (walk.found == 0) {
    walk.path.frames.front() = return_address;
  }
  return walk.path;
}

std::vector<std::string> names_of(const CallPath& path) {
  std::vector<std::string> names;
  for (const void* const address : path.frames) {
    if (address == nullptr) {
      break;
    }
    std::string name = settings().pmpi_depth > 1 ? source_of(address) : "";
    names.push_back(name.empty() ? place_of(address) : std::move(name));
  }
  return names;
}

} // namespace stoker::pmpi
