// SPDX-License-Identifier: BSD-3-Clause
// Counters that cost a plain addition: every thread has its own, and a reader adds them up.
#pragma once

#include "engine/base/cache_line.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stoker::engine {

// Number of the calling thread in this process, from 1; 0: it has not got one yet.
#if defined(__GNUC__)
[[gnu::tls_model("initial-exec")]] // a load; a word fits even where the library is loaded late
#endif
extern constinit thread_local unsigned thread_number;
unsigned number_this_thread();

class TransferCounters {
public:
  enum Kind : std::uint8_t {
    node_transfers,
    node_bytes,
    wire_transfers,
    wire_bytes,
    node_atomics,
    wire_atomics,
    kinds
  };
  using Sums = std::array<std::uint64_t, kinds>;

  void add(Kind kind, std::uint64_t amount) {
    const unsigned number = thread_number != 0 ? thread_number : number_this_thread();
    if (number < shards_.size()) [[likely]] { // nobody else writes there
      std::atomic<std::uint64_t>& counter = shards_[number].counters[kind];
      counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    } else {
      shards_[0].counters[kind].fetch_add(amount, std::memory_order_relaxed);
    }
  }

  [[nodiscard]] Sums sums() const {
    Sums sums{};
    for (const Shard& shard : shards_) {
      for (std::size_t kind = 0; kind < kinds; ++kind) {
        sums[kind] += shard.counters[kind].load(std::memory_order_relaxed);
      }
    }
    return sums;
  }

private:
  struct alignas(cache_line) Shard {
    std::array<std::atomic<std::uint64_t>, kinds> counters{};
  };
  std::array<Shard, 64> shards_{}; // the first for all threads that come later
};

} // namespace stoker::engine
