// SPDX-License-Identifier: BSD-3-Clause
// Compiles when api/include/stoker/stoker_global.hpp needs nothing before it.
#include <stoker/stoker_global.hpp>
#include <stoker/stoker_global.hpp> // NOLINT(readability-duplicate-include): it may be included twice

[[maybe_unused]] static stoker::Transfer stoker_global_hpp_header_alone() { return stoker::Transfer(); }
