// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/kernel_file.hpp"

#include "engine/base/error.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace stoker::engine {
namespace {

constexpr const char* kernel_file_name = "stoker_kernel.fatbin";

// Folder of the library or program.
std::filesystem::path own_folder() {
  Dl_info info{};
  std::error_code error;
  return dladdr(reinterpret_cast<const void*>(&kernel_file), &info) != 0 && info.dli_fname != nullptr
             ? std::filesystem::canonical(info.dli_fname, error).parent_path()
             : std::filesystem::path();
}

} // namespace

std::string kernel_file(const std::string& setting) {
  if (setting != "auto") {
    return setting;
  }
  const std::filesystem::path folder = own_folder();
  if (folder.empty()) {
    return "";
  }
  // Installed: below the libraries' folder. In the build tree: a sibling of that, or of the folder above it.
  for (const char* place : {"stoker", "../engine", "../../engine"}) {
    const std::filesystem::path path = folder / place / kernel_file_name;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) {
      return path.lexically_normal();
    }
  }
  return "";
}

std::vector<std::byte> kernel_image(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || text.empty()) {
    throw Error(Code::resource, "device_kernel: {} cannot be read, or is empty; expected stoker_kernel.fatbin", path);
  }
  const auto* const begin = reinterpret_cast<const std::byte*>(text.c_str());
  return {begin, begin + text.size() + 1};
}

} // namespace stoker::engine
