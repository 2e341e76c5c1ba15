// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of the public API: checks of return codes and messages, owners of handles, repeatable numbers.
#pragma once

#include <stoker/stoker.h>

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace api_tests {

// A call that must have succeeded.
inline ::testing::AssertionResult ok(int code) {
  if (code == STOKER_SUCCESS) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << stoker_error_string(code) << " (" << code << "): " << stoker_error_message();
}

// A call that must have failed with `expected`, with a message that holds every one of `words`.
inline ::testing::AssertionResult refused(int code, int expected, const std::vector<std::string>& words = {}) {
  const std::string message = stoker_error_message();
  if (code != expected) {
    return ::testing::AssertionFailure() << "expected " << stoker_error_string(expected) << " (" << expected
                                         << "), got " << stoker_error_string(code) << " (" << code
                                         << "), message: " << message;
  }
  for (const auto& word : words) {
    if (message.find(word) == std::string::npos) {
      return ::testing::AssertionFailure() << "the message does not mention '" << word << "': " << message;
    }
  }
  return ::testing::AssertionSuccess();
}

// splitmix64's finaliser: repeatable numbers, equal on all ranks.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}
  std::uint64_t next() { return mix(state_++); }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

private:
  std::uint64_t state_;
};

// 0..count-1 in an order given by `seed`.
inline std::vector<std::size_t> permutation(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

inline int create_engine(MPI_Comm comm, const Settings& settings, stoker_engine* engine) {
  std::vector<stoker_setting> list;
  for (const auto& [key, value] : settings) {
    list.push_back({key.c_str(), value.c_str()});
  }
  return stoker_engine_create(comm, list.data(), list.size(), engine);
}

// An engine that must be created; destroyed, with a check, at the end of the scope.
class EngineOwner {
public:
  explicit EngineOwner(MPI_Comm comm, const Settings& settings = {}) {
    EXPECT_TRUE(ok(create_engine(comm, settings, &engine_)));
  }
  EngineOwner(const EngineOwner&) = delete;
  EngineOwner& operator=(const EngineOwner&) = delete;
  ~EngineOwner() { destroy(); }
  void destroy() {
    if (engine_ != STOKER_ENGINE_NULL) {
      EXPECT_TRUE(ok(stoker_engine_destroy(&engine_)));
      EXPECT_EQ(engine_, STOKER_ENGINE_NULL);
    }
  }
  [[nodiscard]] stoker_engine get() const { return engine_; }

private:
  stoker_engine engine_ = STOKER_ENGINE_NULL;
};

class CommOwner {
public:
  explicit CommOwner(MPI_Comm comm) : comm_(comm) {}
  CommOwner(const CommOwner&) = delete;
  CommOwner& operator=(const CommOwner&) = delete;
  ~CommOwner() { free(); }
  void free() {
    if (comm_ != MPI_COMM_NULL) {
      MPI_Comm_free(&comm_);
    }
  }
  [[nodiscard]] MPI_Comm get() const { return comm_; }

private:
  MPI_Comm comm_;
};

inline MPI_Comm split(MPI_Comm comm, int color, int key) {
  MPI_Comm result = MPI_COMM_NULL;
  MPI_Comm_split(comm, color, key, &result);
  return result;
}
inline MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm result = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &result);
  return result;
}

class InfoOwner {
public:
  explicit InfoOwner(const Settings& pairs) {
    if (!pairs.empty()) {
      MPI_Info_create(&info_);
      for (const auto& [key, value] : pairs) {
        MPI_Info_set(info_, key.c_str(), value.c_str());
      }
    }
  }
  InfoOwner(const InfoOwner&) = delete;
  InfoOwner& operator=(const InfoOwner&) = delete;
  ~InfoOwner() {
    if (info_ != MPI_INFO_NULL) {
      MPI_Info_free(&info_);
    }
  }
  [[nodiscard]] MPI_Info get() const { return info_; }

private:
  MPI_Info info_ = MPI_INFO_NULL;
};

} // namespace api_tests
