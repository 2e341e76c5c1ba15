// SPDX-License-Identifier: BSD-3-Clause
// A program that does at random what MPI programs do: several threads, each with communicators of its own that it makes
// and frees; collectives of all families and forms, several outstanding at a time, beside messages; every function that
// completes requests; sleeps. Every result is checked, and that nothing of the process grows. It names nothing but MPI
// and the system.
//
//   soak [--strict]      as of conformance.h
//
// From the environment: SOAK_SEED (each run prints its own; else by the clock), SOAK_SECONDS (4; 0 for a few rounds
// without a look at what grows), SOAK_THREADS (3; 1 with Open MPI 4, which crashes at times when several threads make
// nonblocking calls), SOAK_SEES_TAGS (set: there must be messages of the drop-in library, which sent_tags.c sees),
// SOAK_ERRORS_ARE_FATAL (0; 1: an error of MPI ends the job).
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include "tests/pmpi/conformance.h"
#include "tests/soak/footprint.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  most_threads = 8,
  most_kept = 5,
  most_calls = 4,
  most_requests = most_calls + 2, // and a message in each direction
  most_repeats = 24,
  message_ints = 3000,
  rounds_between_looks_at_the_clock = 4,
  phases = 8
};

typedef struct Random {
  uint64_t state;
} Random;

static uint64_t draw(Random* random) { // splitmix64
  uint64_t z = random->state += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

static int below(Random* random, int bound) { return (int)(draw(random) % (uint64_t)bound); }
static bool one_in(Random* random, int n) { return below(random, n) == 0; }

typedef struct Worker {
  int number;
  MPI_Comm base;
  Random common; // the same on all ranks: what is called
  Random own;    // of this rank: when, and how it is completed
  double until;  // rank 0's counts
  int phase;
  long looks[phases]; // at the clock, in each phase
  int epoch;          // the same on all ranks that have the round's communicator
  MPI_Comm kept[most_kept];
  long rounds, calls, communicators;
} Worker;

static double from_environment(const char* name, double otherwise) {
  const char* value = getenv(name);
  return value != NULL && *value != '\0' ? strtod(value, NULL) : otherwise;
}

// ---- communicators

static MPI_Comm make_comm(const Worker* worker, Random* plan) {
  const MPI_Comm parent = worker->base;
  MPI_Comm made = MPI_COMM_NULL;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(parent, &rank);
  MPI_Comm_size(parent, &ranks);
  const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks, last = ranks - 1;
  switch (below(plan, 6)) {
  case 0:
    MPI_Comm_dup(parent, &made);
    break;
  case 1:
    MPI_Comm_split(parent, rank % 2, -rank, &made);
    break;
  case 2:
    MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made);
    break;
  case 3: { // without the last
    MPI_Group all = MPI_GROUP_NULL, part = MPI_GROUP_NULL;
    MPI_Comm_group(parent, &all);
    MPI_Group_excl(all, ranks > 1, &last, &part);
    MPI_Comm_create(parent, part, &made);
    MPI_Group_free(&part);
    MPI_Group_free(&all);
    break;
  }
  case 4: { // a grid, not periodic: no neighbor twice
    int dims[2] = {0, 0};
    const int periods[2] = {0, 0};
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(parent, 2, dims, periods, 0, &made);
    break;
  }
  default: // a ring
    MPI_Dist_graph_create_adjacent(parent, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &made);
    break;
  }
  return made;
}

// Frees one now and then, makes one now and then, and returns one of those that there are.
static MPI_Comm* choose_comm(Worker* worker, Random* plan) {
  MPI_Comm* place = &worker->kept[below(plan, most_kept)];
  const bool ends = one_in(plan, 4), begins = one_in(plan, 2), is_base = one_in(plan, 4);
  Random making = {draw(plan)};
  // A place that is empty on this rank only, because the communicator does not have it, is treated as on all others.
  if (ends && *place != MPI_COMM_NULL) {
    MPI_Comm_free(place);
  }
  int there = *place != MPI_COMM_NULL;
  PMPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_INT, MPI_MAX, worker->base);
  if (!there && begins) {
    *place = make_comm(worker, &making);
    ++worker->communicators;
  }
  return is_base || (!there && !begins) ? &worker->base : place;
}

// ---- calls

