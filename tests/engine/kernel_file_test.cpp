// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/kernel_file.hpp"

#include "engine/base/error.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace stoker::engine {
namespace {

// A file beside this program.
std::filesystem::path beside(const char* name) {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / name;
}

TEST(KernelFile, IsWhatTheSettingNames) { EXPECT_EQ(kernel_file("/nowhere/kernel"), "/nowhere/kernel"); }

TEST(KernelFile, IsFoundBesideTheCode) {
  const std::filesystem::path folder = beside("stoker");
  std::filesystem::create_directory(folder);
  const std::filesystem::path path = folder / "stoker_kernel.fatbin";
  std::ofstream(path) << "kernel";
  EXPECT_EQ(kernel_file("auto"), path.string());
  std::filesystem::remove_all(folder);
  EXPECT_NE(kernel_file("auto"), path.string());
}

TEST(KernelFile, IsReadWholeWithAZeroBehindIt) {
  const std::filesystem::path path = beside("kernel_file_test.bytes");
  std::ofstream(path, std::ios::binary) << "a" << '\0' << "b";
  const std::vector<std::byte> expected = {std::byte{'a'}, std::byte{0}, std::byte{'b'}, std::byte{0}};
  EXPECT_EQ(kernel_image(path), expected);
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_THROW((void)kernel_image(path), Error); // empty
  std::filesystem::remove(path);
  EXPECT_THROW((void)kernel_image(path), Error);
}

} // namespace
} // namespace stoker::engine
