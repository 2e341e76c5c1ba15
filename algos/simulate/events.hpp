// SPDX-License-Identifier: BSD-3-Clause
// The simulator's events, in the order of time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace stoker::algos {

struct Event {
  enum class Kind : std::uint32_t {
    start,     // a rank comes
    submitted, // a helper sees what a rank has started
    done,      // a processor has carried out its task
    look,      // a helper looks for work after a nap
    computed,  // a rank has computed for some time
    at_link,   // the head of a message comes to a link
    passed,    // a link that others wait for is free
    arrived,   // a message, or the question before a long one, is at its receiver
    answered,  // the receiver's answer is back at the sender
    announced, // the sender learns that a rank is ready for a long message
    met,       // a fence is over
    noticed,   // a rank learns that its steps are done
  };
  double time = 0;
  Kind kind = Kind::start;
  std::uint32_t index = 0; // of a rank, processor, message, link

  bool operator>(const Event& other) const {
    return std::tie(time, kind, index) > std::tie(other.time, other.kind, other.index);
  }
};

using EventQueue = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

} // namespace stoker::algos
