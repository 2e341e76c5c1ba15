// SPDX-License-Identifier: BSD-3-Clause
// Compiles when api/stoker.hpp needs nothing before it.
#include "api/stoker.hpp"
#include "api/stoker.hpp" // NOLINT(readability-duplicate-include): it may be included twice

[[maybe_unused]] static stoker::Request stoker_hpp_header_alone() { return stoker::Request(); }
