// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/segment.hpp"

#include "engine/base/error.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>

#ifndef MFD_NOEXEC_SEAL // kernels before 6.3 do not know it
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace stoker::engine {

OwnedFd new_segment(const char* name) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  OwnedFd file(memfd_create(name, flags | MFD_NOEXEC_SEAL));
  if (file < 0 && errno == EINVAL) {
    file = OwnedFd(memfd_create(name, flags));
  }
  if (file < 0) {
    throw Error(Code::resource, "shared memory: memfd_create failed: {}", std::strerror(errno));
  }
  return file;
}

std::uint64_t file_size_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  return limit.rlim_cur;
}

} // namespace stoker::engine
