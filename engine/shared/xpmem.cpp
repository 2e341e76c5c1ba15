// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/xpmem.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace stoker::engine {
namespace {

constexpr auto whole_address_space = static_cast<std::size_t>(-1); // XPMEM_MAXADDR_SIZE
constexpr std::uintptr_t owner_only = 0600;

template <class Function>
bool symbol(void* handle, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(handle, name));
  return function != nullptr;
}

bool look_up_xpmem(void* handle, XpmemLibrary& library) {
  return symbol(handle, "xpmem_version", library.version) && symbol(handle, "xpmem_make", library.make) &&
         symbol(handle, "xpmem_get", library.get) && symbol(handle, "xpmem_release", library.release) &&
         symbol(handle, "xpmem_attach", library.attach) && symbol(handle, "xpmem_detach", library.detach);
}

std::string text_of_errno() { return std::system_category().message(errno); }

Xpmem open_xpmem() {
  Xpmem xpmem;
  void* handle = nullptr; // kept: the library stays as long as the process
  for (const char* name : {"libxpmem.so.0", "libxpmem.so"}) {
    handle = handle != nullptr ? handle : dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr || !look_up_xpmem(handle, xpmem.library)) {
    xpmem.refusal = handle == nullptr ? "there is no libxpmem.so.0" : "libxpmem.so.0 lacks a function";
  } else if (xpmem.library.version() == -1) {
    xpmem.refusal = "/dev/xpmem: " + text_of_errno();
  } else {
    auto* const mode = reinterpret_cast<void*>(owner_only); // NOLINT(performance-no-int-to-ptr)
    xpmem.segment = xpmem.library.make(nullptr, whole_address_space, XpmemLibrary::permit_mode, mode);
    xpmem.refusal = xpmem.segment == -1 ? "xpmem_make: " + text_of_errno() : "";
  }
  return xpmem;
}

} // namespace

const Xpmem& own_xpmem() {
  static const Xpmem& xpmem = *new Xpmem(open_xpmem()); // never destroyed: memory may be detached very late
  return xpmem;
}

} // namespace stoker::engine
