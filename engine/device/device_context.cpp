// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/device_context.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <array>

namespace stoker::engine {
namespace {

// Values of cuda.h.
constexpr int context_attribute = 1;
constexpr int memory_type_attribute = 2;
constexpr int sync_memops_attribute = 6;
constexpr int is_managed_attribute = 8;
constexpr int ordinal_attribute = 9;
constexpr int range_begin_attribute = 11;
constexpr int range_bytes_attribute = 12;
constexpr unsigned host_memory = 1;
constexpr unsigned device_memory = 2;

// After such errors of a kernel no call works any more in this process.
constexpr std::array lasting_errors{700, 702, 710, 714, 715, 716, 717, 718, 719};

Error failure(const std::string& what, const void* address) {
  return {Code::access,
          "{} for the device memory at {}; expected memory that stays allocated while a request has it, "
          "of a device that works",
          what, address};
}

} // namespace

bool AllocationFacts::on_device() const { return is_managed != 0 || memory_type == device_memory; }
bool AllocationFacts::pinned() const { return is_managed == 0 && memory_type == host_memory; }

AllocationFacts facts_of(const Driver& driver, const void* pointer) {
  AllocationFacts found;
  int names[] = {context_attribute, memory_type_attribute, is_managed_attribute, sync_memops_attribute,
                 ordinal_attribute, range_begin_attribute, range_bytes_attribute};
  void* values[] = {&found.context, &found.memory_type, &found.is_managed, &found.settles,
                    &found.device,  &found.begin,       &found.bytes};
  const int code = driver.pointer_attributes(7, names, values, address_of(pointer));
  if (std::ranges::find(lasting_errors, code) != lasting_errors.end()) {
    throw Error(Code::access,
                "the device has failed ({}), so that nobody can say where memory is; expected one that works",
                driver.name_of(code));
  }
  return code == 0 ? found : AllocationFacts{};
}

int settle_synchronous_calls(const Driver& driver, Driver::Context context, const void* address) {
  const CurrentContext current(driver, context);
  current.check_entered(address);
  const unsigned yes = 1;
  return driver.kernels.set_pointer_attribute(&yes, sync_memops_attribute, address_of(address));
}

void check(const Driver& driver, int code, const char* call, const void* address) {
  if (code != 0) {
    throw failure(fmt::format("{} failed ({})", call, driver.name_of(code)), address);
  }
}

Driver::Context context_of(const Driver& driver, const AllocationFacts& facts, const void* address) {
  Driver::Context context = facts.context;
  if (facts.memory_type == 0 && facts.is_managed == 0) {
    throw failure("there is no allocation any more", address);
  }
  if (context == nullptr) { // memory of a pool. Never released: the CUDA runtime keeps it, too
    check(driver, driver.retain_primary_context(&context, facts.device), "cuDevicePrimaryCtxRetain", address);
  }
  return context;
}

} // namespace stoker::engine
