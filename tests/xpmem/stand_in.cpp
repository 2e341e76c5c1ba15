// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for XPMEM's library on machines without its kernel module. It maps a peer's memory through
// /proc/PID/map_files, and so only what the peer itself has mapped shared: from a file, or with MAP_SHARED |
// MAP_ANONYMOUS. Other ranges are refused, which XPMEM does not do. Nor does it see that the peer unmaps something and
// maps something else there: a test does not do that.
//
// XPMEM_STAND_IN_REFUSES: "version", "make", "get" or "attach" fails; with "touch" attached memory cannot be touched.
// XPMEM_STAND_IN_RANK: in that rank's process only.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct Address {
  std::int64_t access;
  off_t offset;
};

std::mutex mutex;
std::map<void*, std::size_t>& attachments() { // guarded by it
  static auto& one = *new std::map<void*, std::size_t>;
  return one;
}

bool in_this_rank() {
  const char* const wanted = std::getenv("XPMEM_STAND_IN_RANK");
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    const char* const rank = std::getenv(name);
    if (wanted != nullptr && rank != nullptr && std::string_view(wanted) == rank) {
      return true;
    }
  }
  return wanted == nullptr;
}

bool refuses(std::string_view what) {
  const char* const refused = std::getenv("XPMEM_STAND_IN_REFUSES");
  return refused != nullptr && refused == what && in_this_rank();
}

int fail(int error) {
  errno = error;
  return -1;
}

// Maps what the peer has at [begin, end) to `base`. Returns 0 or errno.
int map_all(long peer, std::uint64_t begin, std::uint64_t end, std::byte* base) {
  const std::string process = "/proc/" + std::to_string(peer);
  std::ifstream maps(process + "/maps");
  const std::uint64_t first = begin;
  for (std::string line; begin < end && std::getline(maps, line);) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint64_t in_file = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx", &low, &high, rights, &in_file) != 4 || high <= begin) {
      continue;
    }
    if (low > begin || rights[3] != 's') {
      return EFAULT;
    }
    char name[64];
    std::snprintf(name, sizeof name, "/map_files/%lx-%lx", low, high);
    const int file = open((process + name).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) {
      return errno;
    }
    const std::uint64_t bytes = (high < end ? high : end) - begin;
    const void* const mapped = mmap(base + (begin - first), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                                    static_cast<off_t>(in_file + (begin - low)));
    close(file);
    if (mapped == MAP_FAILED) {
      return errno;
    }
    begin += bytes;
  }
  return begin < end ? EFAULT : 0;
}

} // namespace

extern "C" {

int xpmem_version() { return refuses("version") ? fail(ENODEV) : 0x00026005; }

std::int64_t xpmem_make(void* /*address*/, std::size_t /*bytes*/, int /*permit_type*/, void* /*permit*/) {
  return refuses("make") ? fail(EBUSY) : getpid();
}

std::int64_t xpmem_get(std::int64_t segment, int /*flags*/, int /*permit_type*/, void* /*permit*/) {
  return refuses("get") ? fail(EACCES) : segment;
}

int xpmem_release(std::int64_t /*access*/) { return 0; }

void* xpmem_attach(Address place, std::size_t bytes, void* /*address*/) {
  if (refuses("attach")) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* const base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return base;
  }
  const auto begin = static_cast<std::uint64_t>(place.offset);
  const int error = map_all(place.access, begin, begin + bytes, static_cast<std::byte*>(base));
  if (error != 0) {
    munmap(base, bytes);
    errno = error;
    return MAP_FAILED;
  }
  if (refuses("touch")) {
    mprotect(base, bytes, PROT_NONE);
  }
  const std::lock_guard lock(mutex);
  attachments()[base] = bytes;
  return base;
}

int xpmem_detach(void* address) {
  const std::lock_guard lock(mutex);
  const auto found = attachments().find(address);
  if (found == attachments().end()) {
    return fail(EINVAL);
  }
  munmap(address, found->second);
  attachments().erase(found);
  return 0;
}

// For tests: how many there are.
std::size_t xpmem_stand_in_attachments() {
  const std::lock_guard lock(mutex);
  return attachments().size();
}
}
