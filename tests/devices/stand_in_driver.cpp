// SPDX-License-Identifier: BSD-3-Clause
// A CUDA driver without a device: the functions that stoker and its tests call, with memory that the host cannot touch,
// but for managed memory. It computes nothing: a kernel sleeps for as many microseconds as its first argument says.
// Stricter than a real one: a copy happens when its stream is synchronized and not before, and memory takes no part in a
// copy while another device's context is current. It shows that each access is by the driver, and in the right order; it
// does not show how long anything takes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace {

// Results of cuda.h.
constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int invalid_context = 201;
constexpr int invalid_handle = 400;
constexpr int device_lost = 719;

using Address = std::uint64_t;

constexpr std::size_t arena_bytes = std::size_t{1} << 30U; // address space; memory is used for what is written
constexpr std::size_t page = 4096;
constexpr int devices = 2;

enum class Kind : std::uint8_t { device, pool, managed, pinned, registered };

struct Allocation {
  Kind kind = Kind::device;
  std::size_t bytes = 0;
  int device = 0;
};

struct Context {
  int device = 0;
  int resets = 0; // streams of before are no good
};

struct Stream {
  Context* context = nullptr;
  int resets = 0;
  std::vector<std::function<int()>> work;
};

// The memory of both devices: where programs are told that it is, nobody may look; the driver has it elsewhere.
struct Driver {
  Driver() {
    const int file = memfd_create("device memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, arena_bytes) != 0) {
      std::abort();
    }
    told = static_cast<std::byte*>(mmap(nullptr, arena_bytes, PROT_NONE, MAP_SHARED, file, 0));
    real = static_cast<std::byte*>(mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    if (told == MAP_FAILED || real == MAP_FAILED) {
      std::abort();
    }
  }

  // The allocation that a range lies in, or null.
  const Allocation* find(Address address, std::size_t bytes = 1) {
    auto entry = allocations.upper_bound(address);
    if (entry == allocations.begin()) {
      return nullptr;
    }
    entry = std::prev(entry);
    return address + bytes <= entry->first + entry->second.bytes ? &entry->second : nullptr;
  }
  Address beginning_of(Address address) { return std::prev(allocations.upper_bound(address))->first; }
  std::byte* reach(Address address) {
    auto* const pointer = reinterpret_cast<std::byte*>(address);
    return pointer >= told && pointer < told + arena_bytes ? real + (pointer - told) : pointer;
  }
  Context* current() { return stack.empty() ? nullptr : stack.back(); }
  int add(Address* address, std::size_t bytes, Kind kind) {
    if (current() == nullptr) {
      return invalid_context;
    }
    if (bytes == 0 || bytes > arena_bytes - used) {
      return bytes == 0 ? invalid_value : out_of_memory;
    }
    *address = reinterpret_cast<Address>(told + used);
    used += (bytes + 2 * page - 1) / page * page; // never given out again, so that late accesses show
    allocations[*address] = {kind, bytes, current()->device};
    return success;
  }

  std::mutex mutex;
  std::byte* told = nullptr;
  std::byte* real = nullptr;
  std::size_t used = 0;
  std::map<Address, Allocation> allocations;
  Context contexts[devices] = {{.device = 0}, {.device = 1}};
  bool lost = false;
  std::list<Stream> streams; // never destroyed: stoker keeps its own as long as the process lives
  static thread_local std::vector<Context*> stack;
};
thread_local std::vector<Context*> Driver::stack;

Driver& driver() {
  static auto* const one = new Driver;
  return *one;
}

// With the driver locked: whether `bytes` at the address are memory that the current context may copy.
int check_copy(Driver& d, Address address, std::size_t bytes) {
  const Allocation* const found = d.find(address, bytes);
  if (found == nullptr) {
    return invalid_value;
  }
  return d.current() != nullptr && d.current()->device == found->device ? success : invalid_context;
}

int enqueue(Address device, std::size_t bytes, void* stream, std::function<void()> copy) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (d.lost) {
    return device_lost;
  }
  if (const int code = check_copy(d, device, bytes); code != success) {
    return code;
  }
  auto* const queue = static_cast<Stream*>(stream);
  if (queue == nullptr || queue->context != d.current() || queue->resets != queue->context->resets) {
    return invalid_handle;
  }
  queue->work.emplace_back([&d, device, bytes, copy = std::move(copy)] {
    if (d.find(device, bytes) == nullptr) {
      return invalid_value; // freed meanwhile
    }
    copy();
    return success;
  });
  return success;
}

