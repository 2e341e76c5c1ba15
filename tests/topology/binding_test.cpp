// SPDX-License-Identifier: BSD-3-Clause
// Binding of threads and memory, on the machine that the test runs on.
#include "topology/binding.hpp"

#include <gtest/gtest.h>

#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <iterator>
#include <thread>

namespace stoker::topology {
namespace {

CpuSet affinity_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  CpuSet cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      cpus |= CpuSet(OsIndex{cpu});
    }
  }
  return cpus;
}

void set_affinity_of_this_thread(const CpuSet& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const OsIndex cpu : cpus.members()) {
    CPU_SET(static_cast<unsigned>(cpu.value), &set);
  }
  EXPECT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

TEST(Binding, AHelperIsBoundAndNobodyElse) {
  const Machine machine;
  const CpuSet before = affinity_of_this_thread();
  const CpuSet wanted(before.members().back());
  ThreadBinding binding;
  CpuSet seen;
  std::thread([&] {
    binding = bind_helper_thread(machine, wanted);
    seen = affinity_of_this_thread();
  }).join();
  EXPECT_EQ(binding.problem, "");
  EXPECT_EQ(binding.obtained, wanted);
  EXPECT_EQ(seen, wanted);
  EXPECT_EQ(affinity_of_this_thread(), before);
}

TEST(Binding, ARefusedBindingIsReportedAndChangesNothing) {
  const Machine machine;
  const CpuSet before = affinity_of_this_thread();
  std::thread([&] {
    const ThreadBinding binding = bind_helper_thread(machine, CpuSet(OsIndex{4000}));
    EXPECT_NE(binding.problem.find("CPU 4000"), std::string::npos) << binding.problem;
    EXPECT_EQ(binding.obtained, before);
    EXPECT_EQ(affinity_of_this_thread(), before);
  }).join();
}

TEST(Binding, ADescribedMachineBindsNothing) {
  const Machine machine("core:4 pu:1");
  const CpuSet before = affinity_of_this_thread();
  std::thread([&] {
    const ThreadBinding binding = bind_helper_thread(machine, CpuSet(OsIndex{0}));
    EXPECT_NE(binding.problem.find("not the one this runs on"), std::string::npos) << binding.problem;
    EXPECT_EQ(affinity_of_this_thread(), before);
  }).join();
  EXPECT_EQ(process_binding(machine).to_string(), "0-3");
}

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(Binding, HelpersDoNotCountAsTheProcessItself) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has a thread of its own, which counts";
#endif
  if (threads_of_this_process() > 1) {
    GTEST_SKIP() << "what runs this program, an emulator perhaps, has a thread of its own, which counts";
  }
  const Machine machine;
  const CpuSet before = affinity_of_this_thread();
  if (before.size() < 2) {
    GTEST_SKIP() << "needs two CPUs";
  }
  const CpuSet first(before.first());
  const CpuSet last(before.members().back());
  const auto run_beside = [&](bool helper) {
    std::promise<void> bound;
    std::promise<void> done;
    std::thread thread([&] {
      if (helper) {
        bind_helper_thread(machine, last);
      } else {
        set_affinity_of_this_thread(last);
      }
      bound.set_value();
      done.get_future().wait();
    });
    bound.get_future().wait();
    const CpuSet result = process_binding(machine);
    done.set_value();
    thread.join();
    return result;
  };
  EXPECT_EQ(process_binding(machine), before);
  set_affinity_of_this_thread(first);
  EXPECT_EQ(process_binding(machine), first);
  EXPECT_EQ(run_beside(true), first);
  EXPECT_EQ(run_beside(false), first | last); // the application's own threads do
  set_affinity_of_this_thread(before);
}

int policy_at(void* address) {
  int mode = -1;
  EXPECT_EQ(::get_mempolicy(&mode, nullptr, 0, address, MPOL_F_ADDR), 0);
  return mode;
}

TEST(PlaceMemory, PrefersTheNodeForWholePagesOnly) {
  if (::numa_available() < 0) {
    GTEST_SKIP() << "this kernel has no NUMA support";
  }
  const Machine machine;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<char*>(::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(memory), MAP_FAILED);
  const MemoryPlacement placement = place_memory(machine, memory + 1, 3 * page, {0});
  EXPECT_TRUE(placement.placed) << placement.reason;
  EXPECT_EQ(policy_at(memory), MPOL_DEFAULT);
  EXPECT_EQ(policy_at(memory + page), MPOL_PREFERRED);
  EXPECT_EQ(policy_at(memory + 2 * page), MPOL_PREFERRED);
  EXPECT_EQ(policy_at(memory + 3 * page), MPOL_DEFAULT);
  memory[page] = 1;
  int node = -1;
  EXPECT_EQ(::get_mempolicy(&node, nullptr, 0, memory + page, MPOL_F_NODE | MPOL_F_ADDR), 0);
  EXPECT_EQ(node, machine.numa_domains()[0].os->value);
  ::munmap(memory, 4 * page);
}

TEST(PlaceMemory, SaysWhyNot) {
  char small[16];
  const MemoryPlacement too_small = place_memory(Machine(), small, sizeof small, {0});
  EXPECT_FALSE(too_small.placed);
  EXPECT_NE(too_small.reason, "");
  const MemoryPlacement described = place_memory(Machine("package:2 [numa] core:2 pu:1"), small, sizeof small, {1});
  EXPECT_FALSE(described.placed);
  EXPECT_NE(described.reason.find("not the one this runs on"), std::string::npos);
  EXPECT_THROW(place_memory(Machine(), small, sizeof small, {999}), std::out_of_range);
}

} // namespace
} // namespace stoker::topology
