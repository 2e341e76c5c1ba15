// SPDX-License-Identifier: BSD-3-Clause
// What a process takes from shared memory that others can write, it copies once, checks, and uses from its copy: no
// later store changes what it has checked. Checksums tell a stray store from what the owner has written. They are no
// protection from somebody who wants to deceive: processes that may map each other's memory may do worse.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stoker::engine {

// Every change of a single word changes the sum, and zeros have one that is not 0.
[[nodiscard]] inline std::uint64_t checksum(std::uint64_t sum, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  sum ^= 0x2545f4914f6cdd1dU;
  for (std::size_t done = 0; done < bytes; done += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + done, bytes - done < sizeof word ? bytes - done : sizeof word);
    sum = (((sum << 29U) | (sum >> 35U)) ^ word) * 0x9e3779b97f4a7c15U;
  }
  return sum;
}

// The compiler may not read the source again, however the copy is used.
inline void copy_once(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
template <class T>
[[nodiscard]] T copy_once(const T& from) {
  T copy;
  copy_once(&copy, &from, sizeof copy);
  return copy;
}

// A word that anything may be stored to at any time.
[[nodiscard]] inline std::uint32_t load_once(std::uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}

} // namespace stoker::engine
