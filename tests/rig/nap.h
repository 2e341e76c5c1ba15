// SPDX-License-Identifier: BSD-3-Clause
// What a rank that shares cores does when it has asked for messages in vain.
#pragma once

#include <sched.h>
#include <stddef.h>
#include <time.h>

// Yields the core, and now and then sleeps, so that a core is left for another job. A thread that asks for many
// messages in turn, as a helper does, is not held up by each.
static inline void yield_or_nap(unsigned times_in_vain) {
  enum { yields = 16, nap_ns = 50000 };
  if (times_in_vain % yields == 0) {
    (void)nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
  } else {
    (void)sched_yield();
  }
}
