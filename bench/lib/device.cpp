// SPDX-License-Identifier: BSD-3-Clause
// A device by the functions of its driver: see device.hpp.
#include "bench/lib/device.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace stoker::bench {

namespace {

// More blocks than any device runs at a time.
constexpr unsigned blocks = 4096;
constexpr unsigned threads_in_block = 256;

// Four independent chains, which tend to 1. What is stored never is: the compiler cannot know.
constexpr const char* compute_kernel = R"(
.version 7.0
.target sm_60
.address_size 64
.visible .entry chains(.param .u64 units, .param .u64 result)
{
  .reg .u64 %n, %out;
  .reg .f64 %a, %b, %c, %d;
  .reg .pred %more, %never;
  ld.param.u64 %n, [units];
  ld.param.u64 %out, [result];
  mov.f64 %a, 0d0000000000000000;
  mov.f64 %b, 0d4000000000000000;
  mov.f64 %c, 0d4008000000000000;
  mov.f64 %d, 0d4010000000000000;
again:
  fma.rn.f64 %a, %a, 0d3FEFF7CED916872B, 0d3F50624DD2F1A9FC;
  fma.rn.f64 %b, %b, 0d3FEFF7CED916872B, 0d3F50624DD2F1A9FC;
  fma.rn.f64 %c, %c, 0d3FEFF7CED916872B, 0d3F50624DD2F1A9FC;
  fma.rn.f64 %d, %d, 0d3FEFF7CED916872B, 0d3F50624DD2F1A9FC;
  sub.u64 %n, %n, 1;
  setp.ne.u64 %more, %n, 0;
  @%more bra again;
  add.f64 %a, %a, %b;
  add.f64 %c, %c, %d;
  add.f64 %a, %a, %c;
  setp.gt.f64 %never, %a, 0d7E37E43C8800759C;
  @%never st.global.f64 [%out], %a;
  ret;
}
)";

using Address = std::uint64_t;

// The driver's functions, by their names in its library.
class Driver {
public:
  explicit Driver(void* library) : library_(library) {}

  // A CUresult that is not success becomes an exception.
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    if (const int code = result_of(name, arguments...); code != 0) {
      throw std::runtime_error("device: " + std::string(name) + " failed: " + std::to_string(code));
    }
  }
  template <class... Arguments>
  [[nodiscard]] int result_of(const char* name, Arguments... arguments) const {
    auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    if (function == nullptr) {
      throw std::runtime_error("device: the driver has no " + std::string(name));
    }
    return function(arguments...);
  }

private:
  void* library_;
};

class CudaDevice final : public Device {
public:
  CudaDevice(Driver driver, int ordinal) : driver_(driver) {
    constexpr unsigned non_blocking = 1;
    int device = 0;
    void* context = nullptr;
    driver_.call<int*, int>("cuDeviceGet", &device, ordinal);
    char text[256] = {};
    driver_.call<char*, int, int>("cuDeviceGetName", text, static_cast<int>(sizeof text), device);
    name_ = text;
    driver_.call<void**, int>("cuDevicePrimaryCtxRetain", &context, device);
    driver_.call<void*>("cuCtxPushCurrent_v2", context); // the benchmark has one thread
    driver_.call<void**, unsigned>("cuStreamCreate", &copies_, non_blocking);
    driver_.call<void**, unsigned>("cuStreamCreate", &computation_, non_blocking);
    void* module = nullptr;
    driver_.call<void**, const void*>("cuModuleLoadData", &module, compute_kernel);
    driver_.call<void**, void*, const char*>("cuModuleGetFunction", &chains_, module, "chains");
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  std::byte* allocate(std::size_t bytes) override {
    Address address = 0;
    driver_.call<Address*, std::size_t>("cuMemAlloc_v2", &address, bytes);
    return reinterpret_cast<std::byte*>(address);
  }
  void free(std::byte* memory) override { driver_.call<Address>("cuMemFree_v2", reinterpret_cast<Address>(memory)); }
  std::byte* allocate_pinned(std::size_t bytes) override {
    void* pointer = nullptr;
    driver_.call<void**, std::size_t, unsigned>("cuMemHostAlloc", &pointer, bytes, 0U);
    return static_cast<std::byte*>(pointer);
  }
  void free_pinned(std::byte* memory) override { driver_.call<void*>("cuMemFreeHost", memory); }
  void copy_to_device(std::byte* target, std::span<const std::byte> source) override {
    driver_.call<Address, const void*, std::size_t, void*>("cuMemcpyHtoDAsync_v2", reinterpret_cast<Address>(target),
                                                           source.data(), source.size(), copies_);
    driver_.call<void*>("cuStreamSynchronize", copies_);
  }
  void copy_to_host(std::span<std::byte> target, const std::byte* source) override {
    driver_.call<void*, Address, std::size_t, void*>("cuMemcpyDtoHAsync_v2", target.data(),
                                                     reinterpret_cast<Address>(source), target.size(), copies_);
    driver_.call<void*>("cuStreamSynchronize", copies_);
  }
  void compute(std::uint64_t units) override {
    Address nowhere = 0;
    void* arguments[] = {&units, &nowhere};
    driver_.call<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**>(
        "cuLaunchKernel", chains_, blocks, 1, 1, threads_in_block, 1, 1, 0, computation_, arguments, nullptr);
    driver_.call<void*>("cuStreamSynchronize", computation_);
  }

private:
  Driver driver_;
  std::string name_;
  void* copies_ = nullptr; // streams
  void* computation_ = nullptr;
  void* chains_ = nullptr; // the kernel
};

} // namespace

std::shared_ptr<Device> Device::find(int rank_on_node) {
  const char* const name = std::getenv("STOKER_BENCH_DRIVER");
  void* const library = dlopen(name != nullptr ? name : "libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    return nullptr;
  }
  const Driver driver(library);
  int devices = 0;
  if (driver.result_of<unsigned>("cuInit", 0U) != 0 || driver.result_of<int*>("cuDeviceGetCount", &devices) != 0 ||
      devices == 0) {
    return nullptr;
  }
  return std::make_shared<CudaDevice>(driver, rank_on_node % devices);
}

DeviceArray::DeviceArray(std::shared_ptr<Device> device, std::size_t bytes)
    : device_(std::move(device)), memory_(device_->allocate(bytes)), pinned_(device_->allocate_pinned(bytes)),
      bytes_(bytes) {}

DeviceArray& DeviceArray::operator=(DeviceArray&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(memory_, other.memory_);
  std::swap(pinned_, other.pinned_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void DeviceArray::release() {
  if (device_ != nullptr) {
    device_->free(memory_);
    device_->free_pinned(pinned_);
  }
}

void DeviceArray::upload() const {
  if (device_ != nullptr) {
    device_->copy_to_device(memory_, copy());
  }
}
void DeviceArray::download() const {
  if (device_ != nullptr) {
    device_->copy_to_host(copy(), memory_);
  }
}

} // namespace stoker::bench