static Shape choose_shape(Random* plan, MPI_Comm comm) {
  static const Form forms[] = {form_nonblocking,  form_nonblocking, form_nonblocking, form_persistent,
                               form_persistent,   form_mpix,        form_blocking,    form_nonblocking_c,
                               form_persistent_c, form_blocking_c};
  const int counts[] = {0,    small_count + below(plan, 4), 500 + below(plan, 500),
                        4096, 5000 + below(plan, 4000),     large_count};
  int ranks = 0, topology = MPI_UNDEFINED;
  MPI_Comm_size(comm, &ranks);
  MPI_Topo_test(comm, &topology);
  Shape shape = {.family = (Family)below(plan, family_count),
                 .form = forms[below(plan, sizeof forms / sizeof *forms)],
                 .kind = (Kind)below(plan, kind_count),
                 .count = counts[below(plan, sizeof counts / sizeof *counts)],
                 .root = below(plan, ranks),
                 .comm = comm};
  shape.in_place = one_in(plan, 3) && has_in_place(shape.family);
  const bool form_serves = is_available(shape.form) && (!is_persistent(shape.form) || persistent_states_work());
  if (!form_serves) {
    shape.form = form_nonblocking;
  }
  if ((is_neighbor(shape.family) && topology == MPI_UNDEFINED) || known_defect(&shape) != NULL) {
    shape.family = one_in(plan, 2) ? alltoallv : allreduce;
    shape.in_place = false;
  }
  return shape;
}

typedef struct Messages {
  int in[message_ints], out[message_ints];
  int left, right, own;
} Messages;

static void begin_messages(Messages* messages, MPI_Comm comm, int epoch, MPI_Request* requests) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &messages->own);
  messages->left = (messages->own + ranks - 1) % ranks;
  messages->right = (messages->own + 1) % ranks;
  for (int i = 0; i < message_ints; ++i) {
    messages->out[i] = messages->own * 1000003 + epoch * 31 + i;
    messages->in[i] = -1;
  }
  MPI_Irecv(messages->in, message_ints, MPI_INT, messages->left, own_tag, comm, &requests[0]);
  MPI_Isend(messages->out, message_ints, MPI_INT, messages->right, own_tag, comm, &requests[1]);
}

static void check_messages(const Messages* messages, int epoch) {
  for (int i = 0; i < message_ints; ++i) {
    if (messages->in[i] != messages->left * 1000003 + epoch * 31 + i) {
      fail("a message beside the calls is wrong");
      return;
    }
  }
}

// ---- completion

static void test_until_done(MPI_Request* request) {
  for (int done = 0; !done; sched_yield()) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
  }
}

