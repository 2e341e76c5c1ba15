// SPDX-License-Identifier: BSD-3-Clause
// Places in a block that is being laid out.
#pragma once

#include "engine/base/cache_line.hpp"
#include "engine/base/round_up.hpp"

#include <cstdint>

namespace stoker::engine {

// Hands out consecutive, aligned places.
class Layouter {
public:
  explicit Layouter(std::uint64_t begin, std::uint64_t alignment = cache_line) : end_(begin), alignment_(alignment) {}
  std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t place = round_up(end_, alignment_);
    end_ = place + bytes;
    return place;
  }
  [[nodiscard]] std::uint64_t end() const { return round_up(end_, cache_line); }

private:
  std::uint64_t end_;
  std::uint64_t alignment_;
};

} // namespace stoker::engine
