// SPDX-License-Identifier: BSD-3-Clause
// The machine that a process runs on, or is told to believe it runs on: cores, hardware threads and NUMA domains.
#pragma once

#include "topology/cpu_set.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct hwloc_topology;

namespace stoker::topology {

struct Core {
  LogicalIndex index;
  CpuSet cpus;       // its hardware threads; more than one: SMT siblings
  LogicalIndex numa; // the NUMA domain it is in
  int package = 0;   // logical index of its package
};

// A NUMA node with CPUs of its own. Memory without CPUs, and second memories of the same CPUs, are no domains.
struct NumaDomain {
  LogicalIndex index;
  std::optional<OsIndex> os; // none on a machine that does not report NUMA nodes
  CpuSet cpus;
  int package = 0; // logical index of the package that its first core is in
};

// Loaded once per process and then only read. CPUs that this process may not use are part of it, but not of
// allowed_cpus().
class Machine {
public:
  // `source`: empty for the machine itself (or what HWLOC_XMLFILE or HWLOC_SYNTHETIC put in its place); the path of an
  // XML file written by lstopo; or an hwloc synthetic description such as "package:2 numa:2 core:4 pu:2". Throws
  // TopologyError when that cannot be loaded; never falls back to another machine.
  explicit Machine(const std::string& source = "");

  // False for a described machine: binding to it means nothing (unless HWLOC_THISSYSTEM=1 declares that it is this
  // one).
  [[nodiscard]] bool is_this_system() const { return is_this_system_; }
  [[nodiscard]] const std::string& description() const { return description_; } // one line: where from and how large

  [[nodiscard]] const CpuSet& cpus() const { return cpus_; }
  [[nodiscard]] const CpuSet& allowed_cpus() const { return allowed_; } // of this process: cgroup, container, job
  [[nodiscard]] std::span<const Core> cores() const { return cores_; }
  [[nodiscard]] std::span<const NumaDomain> numa_domains() const { return numa_; } // at least one; they cover all cores
  [[nodiscard]] const Core* core_of(OsIndex cpu) const;                            // nullptr when there is no such CPU
  [[nodiscard]] const NumaDomain& numa_domain(LogicalIndex index) const {
    return numa_.at(static_cast<std::size_t>(index.value));
  }
  [[nodiscard]] bool has_smt() const;

  [[nodiscard]] hwloc_topology* hwloc() const { return topology_.get(); }

private:
  struct Destroy {
    void operator()(hwloc_topology* topology) const;
  };
  void read_numa_domains();
  void read_cores();

  std::unique_ptr<hwloc_topology, Destroy> topology_;
  std::string description_;
  bool is_this_system_ = false;
  CpuSet cpus_;
  CpuSet allowed_;
  std::vector<Core> cores_;
  std::vector<NumaDomain> numa_;
};

} // namespace stoker::topology
