// SPDX-License-Identifier: BSD-3-Clause
#include "bench/smpi/check.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace stoker::bench {

namespace {

constexpr std::byte poison{0xee};
constexpr std::uint64_t prime = 251;

// Byte `i` of what `source` has for `target`.
std::byte pattern(std::uint64_t source, std::uint64_t target, std::uint64_t i) {
  return static_cast<std::byte>((7 * source + 13 * target + i) % prime);
}

// Element `i` of a rank's operand: no two ranks, and no two neighbors, have the same.
std::uint32_t operand(std::uint64_t rank, std::uint64_t i) {
  return static_cast<std::uint32_t>((rank + 1) * (rank + 1) * (1 + (i % prime)));
}
std::uint32_t sum_of_operands(std::uint64_t ranks, std::uint64_t i) {
  return static_cast<std::uint32_t>(ranks * (ranks + 1) * (2 * ranks + 1) / 6 * (1 + (i % prime)));
}

bool is_personal(const Point& point) { return point.collective == algos::Collective::alltoall; }
bool is_sum(const Point& point) { return point.collective == algos::Collective::allreduce; }
std::uint64_t blocks(const Point& point, int ranks) {
  return algos::has_blocks(point.collective) ? static_cast<std::uint64_t>(ranks) : 1;
}

} // namespace

std::vector<std::byte> send_buffer(const Point& point, int rank, int ranks) {
  const auto source = static_cast<std::uint64_t>(rank);
  const std::uint64_t count = is_personal(point) ? static_cast<std::uint64_t>(ranks) : 1;
  std::vector<std::byte> buffer(count * point.bytes);
  if (is_sum(point)) {
    for (std::uint64_t i = 0; i < point.bytes / element_bytes; ++i) {
      const std::uint32_t value = operand(source, i);
      std::memcpy(buffer.data() + (i * element_bytes), &value, sizeof value);
    }
    return buffer;
  }
  for (std::uint64_t block = 0; block < count; ++block) {
    for (std::uint64_t i = 0; i < point.bytes; ++i) {
      buffer[(block * point.bytes) + i] = pattern(source, block, i);
    }
  }
  return buffer;
}

std::vector<std::byte> recv_buffer(const Point& point, int ranks) {
  std::vector<std::byte> buffer(blocks(point, ranks) * point.bytes);
  std::ranges::fill(buffer, poison);
  return buffer;
}

void check(const Point& point, int rank, int ranks, std::span<const std::byte> recv) {
  const auto fail = [&](const std::string& place) {
    throw std::runtime_error(std::string(algos::name_of(point.collective)) + " " + point.algorithm + ", " +
                             std::to_string(point.bytes) + " bytes: " + place + " of the result is wrong");
  };
  if (is_sum(point)) {
    for (std::uint64_t i = 0; i < point.bytes / element_bytes; ++i) {
      std::uint32_t value = 0;
      std::memcpy(&value, recv.data() + (i * element_bytes), sizeof value);
      if (value != sum_of_operands(static_cast<std::uint64_t>(ranks), i)) {
        fail("element " + std::to_string(i));
      }
    }
    return;
  }
  if (point.collective == algos::Collective::bcast && rank == 0) {
    return;
  }
  const std::uint64_t target = is_personal(point) ? static_cast<std::uint64_t>(rank) : 0;
  for (std::uint64_t block = 0; block < blocks(point, ranks); ++block) {
    for (std::uint64_t i = 0; i < point.bytes; ++i) {
      if (recv[(block * point.bytes) + i] != pattern(block, target, i)) {
        fail("byte " + std::to_string(i) + " of block " + std::to_string(block));
      }
    }
  }
}

} // namespace stoker::bench