int add_host(void** pointer, std::size_t bytes, Kind kind) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (d.current() == nullptr) {
    return invalid_context;
  }
  *pointer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*pointer == MAP_FAILED) {
    return out_of_memory;
  }
  d.allocations[reinterpret_cast<Address>(*pointer)] = {kind, bytes, d.current()->device};
  return success;
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): names are CUDA's.
extern "C" {

int cuInit(unsigned /*flags*/) { return success; }

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < devices ? success : invalid_value;
}

int cuDeviceGetCount(int* count) {
  *count = devices;
  return success;
}

int cuDeviceGetName(char* name, int length, int /*device*/) {
  std::snprintf(name, static_cast<std::size_t>(length), "stand-in");
  return success;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &driver().contexts[device];
  return success;
}

int cuDevicePrimaryCtxReset_v2(int device) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  ++d.contexts[device].resets;
  std::erase_if(d.allocations, [device](const auto& entry) { return entry.second.device == device; });
  return success;
}

int cuCtxPushCurrent_v2(void* context) {
  if (context == nullptr) {
    return invalid_context;
  }
  Driver::stack.push_back(static_cast<Context*>(context));
  return success;
}

int cuCtxPopCurrent_v2(void** context) {
  if (Driver::stack.empty()) {
    return invalid_context;
  }
  *context = Driver::stack.back();
  Driver::stack.pop_back();
  return success;
}

int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  return d.add(address, bytes, Kind::device);
}

int cuMemAllocAsync(Address* address, std::size_t bytes, void* /*stream*/) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  return d.add(address, bytes, Kind::pool);
}

int cuMemAllocManaged(Address* address, std::size_t bytes, unsigned /*flags*/) {
  void* pointer = nullptr;
  const int code = add_host(&pointer, bytes, Kind::managed);
  *address = reinterpret_cast<Address>(pointer);
  return code;
}

int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned /*flags*/) {
  return add_host(pointer, bytes, Kind::pinned);
}

int cuMemFree_v2(Address address) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const auto entry = d.allocations.find(address);
  if (entry == d.allocations.end()) {
    return invalid_value;
  }
  if (entry->second.kind == Kind::managed || entry->second.kind == Kind::pinned) {
    munmap(reinterpret_cast<void*>(address), entry->second.bytes);
  }
  d.allocations.erase(entry);
  return success;
}

int cuMemFreeHost(void* pointer) { return cuMemFree_v2(reinterpret_cast<Address>(pointer)); }

int cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned /*flags*/) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (d.current() == nullptr) {
    return invalid_context;
  }
  const auto address = reinterpret_cast<Address>(pointer);
  const auto next = d.allocations.lower_bound(address);
  const bool overlaps = d.find(address) != nullptr || (next != d.allocations.end() && next->first < address + bytes);
  if (address % page != 0 || bytes % page != 0 || overlaps) {
    return invalid_value;
  }
  d.allocations[address] = {Kind::registered, bytes, d.current()->device};
  return success;
}

int cuMemHostUnregister(void* pointer) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const auto entry = d.allocations.find(reinterpret_cast<Address>(pointer));
  if (entry == d.allocations.end() || entry->second.kind != Kind::registered) {
    return invalid_value;
  }
  d.allocations.erase(entry);
  return success;
}

