// SPDX-License-Identifier: BSD-3-Clause
// Arenas: memfd segments with a free list outside. See the header.
#include "engine/shared/arena.hpp"

#include "engine/base/error.hpp"
#include "engine/base/round_up.hpp"
#include "engine/shared/memory_limits.hpp"
#include "engine/shared/segment.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <new>
#include <numaif.h>
#include <string>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#ifndef MADV_POPULATE_WRITE // C libraries older than the kernel that has it
#define MADV_POPULATE_WRITE 23
#endif

namespace stoker::engine {

namespace {

constexpr std::uint64_t smallest_fallback = std::uint64_t{64} << 20;
constexpr std::uint64_t large_block = std::uint64_t{1} << 20;

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{} bytes ({:.1f} MiB)", bytes, static_cast<double>(bytes) / (1 << 20));
}

// Has the system provide memory for a range of a mapping, so that its lack shows here, as an error, and not as SIGBUS
// in whichever process first touches the page. Unlike fallocate it needs no open descriptor.
void reserve_memory(std::byte* begin, std::uint64_t bytes, std::uint64_t arena_bytes) {
  // A memfd has no limit of its own: beyond the machine's memory, and the control group's, there is no error but the
  // out-of-memory killer.
  if (bytes >= large_block) {
    const std::uint64_t available = available_memory();
    if (bytes > available) {
      throw Error(Code::resource,
                  "shared memory: {} requested but the machine or the control group has only {} available",
                  megabytes(bytes), megabytes(available));
    }
  }
  // A kernel before 5.14 does not know the advice; there the pages come with the first touch.
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    throw Error(Code::resource, "shared memory: the system has no room for {} (setting arena_bytes is {}): {}",
                megabytes(bytes), arena_bytes, std::strerror(errno));
  }
}

bool prefer_numa_node(void* begin, std::uint64_t bytes, int node) {
  std::vector<unsigned long> mask(static_cast<std::size_t>(node) / (8 * sizeof(unsigned long)) + 1);
  const unsigned long bits = 8 * sizeof(unsigned long);
  mask[static_cast<std::size_t>(node) / bits] = 1UL << (static_cast<unsigned long>(node) % bits);
  // Preferred, not bound: a full node is no reason to be killed. The policy of a shared mapping belongs to the segment,
  // so it holds whoever touches a page first. The kernel counts maxnode exclusively, hence + 1.
  return mbind(begin, bytes, MPOL_PREFERRED, mask.data(), mask.size() * bits + 1, 0) == 0;
}

} // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) {
    munmap(base_, bytes_);
  }
}

bool Mapping::contains(const void* pointer, std::uint64_t length) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(base_);
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  return at >= begin && at - begin <= bytes_ && length <= bytes_ - (at - begin);
}

std::uint64_t page_size() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

std::uint64_t default_arena_bytes(std::uint64_t memory, std::uint64_t address_space, std::uint64_t ranks) {
  const std::uint64_t fits = address_space / 4 / ranks / page_size() * page_size();
  return std::min(memory, std::max(fits, smallest_fallback));
}

std::uint64_t address_space_left() {
  // The stack lies at the top, wherever that is: 2^47 on most machines, 2^38 or 2^39 on some. (Addresses beyond 47 bits
  // are only for those who ask.)
  const int on_stack = 0;
  const std::uint64_t all = std::bit_ceil(reinterpret_cast<std::uintptr_t>(&on_stack));
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return std::min(all, limit.rlim_cur) - std::min({all, limit.rlim_cur, pages * page_size()});
}

Arena::Arena(const ArenaOptions& options) {
  const std::uint64_t page = page_size();
  if (options.bytes < 2 * page || options.bytes > std::uint64_t{1} << 47) {
    throw Error(Code::setting, "setting arena_bytes is {}: expected {} to 2^47", options.bytes, 2 * page);
  }
  file_ = new_segment("stoker-arena");
  published_ = OwnedFd(fcntl(file_, F_DUPFD_CLOEXEC, 0));
  if (published_ < 0) {
    throw Error(Code::resource, "shared memory: no descriptor is left: {}", std::strerror(errno));
  }
  struct stat status {};
  fstat(file_, &status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  std::uint64_t bytes = round_up(options.bytes, page);
  void* base = MAP_FAILED;
  while (true) {
    errno = EFBIG;
    if (bytes <= file_size_limit()) {
      base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    }
    if (base != MAP_FAILED) {
      break;
    }
    if (bytes <= smallest_fallback) {
      throw Error(Code::resource,
                  "shared memory: cannot map {} (setting arena_bytes is {}): {}; look at "
                  "ulimit -v and -f",
                  megabytes(bytes), options.bytes, std::strerror(errno));
    }
    bytes = std::max(round_up(bytes / 2, page), smallest_fallback);
  }
  static_cast<Mapping&>(*this) = Mapping(base, bytes);
  (void)madvise(base, bytes, MADV_DONTDUMP); // best effort, as for every advice below
  // Seals the segment, so that nobody can shorten it under a peer. Some sandboxes refuse that; it is not essential.
  (void)fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL);
  on_numa_node_ = options.numa_node >= 0 && prefer_numa_node(base, bytes, options.numa_node);

  extend(page);
  reserve_memory(this->base(), page, bytes);
  owner_ = getpid();
  auto* header = new (base) ArenaHeader;
  header->pid = owner_;
  header->layout_stamp = options.layout_stamp;
  header->bytes = bytes;
  if (getrandom(&header->identity, sizeof header->identity, 0) != sizeof header->identity) {
    throw Error(Code::resource, "shared memory: getrandom failed: {}", std::strerror(errno));
  }
  const std::uint64_t begin = round_up(sizeof(ArenaHeader), FreeList::granularity);
  list_ = FreeList(begin, bytes - begin);
}

