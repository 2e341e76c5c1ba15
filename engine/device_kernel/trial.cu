// SPDX-License-Identifier: BSD-3-Clause
// What the build compiles to see whether a compiler for devices works here, with the headers that the kernel needs.
#include <cuda/atomic>

__global__ void trial(unsigned long long* word) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_system>(*word).fetch_add(1, cuda::memory_order_release);
}
