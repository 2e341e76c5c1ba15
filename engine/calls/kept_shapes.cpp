// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/kept_shapes.hpp"

#include <algorithm>
#include <utility>

namespace stoker::engine {

Shape* KeptShapes::of_next_call(const ShapeKey& key, const RouteTrials& trials,
                                const std::function<void(Shape&)>& complete) {
  if (key.small) {
    return of_small_call(key, trials, complete);
  }
  ++calls_;
  const auto found = std::ranges::find_if(kept_, [&](const auto& shape) { return shape->key == key; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    kept_.front()->latest_call = calls_;
    return kept_.front().get();
  }
  auto shape = std::make_unique<Shape>(key, trials);
  shape->latest_call = calls_;
  if (shape->sizes_known() && counted_ == most) {
    auto unused = kept_.end(); // for longest
    do {
      --unused;
    } while (!(*unused)->sizes_known());
    if (!comes_often(key) || calls_ - (*unused)->latest_call < calls_to_go) {
      return nullptr;
    }
    complete(*shape);
    leaving_.splice(leaving_.end(), kept_, unused);
  } else {
    complete(*shape);
    counted_ += shape->sizes_known() ? 1 : 0;
  }
  return kept_.emplace_front(std::move(shape)).get();
}

Shape* KeptShapes::of_small_call(const ShapeKey& key, const RouteTrials& trials,
                                 const std::function<void(Shape&)>& complete) {
  const auto found = std::ranges::find_if(small_, [&](const auto& shape) { return shape->key == key; });
  if (found != small_.end()) {
    return found->get();
  }
  if (small_.size() == most_small) {
    return nullptr;
  }
  auto shape = std::make_unique<Shape>(key, trials);
  complete(*shape);
  return small_.emplace_back(std::move(shape)).get();
}

KeptShapes::KnownSmallCall& KeptShapes::known_small(const SmallCall& call) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  const std::uint64_t mixed =
      (call.bytes * 4096) + (static_cast<std::uint64_t>(call.root) * 64) + static_cast<std::uint64_t>(call.collective);
  const std::uint64_t hash = mixed * golden;
  return known_small_[(hash >> 32) % known_small_.size()];
}

KeptShapes::Needs KeptShapes::of_next_small_call(const SmallCall& call, bool none_waits) {
  const KnownSmallCall& known = known_small(call);
  if (!known.known || known.call != call) {
    return Needs::a_look;
  }
  if (known.shape == nullptr) {
    return Needs::no_place;
  }
  if (!none_waits || !known.shape->trials.passes(known.shape->calls)) {
    return Needs::a_look;
  }
  ++known.shape->calls;
  ++known.shape->ended;
  return Needs::nothing;
}

void KeptShapes::note_small(const SmallCall& call, Shape* shape) { known_small(call) = {true, call, shape}; }

// Counts the calls of keys without a place.
bool KeptShapes::comes_often(const ShapeKey& key) {
  const auto found = std::ranges::find(candidates_, key, &Candidate::key);
  if (found == candidates_.end()) {
    candidates_.push_front({key, 0});
  } else {
    candidates_.splice(candidates_.begin(), candidates_, found);
  }
  if (candidates_.size() > most) {
    candidates_.pop_back();
  }
  return ++candidates_.front().calls >= calls_to_come;
}

void KeptShapes::sweep() {
  std::erase_if(leaving_, [](const std::unique_ptr<Shape>& shape) { return shape->over(); });
}

void KeptShapes::forget_latest() {
  counted_ -= kept_.front()->sizes_known() ? 1 : 0;
  kept_.pop_front();
}

} // namespace stoker::engine
