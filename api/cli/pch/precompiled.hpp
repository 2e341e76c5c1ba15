// SPDX-License-Identifier: BSD-3-Clause
// What many files of the program `stoker` include, for builds with -Db_pch=true; see engine/pch/precompiled.hpp.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>
