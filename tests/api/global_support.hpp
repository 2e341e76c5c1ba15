// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of global memory.
#pragma once

#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"
#include <stoker/stoker_global.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace api_tests {

// An engine with a global memory and a team of all units, in rank order.
class GlobalOwner {
public:
  explicit GlobalOwner(const Settings& settings = {}, std::size_t heap_bytes = std::size_t{1} << 20)
      : engine_(MPI_COMM_WORLD, settings) {
    EXPECT_TRUE(ok(stoker_global_create(engine_.get(), heap_bytes, &global_)));
    EXPECT_TRUE(ok(stoker_team_create(global_, MPI_COMM_WORLD, &team_)));
  }
  GlobalOwner(const GlobalOwner&) = delete;
  GlobalOwner& operator=(const GlobalOwner&) = delete;
  ~GlobalOwner() {
    if (global_ != STOKER_GLOBAL_NULL) {
      EXPECT_TRUE(ok(stoker_team_free(&team_)));
      EXPECT_TRUE(ok(stoker_global_free(&global_)));
    }
  }
  [[nodiscard]] stoker_engine engine() const { return engine_.get(); }
  [[nodiscard]] stoker_global get() const { return global_; }
  [[nodiscard]] stoker_team team() const { return team_; }
  // Collective.
  [[nodiscard]] stoker_gptr allocate(std::size_t bytes) const {
    stoker_gptr pointer{};
    EXPECT_TRUE(ok(stoker_team_allocate(team_, bytes, &pointer)));
    return pointer;
  }
  // nullptr on another node.
  template <class T>
  [[nodiscard]] T* address(stoker_gptr pointer, std::size_t bytes = sizeof(T)) const {
    void* address = nullptr;
    EXPECT_TRUE(ok(stoker_global_address(global_, pointer, bytes, &address)));
    return static_cast<T*>(address);
  }

private:
  EngineOwner engine_;
  stoker_global global_ = STOKER_GLOBAL_NULL;
  stoker_team team_ = STOKER_TEAM_NULL;
};

inline stoker_gptr at(stoker_gptr pointer, int unit, std::uint64_t offset = 0) {
  return {unit, pointer.segment, pointer.offset + offset};
}

// Repeatable bytes, different for each `salt`.
inline std::vector<unsigned char> data(std::size_t bytes, std::uint64_t salt) {
  std::vector<unsigned char> result(bytes);
  const std::uint64_t seed = mix(salt);
  for (std::size_t i = 0; i < bytes; ++i) {
    result[i] = static_cast<unsigned char>((i * 131 + (i >> 8U) * 7 + seed) ^ (seed >> (8 * (i % 8))));
  }
  return result;
}

inline const std::vector<std::size_t> transfer_sizes{0, 1, 8, 1024, 4097, 65536, (std::size_t{1} << 20U) + 3};

} // namespace api_tests
