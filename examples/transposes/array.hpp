// SPDX-License-Identifier: BSD-3-Clause
// Arrays aligned as FFTW likes them, zeroed, and the owner of an FFTW plan.
#pragma once

#include <fftw3.h>

#include <complex>
#include <cstddef>
#include <memory>
#include <new>

namespace transposes {

using Complex = std::complex<double>;

struct FftwDeleter {
  void operator()(void* p) const { fftw_free(p); }
  void operator()(fftw_plan p) const { fftw_destroy_plan(p); }
};
using Plan = std::unique_ptr<fftw_plan_s, FftwDeleter>;
template <class T>
using AlignedArray = std::unique_ptr<T[], FftwDeleter>;

template <class T>
AlignedArray<T> aligned_array(std::size_t count) {
  auto* p = static_cast<T*>(fftw_malloc((count + 1) * sizeof(T))); // never of no bytes
  if (p == nullptr) {
    throw std::bad_alloc();
  }
  std::uninitialized_fill_n(p, count, T{});
  return AlignedArray<T>(p);
}

} // namespace transposes
