// SPDX-License-Identifier: BSD-3-Clause
// When a solver stops, and what it solves with.
#pragma once

namespace conjugate_gradient {

struct Criterion {
  double tolerance = 1e-8; // on |r| / |b|
  int iterations = 10000;  // at most
  bool jacobi = false;
};

} // namespace conjugate_gradient
