// SPDX-License-Identifier: BSD-3-Clause
#include "topology/binding.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/linux.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace stoker::topology {

namespace {

// The name tells helpers from the application's threads. A table would do so, too, but threads would have to leave it
// when they end.
constexpr const char* helper_thread_name = "stoker-helper";

bool is_helper(const std::filesystem::path& task, pid_t thread) {
  std::string name;
  std::getline(std::ifstream(task / "comm"), name);
  return name == helper_thread_name && thread != ::getpid();
}

} // namespace

CpuSet process_binding(const Machine& machine) {
  if (!machine.is_this_system()) {
    return machine.allowed_cpus();
  }
  CpuSet binding;
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error)) {
    const auto thread = static_cast<pid_t>(std::stol(task->path().filename().string()));
    const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> cpus(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
    // A thread that has just ended cannot be asked, and need not be.
    if (cpus && !is_helper(task->path(), thread) &&
        hwloc_linux_get_tid_cpubind(machine.hwloc(), thread, cpus.get()) == 0) {
      binding |= CpuSet(cpus.get());
    }
  }
  if (binding.empty()) {
    throw TopologyError(fmt::format("the system does not tell where this process may run ({})",
                                    error ? error.message() : std::string(std::strerror(errno))));
  }
  // If they have nothing in common, HWLOC_THISSYSTEM was set for a machine that is not this one, and the binding means
  // nothing on it.
  binding &= machine.cpus();
  return binding.empty() ? machine.allowed_cpus() : binding;
}

ThreadBinding bind_helper_thread(const Machine& machine, const CpuSet& cpus) {
  ::pthread_setname_np(::pthread_self(), helper_thread_name);
  if (!machine.is_this_system()) {
    return {machine.allowed_cpus(),
            fmt::format("not bound to CPU {}: the machine in use is {}, not the one this runs on", cpus.to_string(),
                        machine.description())};
  }
  std::string problem;
  if (hwloc_set_cpubind(machine.hwloc(), cpus.hwloc(), HWLOC_CPUBIND_THREAD) != 0) {
    problem = fmt::format("the system refused to bind it to CPU {}: {}", cpus.to_string(), std::strerror(errno));
  }
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> read(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (!read || hwloc_get_cpubind(machine.hwloc(), read.get(), HWLOC_CPUBIND_THREAD) != 0) {
    return {CpuSet(), fmt::format("its binding cannot be read back: {}", std::strerror(errno))};
  }
  const CpuSet obtained(read.get());
  if (problem.empty() && obtained != cpus) {
    problem =
        fmt::format("it was to run on CPU {} but the system put it on {}", cpus.to_string(), obtained.to_string());
  }
  return {obtained, problem};
}

MemoryPlacement place_memory(const Machine& machine, void* memory, std::size_t bytes, LogicalIndex numa) {
  const NumaDomain& domain = machine.numa_domain(numa);
  if (!machine.is_this_system()) {
    return {false, fmt::format("the machine in use is {}, not the one this runs on", machine.description())};
  }
  if (!domain.os) {
    return {false, "this machine reports no NUMA nodes"};
  }
  if (::numa_available() < 0) {
    return {false, "this kernel has no NUMA support"};
  }
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + page - 1) / page * page;
  const std::uintptr_t end = (address + bytes) / page * page;
  if (begin >= end) {
    return {false, "no whole page lies inside"};
  }
  const std::unique_ptr<bitmask, decltype(&::numa_bitmask_free)> nodes(::numa_allocate_nodemask(),
                                                                       &::numa_bitmask_free);
  ::numa_bitmask_setbit(nodes.get(), static_cast<unsigned>(domain.os->value));
  // Preferred, not bound: a full node must not get the application killed.
  if (::mbind(reinterpret_cast<void*>(begin), end - begin, MPOL_PREFERRED, nodes->maskp, nodes->size + 1, 0) != 0) {
    return {false,
            fmt::format("the system refused to prefer NUMA node {}: {}", domain.os->value, std::strerror(errno))};
  }
  return {true, ""};
}

} // namespace stoker::topology
