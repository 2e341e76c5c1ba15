// SPDX-License-Identifier: BSD-3-Clause
// Small nonblocking collectives, which the drop-in library may leave to the MPI library or take over in the middle.
// Every result is checked; data are new in each call, and outputs poisoned before.
//
//   small_calls at-once      every call is waited for as soon as it is started
//   small_calls overlapped   the ranks sleep before they wait
//   small_calls one-sleeps   rank 0 sleeps, the others wait at once
//   small_calls mixed        all of that in turns, on several communicators, several calls under way, tested and waited
//                            for in all ways, between blocking and long ones
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Calls behind sleeps, in which a library may learn.
enum { most_ranks = 16, most_elements = 40, poison = -77, sleeps = 4000 };

static int rank, ranks, failures;

static void sleep_for(long microseconds) {
  const struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

// The same numbers on all ranks.
static unsigned next_random(void) {
  static unsigned state = 20261125;
  state = state * 1664525U + 1013904223U;
  return state >> 8;
}

typedef enum Kind { allreduce, allreduce_in_place, bcast, reduce, allgather, alltoall, scan, barrier, kinds } Kind;

// A call under way. Rank r gives r * 3 + salt + i as its element i.
typedef struct Call {
  Kind kind;
  MPI_Comm comm;
  int me, size, elements, salt, root;
  MPI_Request request;
  int in[most_ranks * most_elements], out[most_ranks * most_elements];
} Call;

static int given(const Call* call, int from, int i) { return from * 3 + call->salt + i; }

static void start(Call* call, Kind kind, MPI_Comm comm, int elements, int salt) {
  MPI_Comm_rank(comm, &call->me);
  MPI_Comm_size(comm, &call->size);
  call->kind = kind;
  call->comm = comm;
  call->elements = elements;
  call->salt = salt;
  call->root = salt % call->size;
  for (int i = 0; i < call->size * elements; ++i) {
    call->in[i] = given(call, call->me, i);
    call->out[i] = kind == allreduce_in_place || (kind == bcast && call->me == call->root) ? call->in[i] : poison;
  }
  switch (kind) {
  case allreduce:
    MPI_Iallreduce(call->in, call->out, elements, MPI_INT, MPI_SUM, comm, &call->request);
    break;
  case allreduce_in_place:
    MPI_Iallreduce(MPI_IN_PLACE, call->out, elements, MPI_INT, MPI_SUM, comm, &call->request);
    break;
  case bcast:
    if (call->me % 2 == 0) {
      MPI_Ibcast(call->out, elements, MPI_INT, call->root, comm, &call->request);
    } else { // a datatype need not be the same on all ranks
      MPI_Datatype all;
      MPI_Type_contiguous(elements, MPI_INT, &all);
      MPI_Type_commit(&all);
      MPI_Ibcast(call->out, 1, all, call->root, comm, &call->request);
      MPI_Type_free(&all);
    }
    break;
  case reduce:
    MPI_Ireduce(call->in, call->out, elements, MPI_INT, MPI_MAX, call->root, comm, &call->request);
    break;
  case allgather:
    MPI_Iallgather(call->in, elements, MPI_INT, call->out, elements, MPI_INT, comm, &call->request);
    break;
  case alltoall:
    MPI_Ialltoall(call->in, elements, MPI_INT, call->out, elements, MPI_INT, comm, &call->request);
    break;
  case scan:
    MPI_Iscan(call->in, call->out, elements, MPI_INT, MPI_SUM, comm, &call->request);
    break;
  case barrier:
  case kinds:
    MPI_Ibarrier(comm, &call->request);
    break;
  }
}

static int expected(const Call* call, int i) {
  const int block = i / call->elements, place = i % call->elements;
  const int summed = call->kind == scan ? call->me + 1 : call->size;
  switch (call->kind) {
  case allreduce:
  case allreduce_in_place:
  case scan:
    return 3 * (summed * (summed - 1) / 2) + summed * (call->salt + i);
  case bcast:
    return given(call, call->root, i);
  case reduce:
    return call->me == call->root ? given(call, call->size - 1, i) : poison;
  case allgather:
    return given(call, block, place);
  case alltoall:
    return given(call, block, call->me * call->elements + place);
  case barrier:
  case kinds:
    break;
  }
  return poison;
}

static void check(const Call* call) {
  const int blocks = call->kind == allgather || call->kind == alltoall ? call->size : 1;
  for (int i = 0; i < blocks * call->elements; ++i) {
    if (call->out[i] != expected(call, i)) {
      fprintf(stderr, "FAILED rank %d: kind %d of %d elements, salt %d: element %d is %d, not %d\n", rank, call->kind,
              call->elements, call->salt, i, call->out[i], expected(call, i));
      if (++failures == 20) {
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      return;
    }
  }
}

static void one_by_one(int calls, Kind kind, MPI_Comm comm, long microseconds) {
  static Call call;
  for (int i = 0; i < calls; ++i) {
    start(&call, kind, comm, 3, i);
    if (microseconds > 0) {
      sleep_for(microseconds);
    }
    MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    check(&call);
  }
}

// How the requests of several calls are completed.
static void complete(MPI_Request* requests, int count, unsigned way) {
  int left = count, flag = 0, index, some[8];
  switch (way % 5) {
  case 0:
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    break;
  case 1:
    for (int i = 0; i < count; ++i) {
      do {
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      } while (!flag);
    }
    break;
  case 2:
    while (!flag) {
      MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
    }
    break;
  case 3:
    while (left-- > 0) {
      MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
    }
    break;
  default:
    while (left > 0) {
      int done;
      MPI_Waitsome(count, requests, &done, some, MPI_STATUSES_IGNORE);
      left -= done;
    }
  }
}

// Several calls under way on `comm`, beside a message between neighbours.
static void together(MPI_Comm comm, int salt, int elements) {
  static Call calls[6];
  MPI_Request requests[8] = {MPI_REQUEST_NULL};
  const int count = 1 + (int)(next_random() % 6);
  int me, size, theirs = poison;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  MPI_Irecv(&theirs, 1, MPI_INT, (me + 1) % size, 5, comm, &requests[count]);
  for (int i = 0; i < count; ++i) {
    const unsigned kind = next_random() % kinds;
    start(&calls[i], kind, comm, elements, salt + i);
    requests[i] = calls[i].request;
  }
  MPI_Isend(&me, 1, MPI_INT, (me + size - 1) % size, 5, comm, &requests[count + 1]);
  const unsigned pause = next_random() % 4;
  if (pause > 0 && (pause > 1 || rank == 0)) {
    sleep_for(300);
  }
  complete(requests, count + 2, next_random());
  for (int i = 0; i < count; ++i) {
    check(&calls[i]);
  }
  if (theirs != (me + 1) % size) {
    fprintf(stderr, "FAILED rank %d: a message holds %d\n", rank, theirs);
    ++failures;
  }
}

static void long_call(MPI_Comm comm, int salt) {
  enum { count = 8192 };
  static int in[count], out[count];
  int size;
  MPI_Request request;
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < count; ++i) {
    in[i] = salt + i;
    out[i] = poison;
  }
  MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) {
    if (out[i] != size * in[i]) {
      fprintf(stderr, "FAILED rank %d: a long call, element %d is %d\n", rank, i, out[i]);
      ++failures;
      return;
    }
  }
}

