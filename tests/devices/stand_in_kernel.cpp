// SPDX-License-Identifier: BSD-3-Clause
// The stand-in's kernels. The one that carries out programs is that of engine/device_kernel, compiled for the host: a
// block is a thread. Any other sleeps for as many microseconds as its first argument says.
#include "engine/device_kernel/kernel.hpp"
#include "tests/devices/stand_in.hpp"

#include <unistd.h>

#include <cstring>
#include <list>
#include <thread>
#include <vector>

namespace stand_in {
namespace {

namespace device = stoker::engine::device;

// As long as its context.
struct Function {
  const Context* context = nullptr;
  int resets = 0;
  bool runs_programs = false; // else it sleeps
};

// The tables of a launch, with addresses at which the host gets at the memory.
struct Reached {
  std::vector<std::byte*> buffers;
  std::vector<std::uint64_t*> words;
  std::vector<device::Control*> controls;
  device::Launch launch;
};

template <class T>
T* reach(Driver& d, T* pointer) {
  return reinterpret_cast<T*>(d.reach(reinterpret_cast<Address>(pointer)));
}

// False: a device would not get at all of it.
bool translate(const device::Launch& given, unsigned blocks, Reached& reached) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const int device = Driver::current()->device;
  const auto there = [&d, device](const void* pointer) {
    const Allocation* const found = d.find(reinterpret_cast<Address>(pointer));
    return found != nullptr && (found->device == device || found->kind == Kind::registered);
  };
  const auto at_home = [&d, device](const void* pointer) {
    const Allocation* const found = d.find(reinterpret_cast<Address>(pointer));
    return found != nullptr && (found->kind == Kind::imported ? found->home : found->device) == device;
  };
  if (!at_home(given.program) || !there(given.buffers) || !there(given.words) || !there(given.controls) ||
      !there(given.launched)) {
    return false;
  }
  reached.launch = given;
  reached.launch.program = reach(d, given.program);
  reached.launch.launched = reach(d, given.launched);
  for (std::uint32_t rank = 0; rank < reached.launch.program->ranks; ++rank) {
    for (std::uint32_t buffer = 0; buffer < 3; ++buffer) {
      std::byte* const address = reach(d, given.buffers)[3 * rank + buffer];
      if (address != nullptr && !there(address)) {
        return false;
      }
      reached.buffers.push_back(reach(d, address));
    }
    std::uint64_t* const words = reach(d, given.words)[rank];
    device::Control* const control = reach(d, given.controls)[rank];
    if (!there(words) || !there(control)) {
      return false;
    }
    reached.words.push_back(reach(d, words));
    reached.controls.push_back(control);
  }
  for (unsigned block = 0; block < blocks; block += given.blocks) {
    if (!at_home(reach(d, given.words)[reached.launch.launched[block / given.blocks]])) {
      return false;
    }
  }
  reached.launch.buffers = reached.buffers.data();
  reached.launch.words = reached.words.data();
  reached.launch.controls = reached.controls.data();
  return true;
}

int run(const device::Launch& launch, unsigned blocks) {
  Reached reached;
  if (!translate(launch, blocks, reached)) {
    return illegal_address;
  }
  std::vector<std::thread> threads;
  for (unsigned block = 0; block < blocks; ++block) {
    threads.emplace_back([&reached, block] { device::run_block(reached.launch, block); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return success;
}

int enqueue(void* stream, Step kernel) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  Stream* const queue = d.stream(stream);
  if (d.lost || queue == nullptr) {
    return d.lost ? device_lost : invalid_handle;
  }
  queue->add(std::move(kernel), true);
  return success;
}

} // namespace
} // namespace stand_in

using namespace stand_in; // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming): names are CUDA's.
extern "C" {

int cuModuleLoadData(void** module, const void* /*image*/) {
  *module = &driver();
  return success;
}

int cuModuleGetFunction(void** function, void* /*module*/, const char* name) {
  static auto& all = *new std::list<Function>;
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const Context* const context = Driver::current();
  all.push_back({context, context->resets, std::strcmp(name, "stoker_run_programs") == 0});
  *function = &all.back();
  return success;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* /*function*/, int /*threads*/,
                                                std::size_t /*shared_bytes*/) {
  *blocks = blocks_of_each;
  return success;
}

int cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned /*grid_y*/, unsigned /*grid_z*/,
                              unsigned /*block_x*/, unsigned /*block_y*/, unsigned /*block_z*/,
                              unsigned /*shared_bytes*/, void* stream, void** arguments) {
  const auto& kernel = *static_cast<const Function*>(function);
  Driver& d = driver();
  {
    const std::lock_guard lock(d.mutex);
    const Context* const context = Driver::current();
    if (!kernel.runs_programs || kernel.context != context || kernel.resets != context->resets) {
      return invalid_handle;
    }
    if (grid_x > multiprocessors * blocks_of_each || d.refuses_launches) {
      return launch_too_large;
    }
  }
  const auto launch = *static_cast<const device::Launch*>(arguments[0]);
  return enqueue(stream, [launch, grid_x] { return run(launch, grid_x); });
}

int cuLaunchKernel(void* /*function*/, unsigned /*grid_x*/, unsigned /*grid_y*/, unsigned /*grid_z*/,
                   unsigned /*block_x*/, unsigned /*block_y*/, unsigned /*block_z*/, unsigned /*shared_bytes*/,
                   void* stream, void** arguments, void** /*extra*/) {
  const auto microseconds = *static_cast<const std::uint64_t*>(arguments[0]);
  return enqueue(stream, [microseconds] {
    usleep(static_cast<useconds_t>(microseconds));
    return success;
  });
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
