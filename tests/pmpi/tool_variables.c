// SPDX-License-Identifier: BSD-3-Clause
// A tool that uses MPI's tool information interface (MPI_T): it sees all of its MPI library's variables as before, and,
// under the drop-in, stoker's behind them.
//
//   tool_variables [--stoker] SECTION      --stoker: under the drop-in, with STOKER_PMPI_LEAST_BYTES=8K and without trials
//
// The section `listing` prints what the MPI library has; tool_variables.py compares that with and without the drop-in.
#define _GNU_SOURCE
#include "tests/rig/mpi_library.h"

#include <mpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { elements = 20000, text_length = 1024 };

static int rank;
static bool under_stoker;

static void demand(bool condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "FAILED rank %d: %s\n", rank, what);
    exit(1);
  }
}

static void demand_code(int code, int expected, const char* what) {
  if (code != expected) {
    fprintf(stderr, "FAILED rank %d: %s returns %d, not %d\n", rank, what, code, expected);
    exit(1);
  }
}
#define CHECK(call) demand_code(call, MPI_SUCCESS, #call)

static bool is_ours(const char* name) { return strncmp(name, "stoker", 6) == 0; }

// ---- what there is

enum Kind { pvar, cvar, category, kinds };
static const char* const kind_names[] = {"pvar", "cvar", "category"};

static int number_of(enum Kind kind) {
  int number = 0;
  CHECK(kind == pvar   ? MPI_T_pvar_get_num(&number)
        : kind == cvar ? MPI_T_cvar_get_num(&number)
                       : MPI_T_category_get_num(&number));
  return number;
}

// The name, with what else there is to know if `facts` is not null. Returns the code; the name is empty after an error.
static int name_of(enum Kind kind, int index, char* name, char* facts) {
  int length = text_length, class = 0, verbosity = 0, bind = 0, flags[3] = {0}, numbers[3] = {0};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  name[0] = '\0';
  const int code =
      kind == pvar   ? MPI_T_pvar_get_info(index, name, &length, &verbosity, &class, &type, NULL, NULL, NULL, &bind,
                                           &flags[0], &flags[1], &flags[2])
      : kind == cvar ? MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, NULL, NULL, NULL, &bind, &flags[0])
                     : MPI_T_category_get_info(index, name, &length, NULL, NULL, &numbers[0], &numbers[1], &numbers[2]);
  if (code != MPI_SUCCESS) {
    name[0] = '\0';
  }
  if (facts != NULL) {
    int size = 0;
    if (type != MPI_DATATYPE_NULL) {
      MPI_Type_size(type, &size);
    }
    snprintf(facts, text_length, "code %d, class %d, verbosity %d, bytes %d, bind %d, flags %d %d %d, members %d %d %d",
             code, class, verbosity, size, bind, flags[0], flags[1], flags[2], numbers[0], numbers[1], numbers[2]);
  }
  return code;
}

