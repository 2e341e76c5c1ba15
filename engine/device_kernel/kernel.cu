// SPDX-License-Identifier: BSD-3-Clause
// The kernel as a device launches it: `blocks` blocks for each rank of the launch, all of which have to run at the same
// time (a cooperative launch sees to that).
#include "engine/device_kernel/kernel.hpp"

extern "C" __global__ void __launch_bounds__(stoker::engine::device::threads_per_block)
stoker_run_programs(stoker::engine::device::Launch launch) {
  stoker::engine::device::run_block(launch, blockIdx.x);
}
