// SPDX-License-Identifier: BSD-3-Clause
// The stand-in's contexts and memory.
#include "tests/devices/stand_in.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

namespace stand_in {

thread_local std::vector<Context*> Driver::stack;

Driver::Driver() {
  file = memfd_create("device memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, arena_bytes) != 0) {
    std::abort();
  }
  told = static_cast<std::byte*>(mmap(nullptr, arena_bytes, PROT_NONE, MAP_SHARED, file, 0));
  real = static_cast<std::byte*>(mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  if (told == MAP_FAILED || real == MAP_FAILED) {
    std::abort();
  }
}

Allocation* Driver::find(Address address, std::size_t bytes) {
  auto entry = allocations.upper_bound(address);
  if (entry == allocations.begin()) {
    return nullptr;
  }
  entry = std::prev(entry);
  return address + bytes <= entry->first + entry->second.bytes ? &entry->second : nullptr;
}

std::byte* Driver::reach(Address address) const {
  auto* const pointer = reinterpret_cast<std::byte*>(address);
  return pointer >= told && pointer < told + arena_bytes ? real + (pointer - told) : pointer;
}

int Driver::add(Address* address, std::size_t bytes, Kind kind) {
  if (current() == nullptr) {
    return invalid_context;
  }
  if (bytes == 0 || bytes > arena_bytes - used) {
    return bytes == 0 ? invalid_value : out_of_memory;
  }
  *address = reinterpret_cast<Address>(told + used);
  used += (bytes + 2 * page - 1) / page * page; // never given out again, so that late accesses show
  allocations[*address] = {kind, bytes, current()->device, ++ids};
  return success;
}

Stream* Driver::stream(void* handle) {
  auto* const one = static_cast<Stream*>(handle);
  return one != nullptr && one->good(current()) ? one : nullptr;
}

Driver& driver() {
  static auto* const one = new Driver;
  return *one;
}

bool told_to(const char* name) { return std::getenv(name) != nullptr; }

namespace {

// What an IPC handle says.
struct Exported {
  pid_t pid = 0;
  int file = -1;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  int device = 0;
};

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
  d.allocations[reinterpret_cast<Address>(*pointer)] = {kind, bytes, d.current()->device, ++d.ids};
  return success;
}

// Another process's allocations by what their handles say: memory has one address however often it is imported.
std::map<std::pair<pid_t, std::uint64_t>, Address>& imports() {
  static auto* const all = new std::map<std::pair<pid_t, std::uint64_t>, Address>;
  return *all;
}

// With the driver locked: maps the other process's memory where this process has its own.
int map_exported(const Exported& from, Address address) {
  const std::string path = "/proc/" + std::to_string(from.pid) + "/fd/" + std::to_string(from.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return invalid_value;
  }
  void* const mapped = mmap(driver().reach(address), from.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                            static_cast<off_t>(from.offset));
  close(file);
  return mapped == MAP_FAILED ? invalid_value : success;
}

// With the driver locked: the value of one attribute. False: there is no such.
bool write_attribute(Driver& d, int name, Address pointer, void* value) {
  const Allocation* const found = d.find(pointer);
  const bool host = found != nullptr && (found->kind == Kind::pinned || found->kind == Kind::registered);
  switch (name) {
  case 1: // context
    *static_cast<void**>(value) = found != nullptr && found->kind != Kind::pool ? &d.contexts[found->device] : nullptr;
    return true;
  case 2: // type of memory: host's or device's
    *static_cast<unsigned*>(value) = found == nullptr ? 0 : host ? 1 : 2;
    return true;
  case 6: // synchronous calls are complete when they return
    *static_cast<unsigned*>(value) = found != nullptr ? found->settles : 0;
    return true;
  case 7: // the allocation's own number
    *static_cast<std::uint64_t*>(value) = found != nullptr ? found->id : 0;
    return found != nullptr;
  case 8: // is it managed?
    *static_cast<unsigned*>(value) = found != nullptr && found->kind == Kind::managed ? 1 : 0;
    return true;
  case 9: // device
    *static_cast<int*>(value) = found != nullptr ? found->device : -2;
    return true;
  case 10: // can other processes have it?
    *static_cast<unsigned*>(value) = found != nullptr && found->kind == Kind::device ? 1 : 0;
    return true;
  case 11: // beginning and length of the allocation
    *static_cast<Address*>(value) = found != nullptr ? d.beginning_of(pointer) : 0;
    return true;
  case 12:
    *static_cast<std::size_t*>(value) = found != nullptr ? found->bytes : 0;
    return true;
  default:
    return false;
  }
}

} // namespace
} // namespace stand_in

