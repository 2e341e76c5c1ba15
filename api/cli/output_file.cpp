// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/output_file.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace stoker::cli {

void check_writable(const std::string& option, const std::string& path) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string written = std::filesystem::exists(path, none) ? path : folder.empty() ? "." : folder.string();
  if (!path.empty() && access(written.c_str(), W_OK) != 0) {
    throw std::invalid_argument(
        fmt::format("{} {}: cannot be written: {}", option, path, std::generic_category().message(errno)));
  }
}

void write_output(const std::string& option, const std::string& path, const std::string& text) {
  if (!path.empty()) {
    std::ofstream file(path);
    if (file << text && file.flush()) {
      return;
    }
  }
  const int wrong = errno;
  fmt::print("{}", text);
  if (!path.empty()) {
    throw std::runtime_error(fmt::format("{} {}: {}", option, path, std::generic_category().message(wrong)));
  }
}

} // namespace stoker::cli
