// SPDX-License-Identifier: BSD-3-Clause
#include "fake_clock.hpp"

#include "engine/base/clock.hpp"

#include <atomic>

namespace stoker::engine {
namespace {

std::atomic<std::uint64_t> now = 1; // some tests have threads

} // namespace

void fake_clock::set(std::uint64_t ns) { now = ns; }

std::uint64_t now_ns() { return now; }

} // namespace stoker::engine
