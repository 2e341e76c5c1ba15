// SPDX-License-Identifier: BSD-3-Clause
// Order statistics of repeated measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace conjugate_gradient {

// `values` must not be empty.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// Median absolute deviation from the median.
inline double deviation(std::vector<double> values) {
  const double middle = median(values);
  std::ranges::transform(values, values.begin(), [&](double v) { return std::abs(v - middle); });
  return median(values);
}

} // namespace conjugate_gradient
