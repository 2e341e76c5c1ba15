// SPDX-License-Identifier: BSD-3-Clause
// What many files include from outside this repository, for builds with -Db_pch=true. Headers of our own would hide
// that a file lacks an include, or bring names along that it does not expect.
#include <fmt/format.h>
#include <mpi.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>
