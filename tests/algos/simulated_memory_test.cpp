// SPDX-License-Identifier: BSD-3-Clause
// What a simulation is said to need of memory against what it allocates.
#include "cases.hpp"

#include "algos/select/choice.hpp"
#include "algos/simulate/expectation.hpp"
#include "algos/simulate/memory_needed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

namespace {

std::size_t allocated = 0;
std::size_t most_allocated = 0;
constexpr std::size_t before_it = alignof(std::max_align_t); // holds the size

} // namespace

// Not inlined: compilers would see malloc and free that do not match new and delete. The form that does
// not throw is replaced, too, since the address sanitizer has one of its own.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  auto* const memory = static_cast<char*>(std::malloc(bytes + before_it));
  if (memory == nullptr) {
    return nullptr;
  }
  *reinterpret_cast<std::size_t*>(memory) = bytes;
  allocated += bytes;
  most_allocated = std::max(most_allocated, allocated);
  return memory + before_it;
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) {
    char* const begin = static_cast<char*>(memory) - before_it;
    allocated -= *reinterpret_cast<std::size_t*>(begin);
    std::free(begin);
  }
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

// Said over allocated.
double ratio(const std::string& algorithm, const Layout& layout, std::uint64_t bytes, Collective collective) {
  const Choice choice = resolve(parse_choice(collective, algorithm), layout);
  const TypicalCall call{.collective = collective, .layout = layout, .bytes = bytes, .element_bytes = 8};
  const ProgramOf program_of = [&](int rank) { return compile(choice, call, rank); };
  Machine machine = typical_cluster();
  machine.sockets_per_node = 1;
  machine.domains_per_node = layout.domains() / layout.nodes();
  const auto said = static_cast<double>(memory_needed(layout, program_of));
  const std::size_t before = allocated;
  most_allocated = allocated;
  (void)simulate(layout, machine, program_of);
  return said / static_cast<double>(most_allocated - before);
}

TEST(SimulatedMemory, OfDirectExchangesUpToHalfMore) {
  for (const Layout& layout : {Layout::uniform(256, 16, 4), Layout::uniform(480, 32, 4), Layout::uniform(120, 1)}) {
    if (has_address_sanitizer && layout.ranks() > 120) {
      continue;
    }
    for (const char* const algorithm : {"nonblocking", "pairwise", "batched"}) {
      for (const std::uint64_t bytes : {8U, 65536U}) {
        const double over = ratio(algorithm, layout, bytes, Collective::alltoall);
        EXPECT_GE(over, 1) << algorithm << " " << layout.ranks() << " " << bytes;
        EXPECT_LE(over, 1.5) << algorithm << " " << layout.ranks() << " " << bytes;
      }
    }
  }
}

TEST(SimulatedMemory, OfAllOthersNotLess) {
  const Layout layout = Layout::uniform(256, 16, 4);
  for (const Collective collective : {Collective::alltoall, Collective::allreduce, Collective::allgather}) {
    for (const Algorithm& algorithm : algorithms_of(collective)) {
      const double over = ratio(std::string(algorithm.name), layout, 4096, collective);
      EXPECT_GE(over, 1) << name_of(collective) << " " << algorithm.name;
      EXPECT_LE(over, 10) << name_of(collective) << " " << algorithm.name;
    }
  }
}

} // namespace
} // namespace stoker::tests
