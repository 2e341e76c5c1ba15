// SPDX-License-Identifier: BSD-3-Clause
// Objects of higher rooms that live as long as an object of a lower one, which knows nothing else of them. One of each
// type.
#pragma once

#include "engine/base/one_thread.hpp"

#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

namespace stoker::engine {

// Used by one thread at a time.
class Attachments {
public:
  // The attached T. The first call makes it, of `arguments`.
  template <class T, class... Arguments>
  [[nodiscard]] std::shared_ptr<T> get(Arguments&&... arguments) {
    const OneThread::Use use(one_thread_);
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
    const OneThread::Use use(one_thread_);
    while (!objects_.empty()) {
      const auto last = std::move(objects_.back());
      objects_.pop_back();
    }
  }

private:
  OneThread one_thread_{"Attachments"};
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> objects_;
};

} // namespace stoker::engine
