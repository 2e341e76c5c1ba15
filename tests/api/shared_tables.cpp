// SPDX-License-Identifier: BSD-3-Clause
// Tables that the ranks of a node share.
#include "engine/shared/shared_table.hpp"
#include "tests/api/mpi_main.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace api_tests {
namespace {

std::vector<std::byte> table_of(std::size_t bytes, int seed) {
  std::vector<std::byte> table(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    table[i] = static_cast<std::byte>((i * 7) + static_cast<std::size_t>(seed));
  }
  return table;
}

// The line of /proc/self/maps that has the address: rights, and number of the file.
struct Mapped {
  std::string rights;
  long inode = 0;
};
Mapped mapped_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string offset;
    std::string device;
    Mapped found;
    words >> std::hex >> begin >> dash >> end >> found.rights >> offset >> device >> std::dec >> found.inode;
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    if (place >= begin && place < end) {
      return found;
    }
  }
  return {};
}

int open_files() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  }
  return count;
}

TEST(SharedTables, OneSegmentForAllRanks) {
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::byte> bytes = table_of(100'000, i);
    const int before = open_files();
    const auto table = stoker::engine::shared_table(MPI_COMM_WORLD, bytes);
    EXPECT_EQ(open_files(), before);
    EXPECT_EQ(table != nullptr, world_size() > 1);
    if (table == nullptr) {
      continue;
    }
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), table.get()));
    const Mapped mapped = mapped_at(table.get());
    EXPECT_EQ(mapped.rights.substr(0, 3), "r--");
    long lowest = 0;
    long highest = 0;
    MPI_Allreduce(&mapped.inode, &lowest, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mapped.inode, &highest, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_NE(lowest, 0);
    EXPECT_EQ(lowest, highest);
  }
}

TEST(SharedTables, UnmappedWithTheLastOwner) {
  if (world_size() == 1) {
    GTEST_SKIP() << "one rank shares nothing";
  }
  auto table = stoker::engine::shared_table(MPI_COMM_WORLD, table_of(100'000, 1));
  const void* const place = table.get();
  const long inode = mapped_at(place).inode;
  auto copy = table;
  table.reset();
  EXPECT_EQ(mapped_at(place).inode, inode);
  copy.reset();
  EXPECT_NE(mapped_at(place).inode, inode);
}

TEST(SharedTables, NoneWhereARankHasAnotherOne) {
  const auto table = stoker::engine::shared_table(MPI_COMM_WORLD, table_of(100'000, world_rank() == world_size() - 1));
  EXPECT_EQ(table, nullptr);
}

} // namespace
} // namespace api_tests
