// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/call_path.hpp"

#include "api/pmpi/debug_information.hpp"
#include "api/pmpi/file_name.hpp"
#include "api/pmpi/settings.hpp"
#include "engine/base/never_destroyed.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace stoker::pmpi {
namespace {

// How the files of MPI libraries begin, with their bindings of Fortran and C++, and that of this library.
constexpr std::array<std::string_view, 13> mpi_libraries{
    "libstoker-pmpi", "libmpi.",    "libmpi_abi", "libmpi_cray", "libmpi_gnu",    "libmpi_mpifh.", "libmpi_usempi",
    "libmpi_cxx.",    "libmpifort", "libmpicxx.", "libmpich.",   "libmpichfort.", "libmpichcxx."};

enum class Owner : std::uint8_t { application, mpi, c_library };

Owner look_up_owner(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return Owner::application;
  }
  const std::string_view file = file_name_of(info.dli_fname);
  if (file.starts_with("libc.so.")) {
    return Owner::c_library;
  }
  return std::ranges::any_of(mpi_libraries, [file](std::string_view name) { return file.starts_with(name); })
             ? Owner::mpi
             : Owner::application;
}

// What was found out about addresses, as dladdr takes its time.
struct KnownOwners {
  std::mutex mutex;
  std::unordered_map<const void*, Owner> owners;
};
// Never destroyed: calls may come late.
engine::NeverDestroyed<KnownOwners> known_storage;
KnownOwners& known = known_storage.object;

Owner owner_of(const void* address) {
  const std::lock_guard lock(known.mutex);
  const auto [place, is_new] = known.owners.try_emplace(address);
  if (is_new) {
    place->second = look_up_owner(address);
  }
  return place->second;
}

struct Walk {
  CallPath path;
  std::size_t found = 0;
  std::size_t wanted = 0;
};

// The walk ends at the C library, which calls main and the functions of threads.
_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  const Owner owner = address != nullptr ? owner_of(address) : Owner::c_library;
  if (owner == Owner::application) {
    walk.path.frames[walk.found++] = address;
  }
  return owner == Owner::c_library || walk.found == walk.wanted ? _URC_END_OF_STACK : _URC_NO_REASON;
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
  const std::string in_file = fmt::format("{}+{:#x}", file_name_of(info.dli_fname), offset(info.dli_fbase));
  return info.dli_sname == nullptr ? in_file
                                   : fmt::format("{}+{:#x} ({})", info.dli_sname, offset(info.dli_saddr), in_file);
}

} // namespace

CallPath call_path(const void* return_address) {
  Walk walk;
  const bool in_bindings = settings().pmpi_advise && owner_of(return_address) == Owner::mpi;
  if ((settings().pmpi_depth > 1 && !settings().pmpi_summary.empty()) || in_bindings) {
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
    std::string name = settings().pmpi_depth > 1 || settings().pmpi_advise ? source_of(address) : "";
    names.push_back(name.empty() ? place_of(address) : std::move(name));
  }
  return names;
}

} // namespace stoker::pmpi
