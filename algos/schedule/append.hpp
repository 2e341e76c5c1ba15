// SPDX-License-Identifier: BSD-3-Clause
// Appends what another range holds to a vector.
#pragma once

#include <vector>

namespace stoker::algos {

template <class T, class Range>
void append(std::vector<T>& to, const Range& more) {
  to.insert(to.end(), more.begin(), more.end());
}

} // namespace stoker::algos
