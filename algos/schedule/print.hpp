// SPDX-License-Identifier: BSD-3-Clause
// Programs in a readable form.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <string>
#include <string_view>

namespace stoker::algos {

[[nodiscard]] std::string_view name_of(Buffer buffer);

// "recv[64..96)"; "scratch[0..8) x4 every 32" for four blocks, each 32 bytes after the one before.
[[nodiscard]] std::string to_text(const Slice& slice);

// "step 5 (send to 3)". For messages; reads nothing that an invalid program could have wrong.
[[nodiscard]] std::string describe(const Step& step, StepId id);

// A heading, then one line a step: id, kind, peer, bytes, slices, and the steps that it waits for. The program must be
// free of defects. parse.hpp reads it back.
[[nodiscard]] std::string to_text(const Program& program);

} // namespace stoker::algos
