// SPDX-License-Identifier: BSD-3-Clause
// Atomic updates of many elements in one call. This rank itself writes those for other nodes into bundles, which its
// helper sends as they are.
#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/global/bundle.hpp"
#include "engine/global/global_memory.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

constexpr std::size_t most_bundles = 32; // each takes bundle_bytes of the arena

} // namespace

class GlobalMemory::Many {
public:
  Many(GlobalMemory& global, ElementType type, AtomicOp op, std::byte* results)
      : global_(global), type_(type), op_(op), results_(results) {}
  Many(const Many&) = delete;
  Many& operator=(const Many&) = delete;
  // What was begun is completed in any case: the helper uses the bundles.
  ~Many() {
    while (!under_way_.empty()) {
      collect();
    }
    for (const auto& [endpoint, bundle] : open_) {
      global_.memory_->arena().deallocate(bundle.staging);
    }
  }

  void add(const GlobalPointer& target, const std::byte* operand, std::size_t index) {
    const std::uint64_t bytes = size_of(type_);
    const SegmentPart part = global_.located_element(target, 1, type_);
    if (part.address != nullptr) {
      update_here(part.address, operand, index);
      return;
    }
    const BundleItem item{.kind = results_ != nullptr ? OperationKind::fetch_and_op : OperationKind::accumulate,
                          .type = type_,
                          .op = op_,
                          .arena = global_.engine_->arena_of(target.unit),
                          .place = part.place,
                          .bytes = bytes};
    const int endpoint = global_.endpoint_of(target.unit);
    auto open = open_.find(endpoint);
    if (open != open_.end() && !open->second.items.has_room(item)) {
      submit(open);
      open = open_.end();
    }
    if (open == open_.end()) {
      const std::uint64_t staging = global_.memory_->arena().allocate(bundle_bytes);
      open =
          open_.try_emplace(endpoint, Bundle{.staging = staging, .items = BundleWriter(at(staging)), .target = target})
              .first;
    }
    open->second.items.add(item, operand);
    open->second.indices.push_back(index);
  }

  // Throws the first error.
  void finish() {
    while (!open_.empty()) {
      submit(open_.begin());
    }
    while (!under_way_.empty()) {
      collect();
    }
    if (failure_) {
      throw Error(*failure_);
    }
  }

private:
  struct Bundle {
    std::uint64_t staging = 0; // in the arena; not the transfer's, which another thread's flush may settle
    BundleWriter items;
    GlobalPointer target;                  // the first
    std::vector<std::size_t> indices = {}; // of the updates
    Transfer* transfer = nullptr;          // once it is under way
  };

  [[nodiscard]] std::byte* at(std::uint64_t staging) const { return global_.memory_->arena().base() + staging; }

  void update_here(std::byte* element, const std::byte* operand, std::size_t index) {
    global_.counters_.add(TransferCounters::node_atomics, 1);
    if (results_ != nullptr) {
      engine::fetch_and_op(element, type_, op_, operand, results_ + (index * size_of(type_)));
    } else {
      engine::accumulate(element, type_, op_, operand, 1);
    }
  }

  void submit(std::map<int, Bundle>::iterator open) {
    if (under_way_.size() >= most_bundles) {
      collect();
    }
    const Bundle& written = open->second;
    Transfer& transfer = global_.take_transfer(OperationKind::bundle, written.target, {}, written.items.bytes(), false);
    OperationRequest& request = transfer.request;
    request.local = {.path = Path::staged, .offset = written.staging};
    request.result_bytes = written.items.result_bytes();
    request.items_seal = checksum(0, at(written.staging), written.items.bytes());
    under_way_.push_back(std::move(open->second));
    under_way_.back().transfer = &transfer;
    open_.erase(open);
    global_.counters_.add(TransferCounters::wire_atomics, under_way_.back().indices.size());
    global_.start(transfer);
  }

  void collect() { // the oldest
    const Bundle bundle = std::move(under_way_.front());
    under_way_.pop_front();
    Transfer& transfer = *bundle.transfer;
    const auto failed = attempt([&] {
      global_.wait(transfer);
      if (!transfer.lost && transfer.operation->error == 0 && results_ != nullptr) { // ordered by `completed`
        const std::uint64_t bytes = size_of(type_);
        const std::byte* from = at(bundle.staging);
        for (const std::size_t index : bundle.indices) {
          std::memcpy(results_ + (index * bytes), from, bytes);
          from += bytes;
        }
      }
    });
    if (!transfer.lost) { // else its helper may use it
      global_.memory_->arena().deallocate(bundle.staging);
    }
    const auto error = attempt([&] { global_.release(transfer); });
    failure_ = failure_ ? failure_ : failed ? failed : error;
  }

  GlobalMemory& global_;
  ElementType type_;
  AtomicOp op_;
  std::byte* results_;         // null: nobody wants them
  std::map<int, Bundle> open_; // by endpoint: being written
  std::deque<Bundle> under_way_;
  std::optional<Error> failure_;
};

void GlobalMemory::update_many(std::span<const GlobalPointer> targets, ElementType type, AtomicOp op,
                               const void* operands, void* results) {
  check_open();
  const std::uint64_t bytes = size_of(type);
  check_local(operands, op == AtomicOp::no_op ? 0 : targets.size() * bytes, "operands"); // a no_op has none
  for (std::size_t i = 0; i < targets.size(); ++i) {                                     // all, before any is updated
    if (const auto failed = attempt([&] { (void)located_element(targets[i], 1, type); })) {
      throw Error(failed->code(), "targets[{}]: {}", i, failed->what());
    }
  }
  if (op == AtomicOp::no_op && results == nullptr) {
    return;
  }
  Many many(*this, type, op, static_cast<std::byte*>(results));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    many.add(targets[i], operands == nullptr ? nullptr : static_cast<const std::byte*>(operands) + (i * bytes), i);
  }
  many.finish();
}

void GlobalMemory::fetch_and_op_many(std::span<const GlobalPointer> targets, ElementType type, AtomicOp op,
                                     const void* operands, void* results) {
  check_local(results, targets.size() * size_of(type), "results");
  update_many(targets, type, op, operands, results);
}

void GlobalMemory::accumulate_many(std::span<const GlobalPointer> targets, ElementType type, AtomicOp op,
                                   const void* operands) {
  update_many(targets, type, op, operands, nullptr);
}

} // namespace stoker::engine
