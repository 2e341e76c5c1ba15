// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/kept_shapes.hpp"

#include <algorithm>
#include <utility>

namespace stoker::engine {

Shape* KeptShapes::of_next_call(const ShapeKey& key, bool trials, const std::function<void(Shape&)>& complete) {
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