using namespace stand_in; // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming): names are CUDA's.
extern "C" {

struct CUipcMemHandle {
  char reserved[64];
};

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

int cuDeviceGetUuid_v2(void* uuid, int device) {
  std::memset(uuid, device + 1, 16);
  return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  switch (attribute) {
  case 16:
    *value = multiprocessors;
    return success;
  case 95: // cooperative launches
    *value = 1;
    return success;
  case 122: // words of 64 bits in streams
    *value = told_to("STAND_IN_NO_STREAM_WORDS") ? 0 : 1;
    return success;
  case 133: // runs processes at the same time
    *value = told_to("STAND_IN_MPS") ? 1 : 0;
    return success;
  default:
    return invalid_value;
  }
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

int cuCtxGetId(void* context, unsigned long long* id) {
  const auto* const one = static_cast<const Context*>(context);
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  *id = static_cast<unsigned long long>(one->resets) * devices + static_cast<unsigned long long>(one->device);
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
  std::vector<Stream*> streams;
  {
    const std::lock_guard lock(d.mutex);
    for (Stream& stream : d.streams) {
      if (stream.good(Driver::current())) {
        streams.push_back(&stream);
      }
    }
  }
  for (Stream* const stream : streams) {
    stream->settle();
  }
  const std::lock_guard lock(d.mutex);
  const auto entry = d.allocations.find(address);
  if (entry == d.allocations.end() || entry->second.kind == Kind::imported) {
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
  d.allocations[address] = {Kind::registered, bytes, d.current()->device, ++d.ids};
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

int cuMemHostGetDevicePointer_v2(Address* address, void* host, unsigned /*flags*/) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  *address = reinterpret_cast<Address>(host);
  const Allocation* const found = d.find(*address);
  return found != nullptr && found->kind == Kind::registered ? success : invalid_value;
}

int cuIpcGetMemHandle(CUipcMemHandle* handle, Address address) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const auto entry = d.allocations.find(address);
  if (entry == d.allocations.end() || entry->second.kind != Kind::device) {
    return invalid_value;
  }
  const Exported exported{getpid(), d.file, address - reinterpret_cast<Address>(d.told), entry->second.bytes,
                          entry->second.device};
  *handle = {};
  std::memcpy(handle, &exported, sizeof exported);
  return success;
}

int cuIpcOpenMemHandle_v2(Address* address, CUipcMemHandle handle, unsigned /*flags*/) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  Exported from;
  std::memcpy(static_cast<void*>(&from), &handle, sizeof from);
  if (from.pid == getpid() || d.current() == nullptr) {
    return invalid_context; // a process has its own memory already
  }
  if (d.current()->device != from.device && told_to("STAND_IN_NO_PEER_ACCESS")) {
    return no_peer_access;
  }
  if (told_to("STAND_IN_NO_IPC")) {
    return invalid_value;
  }
  const auto [known, is_new] = imports().try_emplace({from.pid, from.offset}, 0);
  if (is_new) {
    int code = d.add(&known->second, from.bytes, Kind::imported);
    code = code == success ? map_exported(from, known->second) : code;
    if (code != success) {
      imports().erase(known);
      return code;
    }
  }
  *address = known->second;
  Allocation& imported = d.allocations[*address];
  ++imported.imports;
  imported.home = from.device;
  return imported.device == d.current()->device ? success : invalid_context; // one context of a process has it
}

int cuIpcCloseMemHandle(Address address) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const auto entry = d.allocations.find(address);
  if (entry == d.allocations.end() || entry->second.kind != Kind::imported) {
    return invalid_value;
  }
  if (--entry->second.imports == 0) {
    std::erase_if(imports(), [address](const auto& one) { return one.second == address; });
    mmap(d.reach(address), entry->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    d.allocations.erase(entry);
  }
  return success;
}

int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, Address pointer) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  ++d.questions;
  for (unsigned i = 0; i < count; ++i) {
    if (!write_attribute(d, attributes[i], pointer, values[i])) {
      return invalid_value;
    }
  }
  return success;
}

// How often the driver was asked for a pointer.
int stand_in_questions() {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  return d.questions;
}

int cuPointerSetAttribute(const void* /*value*/, int attribute, Address pointer) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  Allocation* const found = d.find(pointer);
  if (attribute != 6 || found == nullptr || found->kind != Kind::device) {
    return invalid_value;
  }
  found->settles = 1;
  return success;
}

int cuGetErrorName(int code, const char** text) {
  static const std::map<int, const char*> names = {{invalid_value, "CUDA_ERROR_INVALID_VALUE"},
                                                   {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {invalid_context, "CUDA_ERROR_INVALID_CONTEXT"},
                                                   {no_peer_access, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
                                                   {invalid_handle, "CUDA_ERROR_INVALID_HANDLE"},
                                                   {not_found, "CUDA_ERROR_NOT_FOUND"},
                                                   {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                   {device_lost, "CUDA_ERROR_LAUNCH_FAILED"},
                                                   {launch_too_large, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"}};
  const auto found = names.find(code);
  *text = found != names.end() ? found->second : nullptr;
  return *text != nullptr ? success : invalid_value;
}

// Not of CUDA: how many ranges of the host's memory are registered; the devices are lost, or are there again; launches
// are refused; streams are captured.
std::size_t stand_in_registered() {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  std::size_t count = 0;
  for (const auto& [address, allocation] : d.allocations) {
    count += allocation.kind == Kind::registered ? 1 : 0;
  }
  return count;
}
void stand_in_lose(int lost) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.lost = lost != 0;
}
void stand_in_refuse_launches(int refuses) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.refuses_launches = refuses != 0;
}
void stand_in_capture(int captures) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.captures = captures != 0;
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
