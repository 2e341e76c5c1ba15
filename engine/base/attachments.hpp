// SPDX-License-Identifier: BSD-3-Clause
// Objects of higher rooms that live as long as an object of a lower one, which knows nothing else of them. One of each
// type.
#pragma once

#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>
#include <vector>

namespace stoker::engine {

// Any thread may use it. What is attached may not attach anything while it is made.
class Attachments {
public:
  // The attached T. The first call makes it, of `arguments`.
  template <class T, class... Arguments>
  [[nodiscard]] std::shared_ptr<T> get(Arguments&&... arguments) {
    const std::lock_guard lock(mutex_);
    const std::type_index type(typeid(T));
    for (const auto& [other, object] : objects_) {
      if (other == type) {
        return std::static_pointer_cast<T>(object);
      }
    }
    auto made = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    objects_.emplace_back(type, made);
    return made;
  }

  // The newest goes first. Each is out of the list before its destructor runs, which may lead here again.
  void clear() {
    std::shared_ptr<void> last;
    do {
      last.reset();
      const std::lock_guard lock(mutex_);
      if (!objects_.empty()) {
        last = std::move(objects_.back().second);
        objects_.pop_back();
      }
    } while (last != nullptr);
  }

private:
  std::mutex mutex_; // guards objects_
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> objects_;
};

} // namespace stoker::engine
