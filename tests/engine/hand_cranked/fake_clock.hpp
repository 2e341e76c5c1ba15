// SPDX-License-Identifier: BSD-3-Clause
// The engine's clock in these tests: now_ns() is defined here, and the linker leaves out the engine's own.
#pragma once

#include <cstdint>

namespace stoker::engine::fake_clock {

void set(std::uint64_t ns);

} // namespace stoker::engine::fake_clock
