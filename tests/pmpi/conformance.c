// SPDX-License-Identifier: BSD-3-Clause
// Conformance to chapters 3 and 6 of MPI-4.1, for the MPI library alone and for what interposes it.
//
//   conformance [--strict] SECTION...       exits 0; 77 when everything was left out; 1 after lines with rank and case
//   conformance --list
#include "tests/pmpi/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int left_out = 0;
static bool sections_manage_mpi = false;

void leave_out(const char* what, const char* reason) {
  ++left_out;
  if (world_rank() == 0) {
    printf("left out: %s: %s\n", what, reason);
  }
}

typedef void (*Run)(void);

static Run find_section(const char* name) {
  const Section* const all[] = {family_sections, request_sections, environment_sections};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    for (const Section* section = all[i]; section->name != NULL; ++section) {
      if (strcmp(section->name, name) == 0) {
        return section->run;
      }
    }
  }
  return NULL;
}

static void list(void) {
  const Section* const all[] = {family_sections, request_sections, environment_sections};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    for (const Section* section = all[i]; section->name != NULL; ++section) {
      puts(section->name);
    }
  }
}

int main(int argc, char** argv) {
  // Sections about how MPI is started start it themselves, and are run alone.
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--list") == 0) {
      list();
      return 0;
    }
    if (strcmp(argv[i], "--strict") == 0) {
      strict = true;
    } else if (find_section(argv[i]) == NULL) {
      fprintf(stderr, "no section %s\n", argv[i]);
      return 2;
    } else if (strncmp(argv[i], "init-", 5) == 0) {
      sections_manage_mpi = true;
    }
  }
  if (!sections_manage_mpi) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  }
  int run = 0;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') {
      set_context("%s", argv[i]);
      find_section(argv[i])();
      ++run;
    }
  }
  if (!sections_manage_mpi) {
    if (world_rank() == 0) {
      printf("%d sections, left out: %d\n", run, left_out);
    }
    MPI_Finalize();
  }
  if (run == 0) {
    fprintf(stderr, "no section given: --list names them\n");
    return 2;
  }
  return failures > 0 ? 1 : 0;
}
