// SPDX-License-Identifier: BSD-3-Clause
// The latest few of a series of times, of which policies compare the medians.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stoker::engine {

template <std::size_t size>
class RecentTimes {
public:
  void add(std::uint64_t ns) { times_[count_++ % size] = ns; }
  void clear() { count_ = 0; }
  [[nodiscard]] bool full() const { return count_ >= size; }
  // The series has to be full.
  [[nodiscard]] std::uint64_t median() const {
    auto sorted = times_;
    std::nth_element(sorted.begin(), sorted.begin() + size / 2, sorted.end());
    return sorted[size / 2];
  }

private:
  std::array<std::uint64_t, size> times_{};
  std::size_t count_ = 0;
};

} // namespace stoker::engine
