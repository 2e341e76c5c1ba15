// SPDX-License-Identifier: BSD-3-Clause
// The wake policy: whether Start wakes the helper, or leaves a request's steps to the rank's own Wait. A wake, and the
// helper's naps while the exchange runs, cost processor time. That time is lost if there is nothing to hide, because
// Wait follows at once, or because the exchange is nearly all processor time. The first case is seen directly. The
// second shows only in the time from Start to the end of Wait. So both ways are tried now and then, at the same epochs
// on all ranks.
#pragma once

#include "engine/helper/recent_times.hpp"

#include <cstddef>
#include <cstdint>

namespace stoker::engine {

// One per request. Pure: the caller brings the times.
class WakePolicy {
public:
  // always: Start wakes the helper whatever it costs.
  explicit WakePolicy(bool always = false) : always_(always) {}

  // Called by Start for the next epoch: returns whether to wake the helper now.
  [[nodiscard]] bool start();
  // Wait came; not for an epoch that somebody completed although Start had let the helper sleep. `after_start_ns`: how
  // long after the return of Start.
  void waited(std::uint64_t after_start_ns);
  // Start let the helper sleep, but Wait needed it (for what was started: it cannot help against a late rank), or it
  // had already woken.
  void slept();
  // Start let the helper sleep, but Test came before Wait, or the helper found the epoch before a late Wait: the
  // application expects progress without Wait.
  void missed();
  // Wait is done. `step_ns`: the time since Start began; `exchange_ns`: the time of the exchange itself.
  void finished(std::uint64_t step_ns, std::uint64_t exchange_ns);

  // A Wait that follows Start within prompt_ns leaves nothing to hide the exchange behind. After prompt_waits of them
  // in a row Start leaves the helper asleep. The number is multiplied by four each time that this was wrong, up to
  // most_prompt_waits, until it has been right `often` times in a row.
  static constexpr std::uint64_t prompt_ns = 5'000;
  static constexpr int prompt_waits = 4;
  static constexpr int most_prompt_waits = 64;
  static constexpr int often = 16; // in a row
  // Epochs of one trial; epochs before the first trial; most epochs from one trial to the next, which grow each time.
  static constexpr std::size_t trial = 8;
  static constexpr std::uint64_t first_trial = 16;
  static constexpr std::uint64_t longest_interval = 8192;
  // Longer exchanges are worth the helper's cost, which is some 20 us for each nap; a trial would cost more than it
  // finds.
  static constexpr std::uint64_t longest_tried_ns = 4'000'000;

private:
  [[nodiscard]] bool blocking() const { return prompt_waits_ == needed_; }
  void end_trial();

  bool always_;
  bool wakes_ = true; // outside trials
  bool trying_ = false;
  bool woke_ = false;    // in the current epoch
  bool guessed_ = false; // it has been left asleep in the current epoch because of prompt waits
  bool wrong_ = false;   // which was wrong
  int prompt_waits_ = 0;
  int needed_ = prompt_waits; // of them
  int right_ = 0;             // how often in a row it was right
  std::uint64_t epoch_ = 0;
  std::uint64_t next_trial_ = first_trial;
  std::uint64_t interval_ = first_trial;
  std::uint64_t exchange_ns_ = 0; // of the latest epoch that the helper drove
  RecentTimes<trial> usual_;
  RecentTimes<trial> tried_;
};

} // namespace stoker::engine