static int class_of(int index) {
  int class = 0;
  CHECK(MPI_T_pvar_get_info(index, NULL, NULL, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  return class;
}

static int index_of(enum Kind kind, const char* name, int class) {
  int index = -1;
  const int code = kind == pvar   ? MPI_T_pvar_get_index(name, class, &index)
                   : kind == cvar ? MPI_T_cvar_get_index(name, &index)
                                  : MPI_T_category_get_index(name, &index);
  return code == MPI_SUCCESS ? index : -code;
}

static int our_pvar(const char* name, int class) {
  const int index = index_of(pvar, name, class);
  if (index < 0) {
    fprintf(stderr, "FAILED rank %d: no variable %s\n", rank, name);
    exit(1);
  }
  return index;
}

// ---- listing

static void list_members(enum Kind kind, int index, int number) {
  char name[text_length];
  int* members = malloc(sizeof(int) * (size_t)(number + 1));
  members[number] = -7; // not to be touched
  CHECK(kind == pvar   ? MPI_T_category_get_pvars(index, number, members)
        : kind == cvar ? MPI_T_category_get_cvars(index, number, members)
                       : MPI_T_category_get_categories(index, number, members));
  for (int i = 0; i < number; ++i) {
    name_of(kind, members[i], name, NULL);
    printf("  %s %s\n", kind_names[kind], name);
  }
  demand(members[number] == -7, "more members than there is room for");
  free(members);
}

static bool has_any(enum Kind kind) {
  char name[text_length];
  return number_of(kind) > 0 && (name_of(kind, 0, name, NULL) != MPI_SUCCESS || !is_ours(name));
}

static void list_all(enum Kind kind) {
  char name[text_length], facts[text_length];
  for (int index = 0; index < number_of(kind); ++index) {
    const int code = name_of(kind, index, name, facts);
    if (is_ours(name)) {
      continue;
    }
    printf("%s %d %s: %s\n", kind_names[kind], index, name, facts);
    if (kind == category && code == MPI_SUCCESS) {
      int numbers[3] = {0};
      CHECK(MPI_T_category_get_info(index, NULL, NULL, NULL, NULL, &numbers[0], &numbers[1], &numbers[2]));
      list_members(cvar, index, numbers[0]);
      list_members(pvar, index, numbers[1]);
      list_members(category, index, numbers[2]);
    }
  }
}

// What the MPI library says of wrong arguments. Open MPI crashes where the index of a performance variable is negative,
// and MPICH at any if it has none.
static void list_codes(void) {
  int index = 0, count = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_T_cvar_handle setting;
  char name[text_length];
  for (enum Kind kind = pvar; kind < kinds; ++kind) {
    if (kind != pvar) {
      printf("code %s below %d\n", kind_names[kind], name_of(kind, -1, name, NULL));
    }
    if (has_any(kind)) {
      printf("code %s above %d\n", kind_names[kind], name_of(kind, number_of(kind), name, NULL));
      printf("code %s far above %d\n", kind_names[kind], name_of(kind, 1 << 30, name, NULL));
    }
    printf("code %s unknown %d\n", kind_names[kind], index_of(kind, "no such name", MPI_T_PVAR_CLASS_COUNTER));
  }
  printf("code members below %d\n", MPI_T_category_get_pvars(-1, 1, &index));
  printf("code members above %d\n", MPI_T_category_get_cvars(number_of(category), 1, &index));
  CHECK(MPI_T_pvar_session_create(&session));
  if (has_any(pvar)) {
    printf("code handle above %d\n", MPI_T_pvar_handle_alloc(session, number_of(pvar), NULL, &handle, &count));
  }
  if (mpi_knows_all_handles()) {
    printf("code start all %d\n", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    printf("code stop all %d\n", MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    printf("code reset all %d\n", MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    printf("code read all %d\n", MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, name));
  }
  CHECK(MPI_T_pvar_session_free(&session));
  demand(session == MPI_T_PVAR_SESSION_NULL, "a freed session is not null");
  printf("code setting below %d\n", MPI_T_cvar_handle_alloc(-1, NULL, &setting, &count));
  printf("code setting above %d\n", MPI_T_cvar_handle_alloc(number_of(cvar), NULL, &setting, &count));
}

// ---- indices

struct known {
  int number;
  char (*names)[text_length];
};

static struct known look(enum Kind kind) {
  struct known known = {.number = number_of(kind)};
  known.names = calloc((size_t)known.number + 1, sizeof *known.names);
  for (int i = 0; i < known.number; ++i) {
    name_of(kind, i, known.names[i], NULL);
  }
  return known;
}

static int how_many_ours(struct known known) {
  int ours = 0;
  for (int i = 0; i < known.number; ++i) {
    ours += is_ours(known.names[i]);
  }
  return ours;
}

static void listing(void) {
  demand((how_many_ours(look(pvar)) > 0) == under_stoker, "stoker's variables are there without it, or are not");
  if (rank == 0) {
    for (enum Kind kind = pvar; kind < kinds; ++kind) {
      list_all(kind);
    }
    list_codes();
  }
}

// Whether what was seen before MPI_Init is still in its place, and all that can be found by name is where it says.
static void compare(enum Kind kind, struct known before) {
  struct known after = look(kind);
  demand(after.number >= before.number, "variables have gone");
  demand(how_many_ours(after) == how_many_ours(before), "stoker's variables have changed");
  demand((how_many_ours(after) > 0) == under_stoker, "stoker's variables are there without it, or are not");
  for (int i = 0; i < after.number; ++i) {
    const char* const name = after.names[i];
    if (i < before.number && before.names[i][0] != '\0' && name[0] != '\0') {
      demand(strcmp(before.names[i], name) == 0, "an index has changed");
    }
    const int found = name[0] != '\0' ? index_of(kind, name, kind == pvar ? class_of(i) : 0) : -1;
    demand(found >= 0 || !is_ours(name), "a name leads nowhere");
    if (found >= 0) { // an MPI library may have two variables of one name
      char same[text_length];
      name_of(kind, found, same, NULL);
      demand(strcmp(name, same) == 0, "a name leads to another variable");
    }
  }
  free(after.names);
  free(before.names);
}

// ---- values

static int* send_buffer;
static int* receive_buffer;

static void exchange(int times) {
  for (int i = 0; i < times; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(send_buffer, receive_buffer, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session session, const char* name, int class) {
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int count = 0;
  CHECK(MPI_T_pvar_handle_alloc(session, our_pvar(name, class), NULL, &handle, &count));
  demand(count == 1, "a variable is one number");
  return handle;
}

static unsigned long long number_in(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static double seconds_in(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  double value = 0;
  CHECK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static void expect(MPI_T_pvar_session session, MPI_T_pvar_handle handle, unsigned long long expected,
                   const char* what) {
  const unsigned long long value = number_in(session, handle);
  if (value != expected) {
    fprintf(stderr, "FAILED rank %d: %s: %llu, not %llu\n", rank, what, value, expected);
    exit(1);
  }
}

typedef int Init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);

static void start(MPI_Request* request, int times) {
  for (int i = 0; i < times; ++i) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
}

static void values(void) {
  enum { calls = 7, barriers = 5, starts = 3 };
  if (!under_stoker) {
    return;
  }
  Init* init = NULL; // an MPI library before MPI-4 has none
  *(void**)&init = dlsym(RTLD_DEFAULT, "MPI_Allreduce_init");
  MPI_Request request = MPI_REQUEST_NULL;
  init(send_buffer, receive_buffer, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  start(&request, starts); // before any tool counts

  MPI_T_pvar_session session, other;
  CHECK(MPI_T_pvar_session_create(&session));
  CHECK(MPI_T_pvar_session_create(&other));
  const MPI_T_pvar_handle by_engine = handle_of(session, "stoker_calls_by_engine", MPI_T_PVAR_CLASS_COUNTER);
  const MPI_T_pvar_handle by_mpi = handle_of(session, "stoker_calls_by_mpi", MPI_T_PVAR_CLASS_COUNTER);
  const MPI_T_pvar_handle bytes = handle_of(session, "stoker_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
  const MPI_T_pvar_handle seconds = handle_of(session, "stoker_exchange_seconds", MPI_T_PVAR_CLASS_TIMER);
  const MPI_T_pvar_handle exposed = handle_of(session, "stoker_exposed_seconds", MPI_T_PVAR_CLASS_TIMER);
  const MPI_T_pvar_handle requests = handle_of(session, "stoker_requests", MPI_T_PVAR_CLASS_LEVEL);
  const MPI_T_pvar_handle shared = handle_of(session, "stoker_shared_bytes", MPI_T_PVAR_CLASS_LEVEL);
  const MPI_T_pvar_handle in_other = handle_of(other, "stoker_calls_by_engine", MPI_T_PVAR_CLASS_COUNTER);
  expect(session, by_engine, 0, "calls before the first");
  expect(session, requests, 1, "requests");
  demand(number_in(session, shared) > 0, "no shared memory is in use");

  exchange(calls);
  expect(session, by_engine, calls, "nonblocking calls");
  expect(session, by_mpi, 0, "calls that are left to MPI");
  expect(session, bytes, calls * sizeof(int) * elements, "bytes");
  demand(seconds_in(session, seconds) > 0 && seconds_in(session, exposed) > 0, "calls took no time");
  start(&request, starts);
  expect(session, by_engine, calls + starts, "calls with persistent ones");
  for (int i = 0; i < barriers; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  expect(session, by_mpi, barriers, "barriers");
  MPI_Pcontrol(2); // which sets the summary to zero, and no tool's variable
  expect(session, by_engine, calls + starts, "calls after MPI_Pcontrol");
  expect(session, by_mpi, barriers, "barriers after MPI_Pcontrol");

  unsigned long long value = 0;
  CHECK(MPI_T_pvar_readreset(session, by_engine, &value));
  demand(value == calls + starts, "a reset reads another value");
  expect(session, by_engine, 0, "after a reset");
  expect(other, in_other, calls + starts, "in another session");
  value = 1000;
  CHECK(MPI_T_pvar_write(session, by_engine, &value));
  exchange(1);
  expect(session, by_engine, 1001, "after a write");
  if (mpi_knows_all_handles()) {
    CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    expect(session, by_engine, 0, "after a reset of all");
    expect(session, bytes, 0, "bytes after a reset of all");
    expect(session, requests, 1, "requests after a reset of all");
  }
  expect(other, in_other, calls + starts + 1, "in another session after that");

  MPI_Request_free(&request);
  expect(session, requests, 0, "requests that are freed");
  CHECK(MPI_T_pvar_session_free(&session));
  CHECK(MPI_T_pvar_session_free(&other));
}

// ---- wrong arguments, for stoker's variables

static void refusals(void) {
  if (!under_stoker) {
    return;
  }
  MPI_T_pvar_session session, other, null = MPI_T_PVAR_SESSION_NULL;
  int count = 0;
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_session_create(&session));
  CHECK(MPI_T_pvar_session_create(&other));
  MPI_T_pvar_handle calls = handle_of(session, "stoker_calls_by_engine", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle level = handle_of(session, "stoker_requests", MPI_T_PVAR_CLASS_LEVEL);
  const int index = our_pvar("stoker_calls_by_engine", MPI_T_PVAR_CLASS_COUNTER);
  demand_code(MPI_T_pvar_start(session, calls), MPI_T_ERR_PVAR_NO_STARTSTOP, "start");
  demand_code(MPI_T_pvar_stop(session, calls), MPI_T_ERR_PVAR_NO_STARTSTOP, "stop");
  if (mpi_knows_all_handles()) {
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
  }
  demand_code(MPI_T_pvar_write(session, level, &value), MPI_T_ERR_PVAR_NO_WRITE, "writing a level");
  demand_code(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE, "resetting a level");
  demand_code(MPI_T_pvar_readreset(session, level, &value), MPI_T_ERR_PVAR_NO_ATOMIC, "reading and resetting a level");
  demand_code(MPI_T_pvar_read(other, calls, &value), MPI_T_ERR_INVALID_HANDLE, "reading in another session");
  demand_code(MPI_T_pvar_handle_free(other, &calls), MPI_T_ERR_INVALID_HANDLE, "freeing in another session");
  demand_code(MPI_T_pvar_read(null, calls, &value), MPI_T_ERR_INVALID_SESSION, "reading without a session");
  demand_code(MPI_T_pvar_handle_alloc(null, index, NULL, &level, &count), MPI_T_ERR_INVALID_SESSION,
              "a handle without a session");
  demand_code(MPI_T_pvar_handle_alloc(session, index, NULL, NULL, &count), MPI_T_ERR_INVALID, "a handle nowhere");
  demand_code(MPI_T_pvar_read(session, calls, NULL), MPI_T_ERR_INVALID, "reading to nowhere");
  const MPI_T_pvar_handle freed = calls;
  CHECK(MPI_T_pvar_handle_free(session, &calls));
  demand(calls == MPI_T_PVAR_HANDLE_NULL, "a freed handle is not null");
  demand_code(MPI_T_pvar_read(session, freed, &value), MPI_T_ERR_INVALID_HANDLE, "reading a freed handle");
  const MPI_T_pvar_handle left = handle_of(session, "stoker_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
  CHECK(MPI_T_pvar_session_free(&session));
  demand_code(MPI_T_pvar_read(other, left, &value), MPI_T_ERR_INVALID_HANDLE, "reading what went with its session");
  CHECK(MPI_T_pvar_session_free(&other));
  demand(index_of(pvar, "stoker_bytes", MPI_T_PVAR_CLASS_COUNTER) < 0, "a variable of another class is found");

  // Texts: as much as there is room for, and how much that would be.
  char name[8] = "xxxxxxx";
  int length = 4, whole = 0;
  CHECK(MPI_T_pvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  demand(strcmp(name, "sto") == 0 && name[4] == 'x', "a name is not cut to its buffer");
  demand(length == (int)sizeof "stoker_calls_by_engine", "a name has another length");
  CHECK(MPI_T_pvar_get_info(index, NULL, &whole, NULL, NULL, NULL, NULL, name, NULL, NULL, NULL, NULL, NULL));
  demand(whole == length && name[0] == 's', "a length depends on the buffer, or a text comes without one");
}

// ---- settings, and the category

static void expect_setting(const char* name, const char* expected) {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0, scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int index = index_of(cvar, name, 0);
  demand(index >= 0, name);
  CHECK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, &scope));
  demand(type == MPI_CHAR && scope == MPI_T_SCOPE_READONLY, "a setting is a text that tools only read");
  CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  char* value = malloc((size_t)count);
  CHECK(MPI_T_cvar_read(handle, value));
  if (strcmp(value, expected) != 0) {
    fprintf(stderr, "FAILED rank %d: %s is \"%s\", not \"%s\"\n", rank, name, value, expected);
    exit(1);
  }
  demand_code(MPI_T_cvar_write(handle, "1"), MPI_T_ERR_CVAR_SET_NEVER, "writing a setting");
  CHECK(MPI_T_cvar_handle_free(&handle));
  demand(handle == MPI_T_CVAR_HANDLE_NULL, "a freed handle is not null");
  free(value);
}

static void settings(void) {
  if (under_stoker) {
    expect_setting("stoker_pmpi_least_bytes", "8K");
    expect_setting("stoker_pmpi_blocking", "0");
    expect_setting("stoker_executor", "auto");
  }
}

static void expect_members(enum Kind kind, int index, int number) {
  char name[text_length];
  int* members = calloc((size_t)number + 1, sizeof(int));
  CHECK(kind == pvar ? MPI_T_category_get_pvars(index, number + 1, members)
                     : MPI_T_category_get_cvars(index, number + 1, members));
  for (int i = 0; i < number; ++i) {
    CHECK(name_of(kind, members[i], name, NULL));
    demand(strncmp(name, "stoker_", 7) == 0, "another's variable is in stoker's category");
  }
  demand(number == how_many_ours(look(kind)), "a variable is not in stoker's category");
  free(members);
}

static void our_category(void) {
  const int index = index_of(category, "stoker", 0);
  demand((index >= 0) == under_stoker, "the category is there without stoker, or is not");
  if (index >= 0) {
    int cvars = 0, pvars = 0, categories = -1, member = -7;
    CHECK(MPI_T_category_get_info(index, NULL, NULL, NULL, NULL, &cvars, &pvars, &categories));
    demand(categories == 0, "stoker's category has others");
    CHECK(MPI_T_category_get_categories(index, 1, &member));
    demand(member == -7, "stoker's category returns others");
    expect_members(pvar, index, pvars);
    expect_members(cvar, index, cvars);
#if MPI_VERSION >= 4
    int events = -1;
    CHECK(MPI_T_category_get_num_events(index, &events));
    demand(events == 0, "stoker's category has events");
#endif
  }
}

// ---- before MPI_Init and after MPI_Finalize, where Open MPI 4.1 crashes in MPI_T_finalize and MPI_T_pvar_session_free

static void early_and_late(int* argc, char*** argv) {
  struct known known[kinds];
  for (enum Kind kind = pvar; kind < kinds; ++kind) {
    known[kind] = look(kind);
  }
  settings();
  MPI_T_pvar_session session;
  CHECK(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle calls = MPI_T_PVAR_HANDLE_NULL, rounds = MPI_T_PVAR_HANDLE_NULL;
  if (under_stoker) {
    calls = handle_of(session, "stoker_calls_by_engine", MPI_T_PVAR_CLASS_COUNTER);
    rounds = handle_of(session, "stoker_helpers_busy_rounds", MPI_T_PVAR_CLASS_COUNTER);
  }
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (enum Kind kind = pvar; kind < kinds; ++kind) {
    compare(kind, known[kind]);
  }
  settings();
  exchange(4);
  const unsigned long long before = under_stoker ? number_in(session, rounds) : 0;
  MPI_Finalize();
  if (under_stoker) {
    expect(session, calls, 4, "calls, after MPI_Finalize");
    demand(number_in(session, rounds) >= before, "the helper's rounds have gone with it");
  }
}

// ---- threads

static void* use_variables(void* argument) {
  for (int i = 0; i < 200; ++i) {
    MPI_T_pvar_session session;
    CHECK(MPI_T_pvar_session_create(&session));
    if (under_stoker) {
      MPI_T_pvar_handle calls = handle_of(session, "stoker_calls_by_engine", MPI_T_PVAR_CLASS_COUNTER);
      MPI_T_pvar_handle seconds = handle_of(session, "stoker_helpers_sleeping_seconds", MPI_T_PVAR_CLASS_TIMER);
      const unsigned long long before = number_in(session, calls);
      demand(number_in(session, calls) >= before, "a counter has gone back");
      const double earlier = seconds_in(session, seconds);
      demand(seconds_in(session, seconds) >= earlier, "a time has gone back");
      if (mpi_knows_all_handles()) {
        CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
      }
      CHECK(MPI_T_pvar_handle_free(session, &calls));
    }
    CHECK(MPI_T_pvar_session_free(&session));
  }
  return argument;
}

static void threads(void) {
  enum { tools = 4, calls = 50 };
  pthread_t all[tools];
  MPI_T_pvar_session session;
  CHECK(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle counter = MPI_T_PVAR_HANDLE_NULL;
  if (under_stoker) {
    counter = handle_of(session, "stoker_calls_by_engine", MPI_T_PVAR_CLASS_COUNTER);
  }
  for (int i = 0; i < tools; ++i) {
    demand(pthread_create(&all[i], NULL, use_variables, NULL) == 0, "no thread");
  }
  exchange(calls);
  for (int i = 0; i < tools; ++i) {
    pthread_join(all[i], NULL);
  }
  if (under_stoker) {
    expect(session, counter, calls, "calls beside threads that look");
  }
  CHECK(MPI_T_pvar_session_free(&session));
}

int main(int argc, char** argv) {
  under_stoker = argc > 2 && strcmp(argv[1], "--stoker") == 0;
  const char* const section = argv[argc - 1];
  static const struct {
    const char* name;
    void (*run)(void);
  } sections[] = {{"listing", listing},   {"values", values},         {"refusals", refusals},
                  {"settings", settings}, {"category", our_category}, {"threads", threads}};
  send_buffer = calloc(elements, sizeof(int));
  receive_buffer = calloc(elements, sizeof(int));
  int provided = 0;
  CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  if (strcmp(section, "early-and-late") == 0) {
    early_and_late(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bool known = false;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; ++i) {
      if (strcmp(section, sections[i].name) == 0) {
        sections[i].run();
        known = true;
      }
    }
    demand(known, "no such section");
    CHECK(MPI_T_finalize());
    MPI_Finalize();
  }
  free(send_buffer);
  free(receive_buffer);
  return 0;
}
