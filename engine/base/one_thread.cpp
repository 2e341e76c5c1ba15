// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/one_thread.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace stoker::engine {

void OneThread::fail(const char* what, pthread_t other) {
  using Name = std::array<char, 16>; // the kernel's limit
  const auto name_of = [](pthread_t thread) {
    Name name{};
    if (thread != nobody) {
      pthread_getname_np(thread, name.data(), name.size());
    }
    return name;
  };
  const pthread_t self = pthread_self();
  std::fprintf(
      stderr,
      "stoker: %s belongs to one thread at a time, but is used by thread \"%s\" (%#lx) while thread \"%s\" (%#lx) "
      "uses it\n",
      what, name_of(self).data(), self, name_of(other).data(), other);
  std::abort();
}

} // namespace stoker::engine
