// SPDX-License-Identifier: BSD-3-Clause
// Short operations that travel to a target together, in one message. Each is an item, with its operands behind it; the
// target executes the items in their order and answers with their results, one behind the other. Items are written by
// the origin's helper, or by a rank that makes many atomic updates in one call.
#pragma once

#include "engine/global/global_operation.hpp"
#include "engine/shared/node_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace stoker::engine {

struct BundleItem {
  OperationKind kind = OperationKind::put;
  ElementType type = ElementType::int32; // atomics
  AtomicOp op = AtomicOp::no_op;
  std::uint8_t unused = 0;
  std::uint32_t arena = 0; // the target's, among those of its node
  std::uint64_t place = 0; // offset in it
  std::uint64_t bytes = 0; // of target memory

  // What follows the item, and what comes back for it.
  [[nodiscard]] std::uint64_t operand_bytes() const {
    if (kind == OperationKind::get || (kind == OperationKind::fetch_and_op && op == AtomicOp::no_op)) {
      return 0;
    }
    return kind == OperationKind::compare_and_swap ? 2 * bytes : bytes;
  }
  [[nodiscard]] std::uint64_t result_bytes() const {
    return kind == OperationKind::put || kind == OperationKind::accumulate ? 0 : bytes;
  }
};
static_assert(std::is_trivially_copyable_v<BundleItem> && std::has_unique_object_representations_v<BundleItem>);

// A put, get or piece of an accumulate is no longer. A put takes a second item for its signal.
inline constexpr std::uint64_t longest_in_bundle = 4096;
inline constexpr std::uint64_t bundle_bytes =
    longest_in_bundle + (2 * sizeof(BundleItem)) + sizeof(std::uint64_t); // of items with their operands
inline constexpr std::uint64_t bundle_result_bytes = longest_in_bundle;

// Writes items with their operands, one behind the other, where there is room for bundle_bytes.
class BundleWriter {
public:
  explicit BundleWriter(std::byte* begin) : begin_(begin) {}
  // For that many bytes of items with their operands, and that many bytes of results.
  [[nodiscard]] bool has_room(std::uint64_t item_bytes, std::uint64_t result_bytes) const {
    return bytes_ + item_bytes <= bundle_bytes && result_bytes_ + result_bytes <= bundle_result_bytes;
  }
  [[nodiscard]] bool has_room(const BundleItem& item) const {
    return has_room(sizeof item + item.operand_bytes(), item.result_bytes());
  }
  // Where the next item goes, and its operands.
  [[nodiscard]] std::byte* end() const { return begin_ + bytes_; }
  [[nodiscard]] std::byte* operands() const { return end() + sizeof(BundleItem); }
  // An item whose operands are there already.
  void add(const BundleItem& item) {
    std::memcpy(end(), &item, sizeof item);
    add_written(sizeof item + item.operand_bytes(), item.result_bytes());
  }
  void add(const BundleItem& item, const void* operand) {
    if (item.operand_bytes() > 0) {
      std::memcpy(operands(), operand, item.operand_bytes());
    }
    add(item);
  }
  // Items that are there already.
  void add_written(std::uint64_t item_bytes, std::uint64_t result_bytes) {
    bytes_ += item_bytes;
    result_bytes_ += result_bytes;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t result_bytes() const { return result_bytes_; }

private:
  std::byte* begin_;
  std::uint64_t bytes_ = 0;
  std::uint64_t result_bytes_ = 0;
};

// Executes the items on memory of this node and returns how many bytes of results it has written; there must be room
// for bundle_result_bytes.
std::uint64_t execute_bundle(const NodeMemory& memory, std::span<const std::byte> items, std::byte* results);

} // namespace stoker::engine
