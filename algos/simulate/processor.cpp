// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/processor.hpp"

#include <cmath>

namespace stoker::algos {

Task Processor::take() {
  const Task task = tasks_[next_++];
  if (idle()) {
    tasks_.clear();
    next_ = 0;
  } else if (constexpr std::size_t many = 4096; next_ >= many && 2 * next_ >= tasks_.size()) {
    tasks_.erase(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = 0;
  }
  return task;
}

double end_of_work(double begin, double seconds, const Noise& noise, double phase) {
  if (noise.duration <= 0 || seconds <= 0) {
    return begin + seconds;
  }
  // Disturbances begin at phase, phase + period, and so on.
  double since = std::fmod(begin - phase, noise.period);
  since += since < 0 ? noise.period : 0;
  if (since < noise.duration) { // in the middle of one
    begin += noise.duration - since;
    since = noise.duration;
  }
  const double free = noise.period - since;
  if (seconds <= free) {
    return begin + seconds;
  }
  const double rest = seconds - free;
  const double between = noise.period - noise.duration;
  return begin + seconds + (noise.duration * std::ceil(rest / between));
}

} // namespace stoker::algos
