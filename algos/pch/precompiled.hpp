// SPDX-License-Identifier: BSD-3-Clause
// What many files of algos include, for builds with -Db_pch=true; see engine/pch/precompiled.hpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
