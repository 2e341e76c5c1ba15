// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory form of one operation on global memory that a rank leaves to the helper of its domain. It lies in
// the rank's arena. The rank writes it and submits it (the ring's push releases, its drain acquires); then it is the
// helper's, whose last access is the release of `completed`, acquired by the rank before it reads the outcome or uses
// the record again. Each of the two follows a copy of its own of what was asked for.
#pragma once

#include "engine/global/element.hpp"
#include "engine/shared/block.hpp"
#include "engine/shared/doorbell.hpp"
#include "engine/shared/seal.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stoker::engine {

enum class OperationKind : std::uint8_t {
  put,
  get,
  fetch_and_op,
  compare_and_swap,
  accumulate,
  bundle, // atomics that the rank has written as items (bundle.hpp)
  expose, // the rank's own memory to the other carriers, in a window
  conceal,
};

// How far the helper is, for reports of waits that take long.
enum class OperationStage : std::uint8_t { submitted, taken, under_way };

// What the rank asks for. The helper follows a copy that it has checked.
struct OperationRequest {
  OperationKind kind = OperationKind::put;
  ElementType type = ElementType::int32; // atomics
  AtomicOp op = AtomicOp::no_op;
  std::int32_t unit = -1;     // of the target
  std::int32_t endpoint = -1; // carrier of its domain; -1: on this node
  std::uint32_t arena = 0;    // the target's, among those of its node
  std::uint64_t place = 0;    // offset in it
  std::uint64_t bytes = 0;    // of target memory; of a bundle's items
  // Where the carriers have windows, and the target memory is in one:
  std::uint64_t window = 0;       // its number at this rank's helper
  std::uint64_t displacement = 0; // 0: it is in none
  // A put with a signal: this word of the target's arena gets the value once the data are there.
  bool signals = false;
  std::uint64_t signal_place = 0;
  std::uint64_t signal_value = 0;
  // What comes back of a bundle, and the checksum of its items.
  std::uint64_t result_bytes = 0;
  std::uint64_t items_seal = 0;
  // The data for the target or from it. Atomics: the operands, then the result. A bundle: its items, then the results.
  BufferDescriptor local = {};
  std::uint64_t epoch = 0; // how often the record was used
};

struct alignas(cache_line) GlobalOperation {
  static constexpr std::size_t inline_bytes = 128;

  OperationRequest request;
  std::uint64_t seal = 0;                               // checksum of the request
  std::uint64_t displacement = 0;                       // the outcome of expose; ordered by `completed`
  alignas(16) std::byte inline_data[inline_bytes] = {}; // for a `local` that is so small that it is copied
  std::atomic<OperationStage> stage{OperationStage::submitted};
  std::int32_t error = 0; // Code; ordered by `completed`
  char error_text[184] = {};
  alignas(cache_line) CompletionWord completed;
};

static_assert(std::is_trivially_copyable_v<OperationRequest>);

// The rank, before it submits the record.
inline void write_request(const OperationRequest& request, GlobalOperation& operation) {
  std::memcpy(&operation.request, &request, sizeof request);
  operation.seal = checksum(0, &operation.request, sizeof request);
}
// The helper; false if it is not what the rank wrote.
[[nodiscard]] inline bool read_request(const GlobalOperation& operation, OperationRequest& request) {
  copy_once(&request, &operation.request, sizeof request);
  return copy_once(operation.seal) == checksum(0, &request, sizeof request);
}

} // namespace stoker::engine
