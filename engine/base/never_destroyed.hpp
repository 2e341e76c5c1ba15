// SPDX-License-Identifier: BSD-3-Clause
// A global object that is there for as long as the process. Destructors of the application's own
// global objects may still use it. It takes no memory from the heap while the library is loaded,
// where an error would end the process.
#pragma once

namespace stoker::engine {

template <class T>
union NeverDestroyed {
  T object;

  constexpr NeverDestroyed() : object() {}
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;
  constexpr ~NeverDestroyed() {} // NOLINT(modernize-use-equals-default): it would be deleted
};

} // namespace stoker::engine