int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, Address pointer) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const Allocation* const found = d.find(pointer);
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
    case 1: // context
      *static_cast<void**>(values[i]) =
          found != nullptr && found->kind != Kind::pool ? &d.contexts[found->device] : nullptr;
      break;
    case 2: // type of memory: host's or device's
      *static_cast<unsigned*>(values[i]) = found == nullptr                                                 ? 0
                                           : found->kind == Kind::pinned || found->kind == Kind::registered ? 1
                                                                                                            : 2;
      break;
    case 8: // is it managed?
      *static_cast<unsigned*>(values[i]) = found != nullptr && found->kind == Kind::managed ? 1 : 0;
      break;
    case 9: // device
      *static_cast<int*>(values[i]) = found != nullptr ? found->device : -2;
      break;
    case 11: // beginning and length of the allocation
      *static_cast<Address*>(values[i]) = found != nullptr ? d.beginning_of(pointer) : 0;
      break;
    case 12:
      *static_cast<std::size_t*>(values[i]) = found != nullptr ? found->bytes : 0;
      break;
    default:
      return invalid_value;
    }
  }
  return success;
}

int cuStreamCreate(void** stream, unsigned flags) {
  Driver& d = driver();
  if (flags != 1 || d.current() == nullptr) { // one that waits for the default stream hides nothing
    return d.current() == nullptr ? invalid_context : invalid_value;
  }
  const std::lock_guard lock(d.mutex);
  *stream = &d.streams.emplace_back(Stream{d.current(), d.current()->resets, {}});
  return success;
}

int cuStreamSynchronize(void* stream) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  auto* const queue = static_cast<Stream*>(stream);
  const auto work = std::exchange(queue->work, {});
  int first = d.lost ? device_lost : success;
  for (const auto& step : work) {
    if (first == success) {
      first = step();
    }
  }
  return first;
}

int cuMemcpyDtoHAsync_v2(void* target, Address source, std::size_t bytes, void* stream) {
  return enqueue(source, bytes, stream, [=] { std::memcpy(target, driver().reach(source), bytes); });
}

int cuMemcpyHtoDAsync_v2(Address target, const void* source, std::size_t bytes, void* stream) {
  return enqueue(target, bytes, stream, [=] { std::memcpy(driver().reach(target), source, bytes); });
}

int cuModuleLoadData(void** module, const void* /*image*/) {
  *module = &driver();
  return success;
}

int cuModuleGetFunction(void** function, void* module, const char* /*name*/) {
  *function = module;
  return success;
}

int cuLaunchKernel(void* /*function*/, unsigned /*grid_x*/, unsigned /*grid_y*/, unsigned /*grid_z*/,
                   unsigned /*block_x*/, unsigned /*block_y*/, unsigned /*block_z*/, unsigned /*shared_bytes*/,
                   void* stream, void** arguments, void** /*extra*/) {
  const auto microseconds = *static_cast<const std::uint64_t*>(arguments[0]);
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  static_cast<Stream*>(stream)->work.emplace_back([microseconds] {
    usleep(static_cast<useconds_t>(microseconds));
    return success;
  });
  return success;
}

// For the tests, as they would with a real driver.
int cuMemcpyDtoH_v2(void* target, Address source, std::size_t bytes) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const int code = check_copy(d, source, bytes);
  if (code == success) {
    std::memcpy(target, d.reach(source), bytes);
  }
  return code;
}

int cuMemcpyHtoD_v2(Address target, const void* source, std::size_t bytes) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const int code = check_copy(d, target, bytes);
  if (code == success) {
    std::memcpy(d.reach(target), source, bytes);
  }
  return code;
}

int cuGetErrorName(int code, const char** text) {
  *text = code == invalid_value     ? "CUDA_ERROR_INVALID_VALUE"
          : code == out_of_memory   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == invalid_context ? "CUDA_ERROR_INVALID_CONTEXT"
          : code == invalid_handle  ? "CUDA_ERROR_INVALID_HANDLE"
          : code == device_lost     ? "CUDA_ERROR_LAUNCH_FAILED"
                                    : nullptr;
  return *text != nullptr ? success : invalid_value;
}

// Not of CUDA: how many ranges of the host's memory are registered; and the devices are lost, or are there again.
std::size_t stand_in_registered() {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  std::size_t count = 0;
  for (const auto& [address, allocation] : d.allocations) {
    count += allocation.kind == Kind::registered ? 1 : 0;
  }
  return count;
}
void stand_in_lose(int lost) { driver().lost = lost != 0; }

} // extern "C"
// NOLINTEND(readability-identifier-naming)
