// SPDX-License-Identifier: BSD-3-Clause
// Where memory lies, as the system tells it.
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline bool lies_in_arena(const void* memory) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1000];
  bool in_arena = false;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    uintptr_t begin = 0, end = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && (uintptr_t)memory >= begin &&
        (uintptr_t)memory < end) {
      in_arena = strstr(line, "stoker-arena") != NULL;
    }
  }
  if (maps != NULL) {
    fclose(maps);
  }
  return in_arena;
}
