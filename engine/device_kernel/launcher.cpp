// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device_kernel/launcher.hpp"

#include "engine/base/error.hpp"
#include "engine/device/device_context.hpp"
#include "engine/device/kernel_file.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace stoker::engine::device {
namespace {

// Values of cuda.h.
constexpr int multiprocessors = 16;
constexpr int cooperative_launch = 95;

void expect(const Driver& driver, int code, const char* call, const std::string& path) {
  if (code != 0) {
    throw Error(Code::unsupported,
                "{} failed ({}) for {}; expected a device that it was compiled for, and a driver of the compiler's "
                "major version or newer",
                call, driver.name_of(code), path);
  }
}

Kernel load(const Device& device, const std::string& path) {
  const Driver& driver = *device.driver;
  if (device.attribute(cooperative_launch) == 0) {
    throw Error(Code::unsupported, "the device has no cooperative launches; expected one that has");
  }
  const std::vector<std::byte> image = kernel_image(path);
  const CurrentContext current(driver, device.context);
  current.check_entered();
  Kernel kernel;
  void* module = nullptr;
  expect(driver, driver.kernels.load_module(&module, image.data()), "cuModuleLoadData", path);
  expect(driver, driver.kernels.function_of(&kernel.function, module, "stoker_run_programs"), "cuModuleGetFunction",
         path);
  int blocks = 0;
  expect(driver, driver.kernels.blocks_at_a_time(&blocks, kernel.function, threads_per_block, 0),
         "cuOccupancyMaxActiveBlocksPerMultiprocessor", path);
  kernel.most_blocks = static_cast<std::uint32_t>(blocks * device.attribute(multiprocessors));
  return kernel;
}

} // namespace

Kernel kernel_in(const Device& device, const std::string& path) {
  const unsigned long long context = device.context_number();
  static std::mutex mutex;
  static auto& loaded = *new std::map<std::pair<unsigned long long, std::string>, Kernel>; // until the process ends
  const std::lock_guard lock(mutex);
  const auto known = loaded.find({context, path});
  return known != loaded.end() ? known->second : loaded.try_emplace({context, path}, load(device, path)).first->second;
}

void launch(const Device& device, const Kernel& kernel, const OwnStream& stream, Launch arguments,
            std::uint32_t blocks) {
  const Driver& driver = *device.driver;
  const CurrentContext current(driver, device.context);
  current.check_entered();
  void* places[] = {&arguments};
  const int code = driver.kernels.launch_cooperative(kernel.function, blocks, 1, 1, threads_per_block, 1, 1, 0,
                                                     stream.handle(), places);
  check(driver, code, "cuLaunchCooperativeKernel", arguments.program);
}

} // namespace stoker::engine::device
