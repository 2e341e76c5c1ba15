// SPDX-License-Identifier: BSD-3-Clause
#include "topology/cpu_set.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <charconv>
#include <cstdlib>
#include <new>

namespace stoker::topology {

namespace {

// Larger than any kernel's limit; keeps a mistyped number from costing memory.
constexpr unsigned largest_cpu = 65535;

// A failed operation on a bitmap means that there was no memory for it to grow.
void check(int result) {
  if (result < 0) {
    throw std::bad_alloc();
  }
}

// Reads a CPU number at the front of `text` and removes it.
unsigned take_number(std::string_view& text, std::string_view whole) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > largest_cpu) {
    throw TopologyError(fmt::format(
        "'{}' is not a list of CPUs: expected numbers up to {} and ranges of them, like 0-3,8", whole, largest_cpu));
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

} // namespace

void CpuSet::Free::operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }

CpuSet::CpuSet() : bitmap_(hwloc_bitmap_alloc()) {
  if (!bitmap_) {
    throw std::bad_alloc();
  }
}

CpuSet::CpuSet(OsIndex cpu) : CpuSet() { check(hwloc_bitmap_set(bitmap_.get(), static_cast<unsigned>(cpu.value))); }

CpuSet::CpuSet(const hwloc_bitmap_s* set) : bitmap_(hwloc_bitmap_dup(set)) {
  if (!bitmap_) {
    throw std::bad_alloc();
  }
}

CpuSet::CpuSet(const CpuSet& other) : CpuSet(other.bitmap_.get()) {}

CpuSet& CpuSet::operator=(const CpuSet& other) {
  check(hwloc_bitmap_copy(bitmap_.get(), other.bitmap_.get()));
  return *this;
}

CpuSet CpuSet::parse(std::string_view list) {
  CpuSet set;
  std::string_view rest = list;
  while (!rest.empty()) {
    const unsigned first = take_number(rest, list);
    unsigned last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest, list);
      if (last < first) {
        throw TopologyError(
            fmt::format("'{}' is not a list of CPUs: the range {}-{} runs backwards", list, first, last));
      }
    }
    check(hwloc_bitmap_set_range(set.bitmap_.get(), first, static_cast<int>(last)));
    if (rest.empty()) {
      break;
    }
    if (rest.front() != ',' || rest.size() == 1) {
      throw TopologyError(
          fmt::format("'{}' is not a list of CPUs: cannot read '{}'; expected something like 0-3,8", list, rest));
    }
    rest.remove_prefix(1);
  }
  return set;
}

std::string CpuSet::to_string() const {
  char* text = nullptr;
  check(hwloc_bitmap_list_asprintf(&text, bitmap_.get()));
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return text;
}

bool CpuSet::empty() const { return hwloc_bitmap_iszero(bitmap_.get()) != 0; }

int CpuSet::size() const { return hwloc_bitmap_weight(bitmap_.get()); }

OsIndex CpuSet::first() const { return {hwloc_bitmap_first(bitmap_.get())}; }

std::vector<OsIndex> CpuSet::members() const {
  std::vector<OsIndex> cpus;
  for (int cpu = hwloc_bitmap_first(bitmap_.get()); cpu >= 0; cpu = hwloc_bitmap_next(bitmap_.get(), cpu)) {
    cpus.push_back({cpu});
  }
  return cpus;
}

bool CpuSet::contains(OsIndex cpu) const {
  return cpu.value >= 0 && hwloc_bitmap_isset(bitmap_.get(), static_cast<unsigned>(cpu.value)) != 0;
}

bool CpuSet::contains(const CpuSet& other) const {
  return hwloc_bitmap_isincluded(other.bitmap_.get(), bitmap_.get()) != 0;
}

bool CpuSet::intersects(const CpuSet& other) const {
  return hwloc_bitmap_intersects(bitmap_.get(), other.bitmap_.get()) != 0;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  check(hwloc_bitmap_or(bitmap_.get(), bitmap_.get(), other.bitmap_.get()));
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  check(hwloc_bitmap_and(bitmap_.get(), bitmap_.get(), other.bitmap_.get()));
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
  check(hwloc_bitmap_andnot(bitmap_.get(), bitmap_.get(), other.bitmap_.get()));
  return *this;
}

bool CpuSet::operator==(const CpuSet& other) const {
  return hwloc_bitmap_isequal(bitmap_.get(), other.bitmap_.get()) != 0;
}

} // namespace stoker::topology
