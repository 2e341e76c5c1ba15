// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/bundle.hpp"

namespace stoker::engine {

std::uint64_t execute_bundle(const NodeMemory& memory, std::span<const std::byte> items, std::byte* results) {
  std::uint64_t written = 0;
  while (items.size() >= sizeof(BundleItem)) {
    BundleItem item;
    std::memcpy(&item, items.data(), sizeof item);
    items = items.subspan(sizeof item);
    if (item.operand_bytes() > items.size()) {
      break;
    }
    const std::byte* const operands = items.data();
    std::byte* const target = memory.base(item.arena) + item.place;
    std::byte* const result = results + written;
    switch (item.kind) {
    case OperationKind::put:
      store_shared(target, operands, item.bytes);
      break;
    case OperationKind::get:
      load_shared(result, target, item.bytes);
      break;
    case OperationKind::fetch_and_op:
      fetch_and_op(target, item.type, item.op, operands, result);
      break;
    case OperationKind::compare_and_swap:
      compare_and_swap(target, item.type, operands, operands + item.bytes, result);
      break;
    case OperationKind::accumulate:
      accumulate(target, item.type, item.op, operands, item.bytes / size_of(item.type));
      break;
    case OperationKind::bundle: // no item
    case OperationKind::expose:
    case OperationKind::conceal:
      break;
    }
    items = items.subspan(item.operand_bytes());
    written += item.result_bytes();
  }
  return written;
}

} // namespace stoker::engine