static void mixed(void) {
  MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  for (int phase = 0; phase < 12; ++phase) {
    MPI_Comm comm = comms[phase % 3];
    one_by_one(phase < 4 ? 1000 : 120, phase % 2 == 0 ? allreduce : bcast, comm, phase % 3 == 0 ? 0 : 200);
    for (int i = 0; i < 100; ++i) {
      together(comms[next_random() % 3], i, 1 + (int)(next_random() % (phase % 4 == 3 ? most_elements : 2)));
    }
    long_call(comm, phase);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* section = argc == 2 ? argv[1] : "";
  if (ranks > most_ranks) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  } else if (strcmp(section, "at-once") == 0) {
    for (int kind = 0; kind < kinds; ++kind) {
      one_by_one(400, (Kind)kind, MPI_COMM_WORLD, 0);
    }
  } else if (strcmp(section, "overlapped") == 0) {
    one_by_one(sleeps, allreduce, MPI_COMM_WORLD, 500);
  } else if (strcmp(section, "one-sleeps") == 0) {
    one_by_one(sleeps, allreduce, MPI_COMM_WORLD, rank == 0 ? 500 : 0);
  } else if (strcmp(section, "mixed") == 0) {
    mixed();
  } else {
    fprintf(stderr, "usage: small_calls at-once|overlapped|one-sleeps|mixed\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures != 0;
}
