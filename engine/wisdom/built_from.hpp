// SPDX-License-Identifier: BSD-3-Clause
// The sources that this library was built from; engine/meson.build writes the definitions.
#pragma once

namespace stoker::engine {

extern const char* const stoker_version; // as in 0.1.0
extern const char* const algos_digest;   // SHA-256 of the sources that decide what programs are compiled

} // namespace stoker::engine
