// SPDX-License-Identifier: BSD-3-Clause
// What the kernel needs of a device, in two forms: for nvcc, and for the host's compiler, where a block is one thread
// of the host.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#include <cuda/atomic>
#define STOKER_DEVICE __device__ inline
#else
#include <atomic>
#include <thread>
#define STOKER_DEVICE inline
#endif

namespace stoker::engine::device {

#ifdef __CUDACC__

// A word that only blocks of one device read and write.
using DeviceWord = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;
// A word that other devices and the host read and write as well.
using SystemWord = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>;
inline constexpr auto relaxed = cuda::memory_order_relaxed;
inline constexpr auto acquire = cuda::memory_order_acquire;
inline constexpr auto release = cuda::memory_order_release;
inline constexpr auto acquire_release = cuda::memory_order_acq_rel;

// Sequentially consistent, for the host and all devices.
STOKER_DEVICE void fence() { cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system); }
STOKER_DEVICE std::uint32_t thread() { return threadIdx.x; }
STOKER_DEVICE std::uint32_t threads() { return blockDim.x; }
// All threads of the block meet. What one wrote before, all may read after.
STOKER_DEVICE void meet() { __syncthreads(); }
// The same; returns whether any of them has said so.
STOKER_DEVICE bool any(bool own) { return __syncthreads_or(own) != 0; }
STOKER_DEVICE void pause() {}

#else

using DeviceWord = std::atomic_ref<std::uint64_t>;
using SystemWord = std::atomic_ref<std::uint64_t>;
inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acquire_release = std::memory_order_acq_rel;

STOKER_DEVICE void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
STOKER_DEVICE std::uint32_t thread() { return 0; }
STOKER_DEVICE std::uint32_t threads() { return 1; }
STOKER_DEVICE void meet() {}
STOKER_DEVICE bool any(bool own) { return own; }
STOKER_DEVICE void pause() { std::this_thread::yield(); } // there may be more blocks than cores

#endif

} // namespace stoker::engine::device
