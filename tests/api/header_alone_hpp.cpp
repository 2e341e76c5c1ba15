// SPDX-License-Identifier: BSD-3-Clause
// Compiles when api/include/stoker/stoker.hpp needs nothing before it.
#include <stoker/stoker.hpp>
#include <stoker/stoker.hpp> // NOLINT(readability-duplicate-include): it may be included twice

[[maybe_unused]] static stoker::Request stoker_hpp_header_alone() { return stoker::Request(); }
