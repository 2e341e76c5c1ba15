// SPDX-License-Identifier: BSD-3-Clause
#include "topology/machine.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace stoker::topology {

namespace {

struct Source {
  enum class Kind { system, xml, synthetic } kind = Kind::system;
  std::string text;
  std::string origin; // which setting it came from
};

// hwloc reads these variables itself, but falls back silently to the real machine when their value is bad. Reading them
// here turns that into an error.
Source find_source(const std::string& setting) {
  if (!setting.empty()) {
    const bool file =
        std::filesystem::exists(setting) || setting.find('/') != std::string::npos || setting.ends_with(".xml");
    return {file ? Source::Kind::xml : Source::Kind::synthetic, setting, "setting machine"};
  }
  if (const char* path = std::getenv("HWLOC_XMLFILE"); path != nullptr && *path != '\0') {
    return {Source::Kind::xml, path, "HWLOC_XMLFILE"};
  }
  if (const char* description = std::getenv("HWLOC_SYNTHETIC"); description != nullptr && *description != '\0') {
    return {Source::Kind::synthetic, description, "HWLOC_SYNTHETIC"};
  }
  return {};
}

[[noreturn]] void refuse(const Source& source, std::string_view reason) {
  if (source.kind == Source::Kind::xml) {
    throw TopologyError(fmt::format("{}: cannot load a machine from the XML file '{}': {}; expected a file written by "
                                    "'lstopo file.xml'",
                                    source.origin, source.text, reason));
  }
  if (source.kind == Source::Kind::synthetic) {
    throw TopologyError(
        fmt::format("{}: '{}' is neither a file nor an hwloc synthetic description ({}); expected something "
                    "like 'package:2 numa:2 core:4 pu:2'",
                    source.origin, source.text, reason));
  }
  throw TopologyError(fmt::format("hwloc cannot read this machine's topology: {}", reason));
}

void set_source(hwloc_topology_t topology, const Source& source) {
  if (source.kind == Source::Kind::xml) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(source.text, ignored)) {
      refuse(source, "there is no such file");
    }
    if (hwloc_topology_set_xml(topology, source.text.c_str()) != 0) {
      refuse(source, "hwloc does not understand it");
    }
  }
  if (source.kind == Source::Kind::synthetic && hwloc_topology_set_synthetic(topology, source.text.c_str()) != 0) {
    refuse(source, "hwloc does not understand it");
  }
}

int package_of(hwloc_topology_t topology, hwloc_const_bitmap_t cpus) {
  const hwloc_obj_t package = hwloc_get_next_obj_covering_cpuset_by_type(topology, cpus, HWLOC_OBJ_PACKAGE, nullptr);
  return package == nullptr ? 0 : static_cast<int>(package->logical_index);
}

} // namespace

void Machine::Destroy::operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }

Machine::Machine(const std::string& source_setting) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    throw TopologyError("hwloc_topology_init failed: out of memory");
  }
  topology_.reset(topology);

  const Source source = find_source(source_setting);
  set_source(topology, source);
  // Ranks with different cgroups must number cores and domains alike, so CPUs outside this process's own count too.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(topology) != 0) {
    refuse(source, std::strerror(errno));
  }

  is_this_system_ = hwloc_topology_is_thissystem(topology) != 0;
  cpus_ = CpuSet(hwloc_topology_get_topology_cpuset(topology));
  allowed_ = CpuSet(hwloc_topology_get_allowed_cpuset(topology)) & cpus_;
  if (allowed_.empty()) {
    refuse(source, "it has no CPU that this process may use");
  }
  read_numa_domains();
  read_cores();

  const std::string size =
      fmt::format("{} core{}, {} CPU{}, {} NUMA domain{}", cores_.size(), cores_.size() == 1 ? "" : "s", cpus_.size(),
                  cpus_.size() == 1 ? "" : "s", numa_.size(), numa_.size() == 1 ? "" : "s");
  description_ = source.kind == Source::Kind::system
                     ? fmt::format("this machine: {}", size)
                     : fmt::format("described by {} '{}': {}", source.origin, source.text, size);
}

// Second memories (high-bandwidth memory beside DRAM) list the same CPUs again, and a large slow memory may list those
// of several nodes. Each CPU belongs to the smallest node that lists it; to the first one if several are equally small.
void Machine::read_numa_domains() {
  std::vector<hwloc_obj_t> nodes;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology_.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    nodes.push_back(node);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](hwloc_obj_t a, hwloc_obj_t b) {
    return hwloc_bitmap_weight(a->cpuset) < hwloc_bitmap_weight(b->cpuset);
  });
  struct Found {
    unsigned position;
    NumaDomain domain;
  };
  std::vector<Found> found;
  CpuSet rest = cpus_;
  for (const hwloc_obj_t node : nodes) {
    const CpuSet cpus = CpuSet(node->cpuset) & rest;
    if (!cpus.empty()) {
      rest -= cpus;
      found.push_back({node->logical_index, {{}, OsIndex{static_cast<int>(node->os_index)}, cpus, 0}});
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.position < b.position; });
  for (const Found& entry : found) {
    numa_.push_back(entry.domain);
  }
  if (numa_.empty()) {
    numa_.push_back({{}, std::nullopt, CpuSet(), 0});
  }
  numa_.front().cpus |= rest; // CPUs that no node lists still need a home
  for (std::size_t i = 0; i < numa_.size(); ++i) {
    numa_[i].index = {static_cast<int>(i)};
    numa_[i].package = package_of(topology_.get(), CpuSet(numa_[i].cpus.first()).hwloc());
  }
}

void Machine::read_cores() {
  // A machine that does not report cores has one hardware thread in each.
  const bool reported = hwloc_get_nbobjs_by_type(topology_.get(), HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = reported ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology_.get(), type, object)) != nullptr;) {
    const CpuSet cpus(object->cpuset);
    const auto home = std::find_if(numa_.begin(), numa_.end(),
                                   [&](const NumaDomain& domain) { return domain.cpus.contains(cpus.first()); });
    cores_.push_back({{static_cast<int>(cores_.size())}, cpus, home->index, package_of(topology_.get(), cpus.hwloc())});
  }
}

const Core* Machine::core_of(OsIndex cpu) const {
  const auto core = std::find_if(cores_.begin(), cores_.end(), [&](const Core& c) { return c.cpus.contains(cpu); });
  return core == cores_.end() ? nullptr : &*core;
}

bool Machine::has_smt() const {
  return std::any_of(cores_.begin(), cores_.end(), [](const Core& core) { return core.cpus.size() > 1; });
}

} // namespace stoker::topology
