// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/host_checks.hpp"

#include "api/cli/siblings.hpp"
#include "engine/base/error.hpp"
#include "engine/helper/idle.hpp"
#include "engine/settings/settings.hpp"
#include "engine/shared/access.hpp"
#include "engine/shared/arena.hpp"
#include "topology/binding.hpp"
#include "topology/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace stoker::cli {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of "KEY:   VALUE" in a file of such lines; empty when it is not there.
std::string field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) {
      const auto begin = line.find_first_not_of(" \t", key.size() + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return {};
}

// A control file of this process's cgroup (version 2); empty when there is none.
std::string cgroup(const std::string& file) {
  const std::string entry = first_line("/proc/self/cgroup");
  const std::string path = entry.starts_with("0::") ? entry.substr(3) : "";
  const std::string own = first_line("/sys/fs/cgroup" + path + "/" + file);
  return own.empty() ? first_line("/sys/fs/cgroup/" + file) : own;
}

std::optional<double> as_number(const std::string& text) {
  try {
    return text.empty() ? std::nullopt : std::optional(std::stod(text));
  } catch (const std::exception&) {
    return std::nullopt; // "max"
  }
}

Finding check_settings() {
  Finding finding{"settings", Verdict::ok, "all values are understood", ""};
  try {
    (void)engine::load_settings();
    const std::vector<std::string> warnings = engine::environment_warnings();
    if (!warnings.empty()) {
      finding = {"settings", Verdict::slow, fmt::format("{}", fmt::join(warnings, "; ")), "correct or unset it"};
    }
  } catch (const engine::Error& error) {
    finding = {"settings", Verdict::fails, error.what(), "correct the value; docs/settings.md has them all"};
  }
  return finding;
}

// The reason why cross-memory attach is refused here, and the remedy.
std::string attach_remedy() {
  std::string remedy;
  if (const auto scope = as_number(first_line("/proc/sys/kernel/yama/ptrace_scope")); scope && *scope > 0) {
    remedy += fmt::format("kernel.yama.ptrace_scope is {:.0f}: sysctl kernel.yama.ptrace_scope=0; ", *scope);
  }
  if (field("/proc/self/status", "Seccomp") == "2") {
    remedy += "a seccomp filter is active: start the container with --cap-add SYS_PTRACE or a profile that allows "
              "process_vm_readv and process_vm_writev; ";
  }
  return remedy + "run all ranks as one user; or take buffers from stoker_alloc, which need no attach";
}

Finding check_attach() {
  const Outcome outcome = between_siblings([](const Offer& offer) -> Outcome {
    const int error = engine::probe_cross_memory_attach(offer.pid, offer.address, offer.word);
    return {error, error == 0 ? "" : std::strerror(error)};
  });
  if (outcome.error == 0) {
    return {"cross-memory attach", Verdict::ok, "a process reads and writes another's memory", ""};
  }
  return {"cross-memory attach", Verdict::slow,
          fmt::format("refused: {}; buffers from elsewhere than stoker_alloc are copied twice", outcome.message),
          attach_remedy()};
}

Finding check_segments() {
  const Outcome outcome = between_siblings([](const Offer& offer) -> Outcome {
    try {
      const auto arena = engine::attach_arena(offer.arena, offer.arena_stamp);
      return *arena.at<std::uint64_t>(offer.arena_offset) == offer.word ? Outcome{}
                                                                        : Outcome{EIO, "the contents differ"};
    } catch (const engine::Error& error) {
      return {EACCES, error.what()};
    }
  });
  if (outcome.error == 0) {
    return {"shared segments", Verdict::ok, "a process maps another's memfd through /proc/PID/fd", ""};
  }
  return {"shared segments", Verdict::fails, outcome.message,
          "mount /proc, and run all ranks of a node as one user in one PID namespace"};
}

Finding check_memory() {
  const auto all =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  double available = as_number(field("/proc/meminfo", "MemAvailable")).value_or(0) / 1024;
  std::string limited;
  const auto most = as_number(cgroup("memory.max"));
  const auto used = as_number(cgroup("memory.current"));
  if (most && used && (*most - *used) / mebibyte < available) {
    available = (*most - *used) / mebibyte;
    limited = " (the limit of the cgroup)";
  }
  Finding finding{"shared memory", Verdict::ok, fmt::format("{:.0f} MiB available{}", available, limited), ""};
  try {
    const engine::Arena arena({.bytes = all});
    if (arena.bytes() < all) {
      finding.verdict = Verdict::slow;
      finding.found += fmt::format("; a segment gets {:.0f} MiB of address space, {:.0f} MiB wanted",
                                   static_cast<double>(arena.bytes()) / mebibyte, static_cast<double>(all) / mebibyte);
      finding.remedy = "raise ulimit -v and ulimit -f";
    }
  } catch (const engine::Error& error) {
    finding = {"shared memory", Verdict::fails, error.what(),
               "raise ulimit -v and ulimit -f, or the container's memory"};
  }
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) {
    finding.found += fmt::format("; /dev/shm has {:.0f} MiB, of which stoker needs none (the MPI library may)",
                                 static_cast<double>(shm.f_blocks) * static_cast<double>(shm.f_frsize) / mebibyte);
  }
  return finding;
}

