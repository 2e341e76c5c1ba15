// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a test: pages of 64 KiB, which some systems on aarch64 have. What is a multiple of these is also one of
// the system's own.
#include <dlfcn.h>
#include <unistd.h>

enum { long_page = 65536 };

long sysconf(int name) {
  long (*const of_system)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  if (name == _SC_PHYS_PAGES) {
    return of_system(_SC_PHYS_PAGES) / (long_page / of_system(_SC_PAGESIZE));
  }
  return name == _SC_PAGESIZE ? long_page : of_system(name);
}