static void get_status_until_done(MPI_Request* request) {
  for (int done = 0; !done; sched_yield()) {
    MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
  }
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void one_by_one(int count, MPI_Request* requests, Random* own) {
  for (int i = 0, first = below(own, count); i < count; ++i) {
    MPI_Request* request = &requests[(first + i) % count];
    switch (below(own, 3)) {
    case 0:
      MPI_Wait(request, MPI_STATUS_IGNORE);
      break;
    case 1:
      test_until_done(request);
      break;
    default:
      get_status_until_done(request);
      break;
    }
  }
}

static void complete(int count, MPI_Request* requests, Random* own) {
  int index = 0, done = 0, some = 0, indices[most_requests];
  MPI_Status statuses[most_requests];
  MPI_Status* const perhaps = one_in(own, 2) ? statuses : MPI_STATUSES_IGNORE;
  switch (count > 0 ? below(own, 8) : -1) {
  case 0:
    MPI_Waitall(count, requests, perhaps);
    break;
  case 1:
    while (index != MPI_UNDEFINED) {
      MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
    }
    break;
  case 2:
    while (some != MPI_UNDEFINED) {
      MPI_Waitsome(count, requests, &some, indices, perhaps);
    }
    break;
  case 3:
    for (; !done; sched_yield()) {
      MPI_Testall(count, requests, &done, perhaps);
    }
    break;
  case 4:
    for (; !done || index != MPI_UNDEFINED; sched_yield()) {
      MPI_Testany(count, requests, &index, &done, MPI_STATUS_IGNORE);
    }
    break;
  case 5:
    for (; some != MPI_UNDEFINED; sched_yield()) {
      MPI_Testsome(count, requests, &some, indices, perhaps);
    }
    break;
  case -1:
    break;
  default:
    one_by_one(count, requests, own);
    break;
  }
}

// ---- rounds

typedef struct Round {
  int calls, repeats;
  Call* call[most_calls];
  bool with_messages, is_freed_early;
} Round;

static void describe(const Worker* worker, const Round* round) {
  char text[200] = "";
  size_t length = 0;
  for (int c = 0; c < round->calls && length < sizeof text; ++c) {
    const Shape* s = &round->call[c]->shape;
    length += (size_t)snprintf(text + length, sizeof text - length, " %s %s %s x %d%s,", form_name(s->form),
                               family_name(s->family), kind_name(s->kind), s->count, s->in_place ? " in place" : "");
  }
  set_context("thread %d, round %ld:%s", worker->number, worker->rounds, text);
}

// Starts what is not blocking; returns the number of requests.
static int begin(Worker* worker, const Round* round, bool is_first, Messages* messages, MPI_Request* requests) {
  int active = 0;
  if (round->with_messages) {
    begin_messages(messages, round->call[0]->shape.comm, worker->epoch, requests);
    active = 2;
  }
  for (int c = 0; c < round->calls; ++c) {
    Call* call = round->call[c];
    fill(call, worker->epoch);
    const bool starts = is_persistent(call->shape.form);
    if (is_first || !starts) {
      expect_success(issue(call), "the call");
    }
    if (starts) {
      expect_success(MPI_Start(&call->request), "MPI_Start");
    }
    if (!is_blocking(call->shape.form)) {
      requests[active++] = call->request;
    }
  }
  return active;
}

static void end(Worker* worker, const Round* round, const Messages* messages, const MPI_Request* requests) {
  int at = round->with_messages ? 2 : 0;
  for (int c = 0; c < round->calls; ++c) {
    Call* call = round->call[c];
    if (!is_blocking(call->shape.form)) {
      call->request = requests[at++];
      expect((call->request == MPI_REQUEST_NULL) == !is_persistent(call->shape.form), "a request is not as it must be");
    }
    check(call);
  }
  if (round->with_messages) {
    check_messages(messages, worker->epoch);
  }
  worker->calls += round->calls;
}

static void sleep_perhaps(Random* own) {
  if (one_in(own, 4)) {
    usleep((unsigned)below(own, 1500));
  }
}

static void run_round(Worker* worker, Messages* messages) {
  Random plan = {draw(&worker->common)};
  MPI_Comm* comm = choose_comm(worker, &plan);
  ++worker->rounds;
  if (*comm == MPI_COMM_NULL) {
    return;
  }
  static const int repeats[] = {1, 1, 2, 4, most_repeats}; // the last: what is tried is decided
  Round round = {.calls = 1 + below(&plan, most_calls), .repeats = repeats[below(&plan, 5)]};
  round.with_messages = one_in(&plan, 3);
  // Open MPI crashes.
  round.is_freed_early = one_in(&plan, 6) && comm != &worker->base && !is_open_mpi();
  for (int c = 0; c < round.calls; ++c) {
    round.call[c] = new_call(choose_shape(&plan, *comm));
  }
  describe(worker, &round);
  for (int i = 0; i < round.repeats; ++i) {
    MPI_Request requests[most_requests];
    worker->epoch = (int)(worker->rounds * most_repeats) + i;
    const int active = begin(worker, &round, i == 0, messages, requests);
    if (round.is_freed_early && i + 1 == round.repeats) {
      MPI_Comm_free(comm);
    }
    sleep_perhaps(&worker->own);
    complete(active, requests, &worker->own);
    end(worker, &round, messages, requests);
    if (failures > 0) {
      MPI_Abort(MPI_COMM_WORLD, 1); // what follows would wait for ever
    }
  }
  for (int c = 0; c < round.calls; ++c) {
    if (is_persistent(round.call[c]->shape.form)) {
      expect_success(MPI_Request_free(&round.call[c]->request), "MPI_Request_free");
    }
    free_call(round.call[c]);
  }
}

// Until rank 0's time is over, or as much is done as in the same phase of the first half. The next phase begins where
// this one ended.
static void* work(void* argument) {
  Worker* worker = argument;
  Messages* messages = malloc(sizeof *messages);
  if (messages == NULL) {
    abort();
  }
  for (int c = 0; c < most_kept; ++c) {
    worker->kept[c] = MPI_COMM_NULL;
  }
  // What grows with the calls is not to be taken for a leak where the machine was busy during the first half only.
  const long most = worker->phase < phases / 2 ? LONG_MAX : worker->looks[worker->phase - phases / 2];
  long looks = 0;
  for (int goes_on = 1; goes_on; ++looks) {
    for (int i = 0; i < rounds_between_looks_at_the_clock; ++i) {
      run_round(worker, messages);
    }
    goes_on = MPI_Wtime() < worker->until && looks + 1 < most;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, worker->base);
  }
  worker->looks[worker->phase] = looks;
  for (int c = 0; c < most_kept; ++c) {
    if (worker->kept[c] != MPI_COMM_NULL) {
      MPI_Comm_free(&worker->kept[c]);
    }
  }
  free(messages);
  return NULL;
}

static MPI_Errhandler error_handler(void) {
  return from_environment("SOAK_ERRORS_ARE_FATAL", 0) != 0 ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN;
}

