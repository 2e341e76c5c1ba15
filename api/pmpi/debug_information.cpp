// SPDX-License-Identifier: BSD-3-Clause
// libdw is loaded once names are asked for, so that processes do without it until then, and hosts that lack it
// altogether.
#include "api/pmpi/debug_information.hpp"

#include "api/pmpi/file_name.hpp"

#if __has_include(<elfutils/libdwfl.h>)
#include <fmt/format.h>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace stoker::pmpi {
namespace {

// The functions of libdw that are used; all or none are there.
struct Libdw {
  template <class Function>
  void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    complete = complete && function != nullptr;
  }
  // NOLINTBEGIN(bugprone-macro-parentheses): names
#define LIBDW_FUNCTIONS(EACH)                                                                                          \
  EACH(dwfl_addrmodule)                                                                                                \
  EACH(dwfl_begin)                                                                                                     \
  EACH(dwfl_build_id_find_debuginfo)                                                                                   \
  EACH(dwfl_lineinfo)                                                                                                  \
  EACH(dwfl_linux_proc_find_elf)                                                                                       \
  EACH(dwfl_linux_proc_report)                                                                                         \
  EACH(dwfl_module_addrname)                                                                                           \
  EACH(dwfl_module_getsrc)                                                                                             \
  EACH(dwfl_report_end)
#define DECLARE(name) decltype(&::name) name = nullptr;
  LIBDW_FUNCTIONS(DECLARE)
#undef DECLARE
  // NOLINTEND(bugprone-macro-parentheses)
  bool complete = false;

  Libdw() {
    void* const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    complete = library != nullptr;
#define FIND(name)                                                                                                     \
  if (complete) {                                                                                                      \
    find(library, #name, name);                                                                                        \
  }
    LIBDW_FUNCTIONS(FIND)
#undef FIND
#undef LIBDW_FUNCTIONS
  }
};

// What is mapped into this process. Lives until the process ends.
class Mapped {
public:
  Mapped() {
    if (!libdw_.complete) {
      return;
    }
    // Files of debug information are looked for on this host by their build ids; nothing is downloaded.
    callbacks_.find_elf = libdw_.dwfl_linux_proc_find_elf;
    callbacks_.find_debuginfo = libdw_.dwfl_build_id_find_debuginfo;
    dwfl_ = libdw_.dwfl_begin(&callbacks_);
    if (dwfl_ != nullptr) {
      libdw_.dwfl_linux_proc_report(dwfl_, getpid());
      libdw_.dwfl_report_end(dwfl_, nullptr, nullptr);
    }
  }

  [[nodiscard]] std::string source_of(std::uintptr_t address) const {
    Dwfl_Module* const module = dwfl_ != nullptr ? libdw_.dwfl_addrmodule(dwfl_, address) : nullptr;
    Dwfl_Line* const line = module != nullptr ? libdw_.dwfl_module_getsrc(module, address) : nullptr;
    int number = 0;
    const char* const file =
        line != nullptr ? libdw_.dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr) : nullptr;
    const char* const function = module != nullptr ? libdw_.dwfl_module_addrname(module, address) : nullptr;
    if (file == nullptr || function == nullptr) {
      return {};
    }
    return fmt::format("{} ({}:{})", demangled(function), file_name_of(file), number);
  }

private:
  static std::string demangled(const char* name) {
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, nullptr),
                                                           &std::free);
    return text != nullptr ? text.get() : name;
  }

  Libdw libdw_;
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
};

} // namespace

std::string source_of(const void* address) {
  // Never destroyed: MPI_Finalize may be called by a destructor.
  static const Mapped& mapped = *new Mapped;
  return mapped.source_of(reinterpret_cast<std::uintptr_t>(address) - 1);
}

} // namespace stoker::pmpi
#else
namespace stoker::pmpi {

std::string source_of(const void* /*address*/) { return {}; }

} // namespace stoker::pmpi
#endif
