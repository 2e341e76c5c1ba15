// SPDX-License-Identifier: BSD-3-Clause
// Flat exchanges within a group.
#include "algos/collectives/group_exchange.hpp"

#include "algos/schedule/append.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

void Part::add(const Slice& slice) {
  if (slice.bytes() > 0 && (slices.empty() || !join(slices.back(), slice))) {
    slices.push_back(slice);
  }
}

void Part::add_after(std::span<const StepId> steps) {
  const bool there = after.size() >= steps.size() && std::equal(steps.rbegin(), steps.rend(), after.rbegin());
  if (!there) {
    append(after, steps);
  }
}

void Part::add(const Part& part) {
  for (const Slice& slice : part.slices) {
    add(slice);
  }
  add_after(part.after);
}

std::uint64_t Part::bytes() const {
  std::uint64_t bytes = 0;
  for (const Slice& slice : slices) {
    bytes += slice.bytes();
  }
  return bytes;
}

// Kinkead et al., "Scaling All-to-all Operations Across Emerging Many-Core Supercomputers", 2025, Algorithms 1
// (pairwise) and 2 (nonblocking); batches of rounds: Namugwanya et al., "Collective-optimized FFTs", 2023.
Arrivals append_direct(Builder& builder, const GroupExchange& group, std::size_t batch) {
  const std::size_t n = group.members.size();
  Arrivals arrivals(n);
  std::vector<StepId> previous; // steps of the batch before
  std::vector<StepId> current;
  const auto with_previous = [&](const std::vector<StepId>& after) {
    std::vector<StepId> all = after;
    append(all, previous);
    return all;
  };
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t from = (group.me + n - i) % n;
    const std::size_t to = (group.me + i) % n;
    if (const Part& part = group.incoming[from]; !part.slices.empty()) {
      arrivals[from] = builder.recv(group.members[from], part.slices, with_previous(part.after));
      current.push_back(*arrivals[from]);
    }
    if (const Part& part = group.outgoing[to]; !part.slices.empty()) {
      current.push_back(builder.send(group.members[to], part.slices, with_previous(part.after)));
    }
    if (i % batch == 0 && !current.empty()) {
      previous = current.size() > 2 ? std::vector{builder.join_steps(current)} : current;
      current.clear();
    }
  }
  return arrivals;
}

// Fan et al., "Configurable Algorithms for All-to-All Collectives", 2024: tunable-radix all-to-all. The part for the
// member d places on travels as many places in phase x as d has in its x-th digit, in a bundle with all others that
// share the digit. Parts start where they lie and end where they belong, so neither of the paper's rotations is needed.
// The paper finishes one message before it starts the next; here a message waits for what it carries and for nothing
// else.
Arrivals append_radix(Builder& builder, const GroupExchange& group, std::size_t radix) {
  if (radix < 2) {
    throw std::invalid_argument("a radix is at least 2");
  }
  const std::size_t n = group.members.size();
  Arrivals arrivals(n);
  // The parts that have come here and will travel on, by the distance between their origin and their destination.
  struct Held {
    Slice place; // no bytes: there is none
    StepId after = 0;
  };
  std::vector<Held> held(n);
  const auto wrapped = [n](std::size_t member) { return member < n ? member : member - n; };
  for (std::size_t unit = 1; unit < n; unit *= radix) {
    for (std::size_t digit = 1; digit < radix && digit * unit < n; ++digit) {
      const std::size_t to = wrapped(group.me + digit * unit);
      const std::size_t from = wrapped(group.me + n - digit * unit);
      Part departing;
      Part arriving;
      std::vector<std::size_t> last_hop; // origins of the parts that end here
      std::vector<std::size_t> transit;  // distances of those that go on
      std::uint64_t transit_bytes = 0;
      // The distances with this digit, and how many of its places a part has come already in earlier phases.
      const auto for_each_distance = [&](auto visit) {
        for (std::size_t run = digit * unit; run < n; run += radix * unit) {
          for (std::size_t lower = 0; lower < std::min(unit, n - run); ++lower) {
            visit(run + lower, lower);
          }
        }
      };
      for_each_distance([&](std::size_t distance, std::size_t lower) {
        if (lower == 0) { // its first journey: it is this member's own
          departing.add(group.outgoing[wrapped(group.me + distance)]);
        } else if (const Held part = std::exchange(held[distance], {}); part.place.length > 0) {
          departing.add(part.place);
          departing.add_after({&part.after, 1});
        }
      });
      const auto origin_of = [&](std::size_t lower) { return wrapped(from + n - lower); };
      for_each_distance([&](std::size_t distance, std::size_t lower) {
        if (distance >= unit * radix) {
          const std::size_t origin = origin_of(lower);
          transit_bytes += group.bytes(origin, wrapped(origin + distance));
        }
      });
      std::uint64_t place = transit_bytes > 0 ? builder.scratch(transit_bytes) : 0;
      for_each_distance([&](std::size_t distance, std::size_t lower) {
        const std::size_t origin = origin_of(lower);
        if (distance < unit * radix) {
          if (const Part& end = group.incoming[origin]; !end.slices.empty()) {
            arriving.add(end);
            last_hop.push_back(origin);
          }
        } else if (const std::uint64_t bytes = group.bytes(origin, wrapped(origin + distance)); bytes > 0) {
          held[distance].place = {Buffer::scratch, place, bytes};
          arriving.add(held[distance].place);
          transit.push_back(distance);
          place += bytes;
        }
      });
      if (!arriving.slices.empty()) {
        const StepId arrival = builder.recv(group.members[from], arriving.slices, arriving.after);
        for (const std::size_t origin : last_hop) {
          arrivals[origin] = arrival;
        }
        for (const std::size_t distance : transit) {
          held[distance].after = arrival;
        }
      }
      if (!departing.slices.empty()) {
        builder.send(group.members[to], departing.slices, departing.after);
      }
    }
  }
  return arrivals;
}

Arrivals append_flat(Builder& builder, const GroupExchange& group, FlatExchange how) {
  const std::size_t n = group.members.size();
  const auto parameter = static_cast<std::size_t>(how.parameter);
  if (how.kind == FlatExchange::Kind::radix) {
    return append_radix(builder, group, parameter == 0 ? balanced_radix(n) : parameter);
  }
  return append_direct(builder, group, parameter == 0 ? n : parameter);
}

std::size_t balanced_radix(std::size_t members) {
  std::size_t radix = 2;
  while (radix * radix < members) {
    ++radix;
  }
  return radix;
}

} // namespace stoker::algos
