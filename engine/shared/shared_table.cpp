// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/shared_table.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/owned_fd.hpp"
#include "engine/shared/arena.hpp"
#include "engine/shared/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

// Throws Error(resource).
OwnedFd sealed_segment(std::span<const std::byte> bytes) {
  if (bytes.size() > file_size_limit()) {
    throw Error(Code::resource, "shared memory: a table of {} bytes is beyond the limit of a file", bytes.size());
  }
  OwnedFd file = new_segment("stoker-table");
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
    if (count <= 0) {
      throw Error(Code::resource, "shared memory: no room for a table of {} bytes", bytes.size());
    }
    written += static_cast<std::size_t>(count);
  }
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    throw Error(Code::resource, "shared memory: a table cannot be sealed");
  }
  return file;
}

// Null where something fails, or is not as expected.
std::shared_ptr<const std::byte> mapped(int file, std::span<const std::byte> expected) {
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0 || static_cast<std::size_t>(status.st_size) != expected.size()) {
    return nullptr;
  }
  // Pages that nobody writes to are the segment's. Kernels before 6.7 refuse MAP_SHARED to whoever may write.
  void* const base = mmap(nullptr, expected.size(), PROT_READ, MAP_PRIVATE, file, 0);
  if (base == MAP_FAILED) {
    return nullptr;
  }
  (void)madvise(base, expected.size(), MADV_DONTDUMP);
  const auto mapping = std::make_shared<Mapping>(base, expected.size());
  const auto* const begin = mapping->at<const std::byte>(0);
  return std::ranges::equal(std::span(begin, expected.size()), expected)
             ? std::shared_ptr<const std::byte>(mapping, begin)
             : nullptr;
}

} // namespace

std::shared_ptr<const std::byte> shared_table(MPI_Comm node, std::span<const std::byte> bytes) {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(node, &rank);
  PMPI_Comm_size(node, &ranks);
  if (ranks == 1) {
    return nullptr;
  }
  OwnedFd segment;
  if (rank == 0) {
    (void)attempt([&] { segment = sealed_segment(bytes); }); // else nobody has it
  }
  std::array<int, 2> where{static_cast<int>(getpid()), segment};
  check_mpi(PMPI_Bcast(where.data(), static_cast<int>(where.size()), MPI_INT, 0, node), "MPI_Bcast");
  if (rank != 0 && where[1] >= 0) {
    segment = OwnedFd(::open(fmt::format("/proc/{}/fd/{}", where[0], where[1]).c_str(), O_RDONLY | O_CLOEXEC));
  }
  std::shared_ptr<const std::byte> table = mapped(segment, bytes);
  return on_all(node, table != nullptr) ? table : nullptr; // the first rank's descriptor has been opened by then
}

} // namespace stoker::engine
