// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/library.hpp"

#include <dlfcn.h>

#include <mutex>
#include <string>

namespace stoker::pmpi::detail {
namespace {

constinit std::once_flag once;

template <class Function>
void find(Function& function, const std::string& name) {
  void* address = dlsym(RTLD_NEXT, ("P" + name).c_str());
  if (address == nullptr && name.ends_with("_init")) {
    address = dlsym(RTLD_NEXT, ("PMPIX" + name.substr(3)).c_str()); // Open MPI 4.1's, which differ in nothing else
  }
  function = reinterpret_cast<Function>(address);
}

} // namespace

constinit std::atomic<bool> library_found{false};
constinit Library library;

void find_library() {
  std::call_once(once, [] {
#define STOKER_PMPI_FUNCTION(name, arity) find(library.name, #name);
#define STOKER_PMPI_VARIADIC(name) find(library.name, #name);
#include "api/pmpi/functions.def"
#undef STOKER_PMPI_FUNCTION
#undef STOKER_PMPI_VARIADIC
    library_found.store(true, std::memory_order_release);
  });
}

} // namespace stoker::pmpi::detail
