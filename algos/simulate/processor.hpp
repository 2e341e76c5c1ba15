// SPDX-License-Identifier: BSD-3-Clause
// A thread on a core, which carries out one task after the other: a rank, or a helper.
#pragma once

#include "algos/select/machine.hpp"

#include <cstdint>
#include <vector>

namespace stoker::algos {

struct Task {
  enum class Kind : std::uint8_t {
    step,     // of a rank: a send, put, copy or reduction
    receive,  // takes in a message
    answer,   // answers the question before a long message
    transmit, // sends a long message on its way once the answer is there
    finish,   // learns that a long message has left
  };
  Kind kind = Kind::step;
  std::uint32_t rank = 0;
  std::uint32_t index = 0; // of a step, or of a message
};

class Processor {
public:
  void add(const Task& task) { tasks_.push_back(task); }
  [[nodiscard]] bool idle() const { return next_ == tasks_.size(); }
  // Takes the oldest task.
  [[nodiscard]] Task take();

  bool available = false; // carries out tasks; a rank that computes does not
  bool busy = false;
  bool looks_later = false; // an event `look` is on its way
  Task current;
  double current_end = 0;
  double phase = 0;         // of its noise
  double next_look = 0;     // of a helper with naps
  double posts_until = 0;   // receives; no task begins before
  double busy_seconds = 0;  // in tasks
  std::uint32_t posted = 0; // receives of messages between nodes that have not come

private:
  std::vector<Task> tasks_;
  std::size_t next_ = 0;
};

// When work that takes so long is done, given the noise of the core.
[[nodiscard]] double end_of_work(double begin, double seconds, const Noise& noise, double phase);

} // namespace stoker::algos
