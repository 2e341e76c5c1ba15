// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/transfer_counters.hpp"

namespace stoker::engine {
namespace {

std::atomic<unsigned> threads_numbered{0};

} // namespace

constinit thread_local unsigned thread_number = 0;

unsigned number_this_thread() {
  thread_number = threads_numbered.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_number;
}

} // namespace stoker::engine