ArenaDescriptor Arena::descriptor() const {
  const auto* header = at<ArenaHeader>(0);
  return {.pid = header->pid, .fd = published_, .bytes = header->bytes, .identity = header->identity};
}

std::uint64_t Arena::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return list_.bytes_in_use();
}

bool Arena::owns_file() const {
  struct stat status {};
  return fstat(file_, &status) == 0 && status.st_ino == inode_ && status.st_dev == device_;
}

bool Arena::in_child() const { return getpid() != owner_; }

Arena::~Arena() {
  if (!owns_file()) {
    (void)file_.release();
  }
}

// The system fills no page beyond the file's end, whatever asks for the whole mapping: mlockall(), for example.
void Arena::extend(std::uint64_t end) {
  if (end <= file_bytes_) {
    return;
  }
  // Beyond its limit ftruncate would not fail but kill the process.
  const std::uint64_t wanted =
      std::min({round_up(end, large_block), bytes(), file_size_limit() / page_size() * page_size()});
  const bool ours = owns_file();
  if (!ours || wanted < end || ftruncate(file_, static_cast<off_t>(wanted)) != 0) {
    throw Error(Code::resource, "shared memory: the segment cannot grow to {}: {}", megabytes(end),
                !ours          ? "its descriptor has been closed"
                : wanted < end ? "ulimit -f"
                               : std::strerror(errno));
  }
  file_bytes_ = wanted;
}

std::uint64_t Arena::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > page_size()) {
    throw Error(Code::argument, "shared memory: alignment {} is not a power of two of at most a page", alignment);
  }
  if (in_child()) {
    throw Error(Code::resource, "shared memory: the arena is that of process {}, of which this is a child", owner_);
  }
  const std::lock_guard lock(mutex_);
  const auto offset = list_.take(bytes, alignment);
  if (!offset) {
    throw Error(Code::resource,
                "shared memory exhausted: {} requested, {} in use, largest free block {}, arena {}; raise the "
                "setting arena_bytes",
                megabytes(bytes), megabytes(list_.bytes_in_use()), megabytes(list_.largest_free()),
                megabytes(this->bytes()));
  }
  try {
    const std::uint64_t first_page = *offset / page_size() * page_size();
    const std::uint64_t end = round_up(*offset + *list_.size_of(*offset), page_size());
    extend(end);
    reserve_memory(base() + first_page, end - first_page, this->bytes());
  } catch (const Error&) {
    list_.give(*offset);
    throw;
  }
  return *offset;
}

void Arena::deallocate(std::uint64_t offset) {
  if (in_child()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto bytes = list_.size_of(offset);
  if (!bytes) {
    throw Error(Code::argument, "shared memory: no block begins at offset {}", offset);
  }
  if (*bytes >= large_block) {
    // Whole pages only; best effort, the block is free either way.
    const std::uint64_t first_page = round_up(offset, page_size());
    const std::uint64_t last_page = (offset + *bytes) / page_size() * page_size();
    (void)madvise(base() + first_page, last_page - first_page, MADV_REMOVE);
  }
  list_.give(offset);
}

Mapping attach_arena(const ArenaDescriptor& descriptor, std::uint64_t layout_stamp) {
  const std::string path = fmt::format("/proc/{}/fd/{}", descriptor.pid, descriptor.fd);
  const OwnedFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file < 0) {
    const int error = errno;
    if (error == ENOENT) {
      throw Error(Code::peer_lost,
                  "shared memory: {} is not there: the process has ended, or lives in another "
                  "PID namespace (run the ranks of a node in one container)",
                  path);
    }
    if (error == EMFILE || error == ENFILE || error == ENOMEM) {
      throw Error(Code::resource, "shared memory: {} cannot be opened: {}; raise the limit (ulimit -n, -v)", path,
                  std::strerror(error));
    }
    throw Error(Code::access,
                "shared memory: {} cannot be opened: {}; the ranks of a node must belong to one "
                "user and be dumpable (/proc must be mounted)",
                path, std::strerror(error));
  }
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > descriptor.bytes ||
      static_cast<std::uint64_t>(status.st_size) < sizeof(ArenaHeader)) {
    throw Error(Code::mismatch, "shared memory: {} holds {} bytes, expected an arena of at most {}", path,
                status.st_size, descriptor.bytes);
  }
  void* base = mmap(nullptr, descriptor.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED) {
    throw Error(Code::resource, "shared memory: cannot map {} of process {} (lower the setting arena_bytes): {}",
                megabytes(descriptor.bytes), descriptor.pid, std::strerror(errno));
  }
  Mapping mapping(base, descriptor.bytes);
  (void)madvise(base, descriptor.bytes, MADV_DONTDUMP);
  (void)madvise(base, descriptor.bytes, MADV_DONTFORK);
  const ArenaHeader& header = *mapping.at<const ArenaHeader>(0);
  const auto expect = [&](const char* field, std::uint64_t found, std::uint64_t expected) {
    if (found != expected) {
      throw Error(Code::mismatch, "shared memory: header of {}: {} is {:#x}, expected {:#x}", path, field, found,
                  expected);
    }
  };
  expect("magic", header.magic, ArenaHeader::magic_value);
  expect("version", header.version, ArenaHeader::current_version);
  expect("layout stamp (are the ranks' builds the same?)", header.layout_stamp, layout_stamp);
  expect("length", header.bytes, descriptor.bytes);
  expect("pid", static_cast<std::uint64_t>(header.pid), static_cast<std::uint64_t>(descriptor.pid));
  expect("identity", header.identity, descriptor.identity);
  return mapping;
}

} // namespace stoker::engine