Finding check_cores(const topology::Machine& machine) {
  const int cpus = machine.allowed_cpus().size();
  Finding finding{
      "cores", Verdict::ok,
      fmt::format("{} CPUs ({}) for this job; {}", cpus, machine.allowed_cpus().to_string(), machine.description()),
      ""};
  const std::string limit = cgroup("cpu.max"); // "QUOTA PERIOD" or "max PERIOD"
  const auto quota = as_number(limit);
  const auto space = limit.find(' ');
  const auto period = space == std::string::npos ? std::nullopt : as_number(limit.substr(space + 1));
  if (quota && period && *quota / *period < cpus) {
    finding.verdict = Verdict::slow;
    finding.found += fmt::format("; but the cgroup grants the time of {:.1f}", *quota / *period);
    finding.remedy = "raise the CPU limit of the container: a helper that is throttled holds up every rank it serves";
  } else if (cpus < 2) {
    finding.verdict = Verdict::slow;
    finding.remedy = "a helper and a rank take turns on one CPU; use executor=inline, or allocate more CPUs";
  }
  return finding;
}

Finding check_binding(const topology::Machine& machine) {
  Finding finding{"thread binding", Verdict::ok, "a thread stays where it is bound", ""};
  std::thread([&] {
    const topology::CpuSet cpu(machine.allowed_cpus().members().back());
    const topology::ThreadBinding binding = topology::bind_helper_thread(machine, cpu);
    if (!binding.problem.empty()) {
      finding = {"thread binding", Verdict::slow, binding.problem,
                 "allow sched_setaffinity; until then the scheduler decides where helpers run"};
    }
  }).join();
  return finding;
}

Finding check_placement(const topology::Machine& machine) {
  const std::size_t domains = machine.numa_domains().size();
  const auto bytes = static_cast<std::size_t>(4 * sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return {"NUMA placement", Verdict::slow, std::strerror(errno), "free memory"};
  }
  const auto placement = topology::place_memory(machine, memory, bytes, machine.numa_domains().back().index);
  munmap(memory, bytes);
  if (placement.placed || domains == 1) {
    return {"NUMA placement", Verdict::ok,
            fmt::format("{} NUMA domain{}{}", domains, domains == 1 ? "" : "s",
                        placement.placed ? ", memory goes where it is wanted" : ", nothing to place"),
            ""};
  }
  return {"NUMA placement", Verdict::slow, placement.reason,
          "allow mbind (container: --cap-add SYS_NICE); until then memory is where it was first touched"};
}

double median_nap_us() {
  std::vector<double> naps(41);
  for (double& nap : naps) {
    const auto begin = std::chrono::steady_clock::now();
    const timespec time{0, 50'000};
    nanosleep(&time, nullptr);
    nap = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
  std::ranges::nth_element(naps, naps.begin() + 20);
  return naps[20];
}

Findings check_naps() {
  double usual = 0;
  double sharp = 0;
  bool slice = false;
  std::thread([&] { // slack and slice belong to a thread and go with it
    usual = median_nap_us();
    engine::set_timer_slack(std::chrono::nanoseconds(1));
    slice = engine::set_short_slice();
    sharp = median_nap_us();
  })
      .join();
  Findings findings;
  const bool coarse = sharp > 1000;
  findings.push_back(
      {"short naps", coarse ? Verdict::slow : Verdict::ok,
       fmt::format("a nap of 50 us takes {:.0f} us, {:.0f} us as helpers set their timers (median)", usual, sharp),
       coarse ? "the machine is busy, or its kernel has no high-resolution timers: set nap_us=0 and give "
                "helpers cores of their own (stoker plan)"
              : ""});
  findings.push_back({"scheduler slice", slice ? Verdict::ok : Verdict::slow,
                      slice ? "helpers get a short slice, so they wake soon beside a rank that computes"
                            : "the kernel has no custom slices (Linux 6.12), or refuses them: a helper may wait "
                              "milliseconds for a core that a rank computes on",
                      slice ? "" : "give helpers cores of their own: stoker plan"});
  return findings;
}

} // namespace

Findings check_host() {
  Findings findings{check_settings()};
  try {
    const topology::Machine machine; // this host, not a machine that a setting may describe instead
    findings.push_back(check_cores(machine));
    findings.push_back(check_binding(machine));
    findings.push_back(check_placement(machine));
  } catch (const topology::TopologyError& error) {
    findings.push_back(
        {"cores", Verdict::fails, error.what(), "correct HWLOC_XMLFILE and HWLOC_SYNTHETIC, or unset them"});
  }
  findings.push_back(check_segments());
  findings.push_back(check_memory());
  findings.push_back(check_attach());
  std::ranges::move(check_naps(), std::back_inserter(findings));
  return findings;
}

} // namespace stoker::cli