static void run_phase(int threads, Worker* workers, int phase, double seconds) {
  pthread_t ids[most_threads];
  for (int t = 0; t < threads; ++t) {
    expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].base), "MPI_Comm_dup");
    if (failures > 0) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_set_errhandler(workers[t].base, error_handler());
    workers[t].until = MPI_Wtime() + seconds;
    workers[t].phase = phase;
  }
  for (int t = 1; t < threads; ++t) {
    if (pthread_create(&ids[t], NULL, work, &workers[t]) != 0) {
      abort();
    }
  }
  work(&workers[0]);
  for (int t = 1; t < threads; ++t) {
    pthread_join(ids[t], NULL);
  }
  for (int t = 0; t < threads; ++t) {
    MPI_Comm_free(&workers[t].base);
  }
}

// ---- what must not grow

// What the least of the last two phases may exceed the most of phases three and four by. A leak goes on in every phase,
// and adds up to more in the longer form. The heap differs by what is kept for shapes that were called lately; memory
// that is kept because it was needed once, in the allocator or in segments, by the largest set of calls under way so
// far, each up to half a megabyte; tags by the requests that there are at a time.
// Sanitizers take memory themselves, and Open MPI loses some 270 bytes a call.
static bool measures_memory(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return !is_open_mpi();
#endif
}
static const long allowances[measure_count] = {[heap_kib] = 256,      [private_kib] = 8192, [shared_kib] = 16384,
                                               [segment_kib] = 16384, [communicators] = 8,  [highest_tag] = 256};

// In a few seconds on busy cores some shapes are called for the first time in the last phase.
enum { heap_allowance_of_short_form_kib = 1024, short_form_seconds = 60 };

static void expect_no_growth(const Footprint* seen, double seconds) {
  for (int m = 0; m < measure_count; ++m) {
    const long warm = seen[2].of[m] > seen[3].of[m] ? seen[2].of[m] : seen[3].of[m];
    const long last = seen[6].of[m] < seen[7].of[m] ? seen[6].of[m] : seen[7].of[m];
    if (m == highest_tag && getenv("SOAK_SEES_TAGS") != NULL && last == 0) {
      fail("no message of the drop-in library was seen");
    }
    const bool few_calls = m == heap_kib && seconds < short_form_seconds;
    const long allowance = few_calls ? heap_allowance_of_short_form_kib : allowances[m];
    if (last > warm + allowance && (measures_memory() || (m != heap_kib && m != private_kib))) {
      fail("%s grew from %ld to %ld", measure_names[m], warm, last);
    }
  }
}

static void print(const Footprint* seen) {
  for (int m = 0; m < measure_count; ++m) {
    printf("%-14s", measure_names[m]);
    for (int p = 0; p < phases; ++p) {
      printf(" %8ld", seen[p].of[m]);
    }
    printf("\n");
  }
}

// ----

int main(int argc, char** argv) {
  strict = argc == 2 && strcmp(argv[1], "--strict") == 0;
  keeps_handles = is_open_mpi(); // which crashes when several threads free such
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, error_handler());
  long seed = (long)from_environment("SOAK_SEED", (double)(time(NULL) % 1000000));
  MPI_Bcast(&seed, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  const double seconds = from_environment("SOAK_SECONDS", 4);
  const int asked = (int)from_environment("SOAK_THREADS", is_open_mpi_before(500) ? 1 : 3);
  const int threads = provided < MPI_THREAD_MULTIPLE ? 1 : asked < most_threads ? asked : most_threads;
  if (world_rank() == 0) {
    printf("SOAK_SEED=%ld SOAK_SECONDS=%g SOAK_THREADS=%d\n", seed, seconds, threads);
    (void)fflush(stdout);
  }
  static Worker workers[most_threads];
  for (int t = 0; t < threads; ++t) {
    workers[t].number = t;
    workers[t].common.state = (uint64_t)seed * most_threads + (uint64_t)t;
    workers[t].own.state = ((uint64_t)world_rank() + 1) << 32 | workers[t].common.state;
  }
  Footprint seen[phases] = {{{0}}};
  for (int phase = 0; phase < (seconds > 0 ? phases : 1); ++phase) {
    run_phase(threads, workers, phase, seconds / phases);
    if (seconds > 0) {
      seen[phase] = look();
    }
  }
  set_context("seed %ld", seed);
  expect_no_growth(seen, seconds);
  if (world_rank() == 0) {
    long rounds = 0, calls = 0, communicators_made = 0;
    for (int t = 0; t < threads; ++t) {
      rounds += workers[t].rounds;
      calls += workers[t].calls;
      communicators_made += workers[t].communicators;
    }
    printf("%ld rounds, %ld calls, %ld communicators\n", rounds, calls, communicators_made);
    print(seen);
  }
  MPI_Finalize();
  return failures > 0 ? 1 : 0;
}
