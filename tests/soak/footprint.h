// SPDX-License-Identifier: BSD-3-Clause
// What a process takes, in numbers that must not grow.
#pragma once

#include <mpi.h>

typedef enum Measure {
  heap_kib,    // what the C library's allocator has given out
  private_kib, // anonymous memory
  shared_kib,  // shared memory that this process has touched
  segment_kib, // what is allocated of the segments without a name that this process has open
  descriptors,
  thread_count,
  communicators,
  highest_tag, // of messages of the drop-in library, since the last look, if sent_tags.c is preloaded
  measure_count
} Measure;

typedef struct Footprint {
  long of[measure_count];
} Footprint;

enum { own_tag = 7 }; // of the program's own messages

// Since the last call. In sent_tags.c.
int highest_sent_tag(void);

extern const char* const measure_names[measure_count];

// All ranks, while no other thread is in MPI and the program has nothing that the drop-in library could hold on to.
Footprint look(void);
