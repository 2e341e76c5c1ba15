// SPDX-License-Identifier: BSD-3-Clause
// A set of CPUs (hardware threads) by OS index, with value semantics, and the two kinds of index that must not be
// mixed.
#pragma once

#include <compare>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct hwloc_bitmap_s;

namespace stoker::topology {

class TopologyError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// A position in Machine::cores() or Machine::numa_domains(), in hwloc's order: neighbours in hardware are neighbours
// here.
struct LogicalIndex {
  int value = 0;
  auto operator<=>(const LogicalIndex&) const = default;
};

// The operating system's number: what taskset, map_cpu, numactl and /proc use.
struct OsIndex {
  int value = 0;
  auto operator<=>(const OsIndex&) const = default;
};

class CpuSet {
public:
  CpuSet(); // empty
  explicit CpuSet(OsIndex cpu);
  explicit CpuSet(const hwloc_bitmap_s* set); // a copy of it
  CpuSet(const CpuSet& other);
  CpuSet& operator=(const CpuSet& other);
  ~CpuSet() = default;

  // The list format of the kernel and taskset, "0-3,8". Throws TopologyError on anything else; an empty text is the
  // empty set.
  [[nodiscard]] static CpuSet parse(std::string_view list);
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] bool empty() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] OsIndex first() const; // of a set that is not empty
  [[nodiscard]] std::vector<OsIndex> members() const;
  [[nodiscard]] bool contains(OsIndex cpu) const;
  [[nodiscard]] bool contains(const CpuSet& other) const;
  [[nodiscard]] bool intersects(const CpuSet& other) const;

  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  CpuSet& operator-=(const CpuSet& other);
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  bool operator==(const CpuSet& other) const;

  [[nodiscard]] const hwloc_bitmap_s* hwloc() const { return bitmap_.get(); }

private:
  struct Free {
    void operator()(hwloc_bitmap_s* bitmap) const;
  };
  std::unique_ptr<hwloc_bitmap_s, Free> bitmap_; // never null
};

} // namespace stoker::topology
