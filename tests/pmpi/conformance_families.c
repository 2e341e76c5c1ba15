// SPDX-License-Identifier: BSD-3-Clause
// Every family in every form: what arrives, on every rank, again and again.
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it

#include "tests/pmpi/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void describe(const Shape* shape) {
  set_context("%s %s of %d %s%s, root %d", form_name(shape->form), family_name(shape->family), shape->count,
              kind_name(shape->kind), shape->in_place ? " in place" : "", shape->root);
}

// Said once a family.
static void leave_out_call(const Shape* shape) {
  static bool said[family_count];
  if (!said[shape->family]) {
    leave_out(family_name(shape->family), known_defect(shape));
  }
  said[shape->family] = true;
}

// A directed graph without multiple edges: to the next rank and, but from the last, to rank 0.
static MPI_Comm new_graph(MPI_Comm comm) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int targets[2] = {(rank + 1) % ranks, 0};
  const int degree = targets[0] != 0 && rank != 0 ? 2 : 1;
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Dist_graph_create(comm, 1, &rank, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  return graph;
}

// Calls that are tested may look overlapped on busy cores, and the MPI library is tried for these much later.
static bool only_waits;

static void complete(Call* call, int epoch) {
  if (only_waits || epoch % 2 == 0) {
    expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
    return;
  }
  for (int done = 0; !done;) {
    MPI_Status status;
    const int code = MPI_Test(&call->request, &done, &status);
    expect_success(code, "MPI_Test");
    if (code != MPI_SUCCESS) {
      return;
    }
  }
}

// So many times with the same buffers; and of a call that is not persistent, once more with others.
static void run_shape(Shape shape, int times) {
  describe(&shape);
  if (known_defect(&shape) != NULL) {
    leave_out_call(&shape);
    return;
  }
  Call* call = new_call(shape);
  for (int epoch = 0; epoch < times; ++epoch) {
    fill(call, epoch);
    if (epoch == 0 || !is_persistent(shape.form)) {
      expect_success(issue(call), "the call");
    }
    if (is_persistent(shape.form)) {
      const MPI_Request before = call->request;
      expect_success(MPI_Start(&call->request), "MPI_Start");
      complete(call, epoch);
      expect(call->request == before, "the handle of a persistent request changed");
    } else if (!is_blocking(shape.form)) {
      expect(call->request != MPI_REQUEST_NULL, "no request");
      complete(call, epoch);
      expect(call->request == MPI_REQUEST_NULL, "the request is not freed");
    }
    check(call);
  }
  if (is_persistent(shape.form)) {
    expect_success(MPI_Request_free(&call->request), "MPI_Request_free");
    expect(call->request == MPI_REQUEST_NULL, "MPI_Request_free leaves a handle");
  }
  free_call(call);
  if (!is_persistent(shape.form)) {
    run_once(shape, times);
  }
}

static void run_family(Family family, Form form, MPI_Comm comm, MPI_Comm graph) {
  Shape shape = {.family = family, .form = form, .comm = is_neighbor(family) ? graph : comm};
  if (family == barrier) {
    run_shape(shape, 3);
    return;
  }
  static const int counts[] = {0, small_count, large_count};
  const bool w = family == alltoallw || family == neighbor_alltoallw; // brings kinds of its own
  const Kind kinds = w ? kind_int + 1 : is_reduction(family) ? kind_count : kind_gap + 1;
  int variant = 0;
  for (int c = 0; c < 3; ++c) {
    for (Kind kind = kind_int; kind < kinds; ++kind) {
      for (int in_place = 0; in_place <= (has_in_place(family) ? 1 : 0); ++in_place) {
        shape.count = counts[c];
        shape.kind = kind;
        shape.in_place = in_place == 1;
        shape.root = has_root(family) ? variant++ % world_size() : 0;
        run_shape(shape, counts[c] == 0 ? 1 : 3);
      }
    }
  }
}

static void run_form(Form form) {
  if (!is_available(form)) {
    leave_out(form_name(form), "the MPI library has no such functions");
    return;
  }
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm graph = new_graph(comm);
  for (Family family = 0; family < family_count; ++family) {
    run_family(family, form, comm, graph);
  }
  MPI_Comm_free(&graph);
  MPI_Comm_free(&comm);
}

static void blocking(void) { run_form(form_blocking); }
static void nonblocking(void) { run_form(form_nonblocking); }
static void persistent(void) { run_form(form_persistent); }
static void blocking_c(void) { run_form(form_blocking_c); }
static void nonblocking_c(void) { run_form(form_nonblocking_c); }
static void persistent_c(void) { run_form(form_persistent_c); }
static void mpix(void) { run_form(form_mpix); }

// ---- many calls of the same shape, each with buffers of its own

// Calls that are complete, whose buffers must stay as they are: nothing may be written late.
enum { most_kept = 24 };
typedef struct Kept {
  Call* calls[most_kept];
  int next;
} Kept;

static void keep_call(Kept* kept, Call* call) {
  Call** place = &kept->calls[kept->next++ % most_kept];
  if (*place != NULL) {
    set_context("%s of %d %s, some time after its end", family_name((*place)->shape.family), (*place)->shape.count,
                kind_name((*place)->shape.kind));
    check(*place);
    free_call(*place);
  }
  *place = call;
}

static void many_calls(void) {
  MPI_Comm graph = new_graph(MPI_COMM_WORLD);
  Kept kept = {.next = 0};
  for (Family family = 0; family < family_count; ++family) {
    Shape shape = {.family = family, .form = form_nonblocking, .comm = is_neighbor(family) ? graph : MPI_COMM_WORLD};
    for (int i = 0; i < 44; ++i) {
      // Mostly the same shape; some others in between.
      shape.count = i % 4 == 3 ? small_count : i % 11 == 10 ? large_count - 1000 : large_count;
      shape.kind = i % 8 == 5 ? kind_gap : kind_int;
      if (known_defect(&shape) != NULL) {
        leave_out_call(&shape);
        continue;
      }
      Call* call = new_call(shape);
      set_context("call %d of nonblocking %s of %d %s", i, family_name(family), shape.count, kind_name(shape.kind));
      fill(call, i);
      expect_success(issue(call), "the call");
      expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
      check(call);
      keep_call(&kept, call);
    }
  }
  for (int i = 0; i < most_kept; ++i) {
    keep_call(&kept, NULL);
  }
  MPI_Comm_free(&graph);
}

// ---- many under way

enum { most_outstanding = 28 };

static void outstanding_on(Form form, int epochs) {
  MPI_Comm graph = new_graph(MPI_COMM_WORLD);
  Call* calls[most_outstanding];
  const int ranks = world_size();
  const bool any_order = form == form_nonblocking || persistent_states_work();
  for (int i = 0; i < most_outstanding; ++i) {
    Family family = (Family)(i * 5 % family_count);
    const Shape tried = {.family = family, .form = form, .comm = is_neighbor(family) ? graph : MPI_COMM_WORLD};
    if (known_defect(&tried) != NULL) {
      family = alltoall;
    }
    calls[i] = new_call((Shape){.family = family,
                                .form = form,
                                .kind = i % 3 == 0 ? kind_gap : kind_int,
                                .count = i % 2 == 0 ? large_count : small_count,
                                .root = i % ranks,
                                .comm = is_neighbor(family) ? graph : MPI_COMM_WORLD});
  }
  for (int epoch = 0; epoch < epochs; ++epoch) {
    set_context("%d outstanding %s calls, epoch %d", most_outstanding, form_name(form), epoch);
    for (int i = 0; i < most_outstanding; ++i) {
      fill(calls[i], epoch);
      if (epoch == 0 || !is_persistent(form)) {
        expect_success(issue(calls[i]), "the call");
      }
    }
    for (int i = 0; is_persistent(form) && i < most_outstanding; ++i) {
      const int first = any_order ? world_rank() : 0;
      expect_success(MPI_Start(&calls[(i + first + epoch) % most_outstanding]->request), "MPI_Start");
    }
    // Each rank waits in an order of its own.
    for (int i = 0; i < most_outstanding; ++i) {
      Call* call = calls[(i * (world_rank() % 2 == 0 ? 1 : 27) + epoch) % most_outstanding];
      expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
      set_context("one of %d outstanding: %s %s, epoch %d", most_outstanding, form_name(form),
                  family_name(call->shape.family), epoch);
      check(call);
    }
  }
  for (int i = 0; i < most_outstanding; ++i) {
    if (is_persistent(form)) {
      expect_success(MPI_Request_free(&calls[i]->request), "MPI_Request_free");
    }
    free_call(calls[i]);
  }
  MPI_Comm_free(&graph);
}

static void outstanding(void) {
  outstanding_on(form_nonblocking, 3);
  if (some_persistent_form() != form_nonblocking) {
    outstanding_on(some_persistent_form(), 30);
  }
}

static void opposite_order_of(Form form) {
  MPI_Comm comms[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  static const Family families[] = {allreduce, alltoall, bcast, barrier, allgatherv, scatter};
  for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
    const Shape tried = {.family = families[f], .form = form, .count = large_count, .comm = MPI_COMM_WORLD};
    if (known_defect(&tried) != NULL) {
      leave_out_call(&tried);
      continue;
    }
    Call* calls[2];
    for (int i = 0; i < 2; ++i) {
      calls[i] = new_call((Shape){
          .family = families[f], .form = form, .count = large_count, .root = i % world_size(), .comm = comms[i]});
      if (is_persistent(form)) {
        fill(calls[i], 0);
        expect_success(issue(calls[i]), "the call");
      }
    }
    for (int epoch = 0; epoch < 4; ++epoch) {
      set_context("two communicators in opposite order, %s %s, epoch %d", form_name(form), family_name(families[f]),
                  epoch);
      const int first = (world_rank() + epoch) % 2;
      for (int i = 0; i < 2; ++i) {
        Call* call = calls[(first + i) % 2];
        fill(call, epoch);
        expect_success(is_persistent(form) ? MPI_Start(&call->request) : issue(call), "start");
      }
      for (int i = 0; i < 2; ++i) {
        Call* call = calls[epoch < 2 ? i : (first + i) % 2];
        expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
        check(call);
      }
    }
    for (int i = 0; i < 2; ++i) {
      if (is_persistent(form)) {
        MPI_Request_free(&calls[i]->request);
      }
      free_call(calls[i]);
    }
  }
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
}

static void opposite_order(void) {
  opposite_order_of(form_nonblocking);
  if (some_persistent_form() != form_nonblocking) {
    opposite_order_of(some_persistent_form());
  }
}

// ---- persistent requests, started in an order of each rank's own

static void start_order(void) {
  const Form form = some_persistent_form();
  if (form == form_nonblocking) {
    leave_out("start order", "no persistent collectives");
    return;
  }
  if (!persistent_states_work()) {
    leave_out("start order", "MPICH 4.0 matches persistent collectives by the order of their starts");
    return;
  }
  enum { requests = 8 };
  static const Family families[requests] = {allreduce, alltoall,   bcast, reduce_scatter_block,
                                            allreduce, allgatherv, scan,  barrier};
  Call* calls[requests];
  for (int i = 0; i < requests; ++i) {
    calls[i] = new_call((Shape){.family = families[i],
                                .form = form,
                                .count = i < 6 ? large_count : small_count,
                                .root = i % world_size(),
                                .comm = MPI_COMM_WORLD});
    fill(calls[i], 0);
    expect_success(issue(calls[i]), "the call");
  }
  for (int epoch = 0; epoch < 40; ++epoch) {
    set_context("persistent collectives in an order of each rank's own, epoch %d", epoch);
    MPI_Request ordered[requests];
    for (int i = 0; i < requests; ++i) {
      fill(calls[i], epoch);
      ordered[i] = calls[(i * (world_rank() % 2 == 0 ? 1 : 3) + world_rank() + epoch) % requests]->request;
    }
    MPI_Request given[requests];
    for (int i = 0; i < requests; ++i) {
      given[i] = ordered[i];
    }
    if (epoch % 2 == 0) {
      expect_success(MPI_Startall(requests, ordered), "MPI_Startall");
    } else {
      for (int i = 0; i < requests; ++i) {
        expect_success(MPI_Start(&ordered[i]), "MPI_Start");
      }
    }
    expect_success(MPI_Waitall(requests, ordered, MPI_STATUSES_IGNORE), "MPI_Waitall");
    for (int i = 0; i < requests; ++i) {
      expect(ordered[i] == given[i], "start or completion changed a persistent request's handle");
      check(calls[i]);
    }
  }
  for (int i = 0; i < requests; ++i) {
    MPI_Request_free(&calls[i]->request);
    free_call(calls[i]);
  }
}

// ---- so many starts that a library may change its mind about how to carry them out

static void many_starts(void) {
  const Form form = some_persistent_form();
  if (form == form_nonblocking) {
    leave_out("many starts", "no persistent collectives");
    return;
  }
  MPI_Comm graph = new_graph(MPI_COMM_WORLD);
  only_waits = true;
  for (Family family = 0; family < family_count; ++family) {
    for (int in_place = 0; in_place <= (has_in_place(family) ? 1 : 0); ++in_place) {
      run_shape((Shape){.family = family,
                        .form = form,
                        .count = family % 2 == 0 ? small_count : large_count,
                        .in_place = in_place == 1,
                        .root = has_root(family) ? world_size() - 1 : 0,
                        .comm = is_neighbor(family) ? graph : MPI_COMM_WORLD},
                60);
    }
  }
  only_waits = false;
  MPI_Comm_free(&graph);
}

// Ranks that have something to send only need not wait for the root, and may be calls ahead of it. Each third time they
// then wait for a message that the root sends once its part of that call is done: a start must come to pass by itself.
static void runs_ahead(void) {
  const Form form = some_persistent_form();
  if (form == form_nonblocking || world_size() < 2) {
    leave_out("ranks that run ahead", "needs persistent collectives and two ranks");
    return;
  }
  enum { starts = 60, tag = 9 };
  static const Family families[] = {gather, reduce, gatherv};
  for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
    for (int offset = 0; offset < 3; ++offset) {
      const Shape shape = {.family = families[f], .form = form, .count = small_count, .comm = MPI_COMM_WORLD};
      if (known_defect(&shape) != NULL) {
        leave_out_call(&shape);
        continue;
      }
      Call* call = new_call(shape);
      fill(call, 0);
      expect_success(issue(call), "the call");
      for (int epoch = 0; epoch < starts; ++epoch) {
        set_context("%s with ranks that run ahead, offset %d, epoch %d", family_name(families[f]), offset, epoch);
        const int place = (epoch + offset) % 3;
        fill(call, epoch);
        if (place == 0 && world_rank() == 0) {
          usleep(2000);
        }
        expect_success(MPI_Start(&call->request), "MPI_Start");
        if (place == 2 && world_rank() != 0) {
          expect_success(MPI_Recv(NULL, 0, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
        }
        expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
        check(call);
        for (int rank = 1; place == 2 && world_rank() == 0 && rank < world_size(); ++rank) {
          expect_success(MPI_Send(NULL, 0, MPI_INT, rank, tag, MPI_COMM_WORLD), "MPI_Send");
        }
      }
      expect_success(MPI_Request_free(&call->request), "MPI_Request_free");
      free_call(call);
    }
  }
}

static Call* started(Form form, int starts, int number, MPI_Comm comm) {
  static const Family families[] = {allreduce, alltoall, bcast, scan};
  Call* call = new_call((Shape){.family = families[number % 4], .form = form, .count = small_count, .comm = comm});
  fill(call, 0);
  expect_success(issue(call), "the call");
  for (int epoch = 0; epoch < starts; ++epoch) {
    set_context("request %d of many, %s, epoch %d", number, family_name(call->shape.family), epoch);
    fill(call, epoch);
    expect_success(MPI_Start(&call->request), "MPI_Start");
    expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(call);
  }
  return call;
}

static void free_started(Call* call) {
  expect_success(MPI_Request_free(&call->request), "MPI_Request_free");
  free_call(call);
}

// ---- blocks that an int does not reach, at the root only

static void far_blocks(void) {
  if (!is_available(form_persistent_c)) {
    leave_out("far blocks", "the library has no functions for large counts");
    return;
  }
  enum { root = 0, bytes = 10, starts = 40 };
  const int ranks = world_size();
  const size_t far = ((size_t)1 << 31) + 5000, size = far + (size_t)bytes * (size_t)ranks;
  char* recv = NULL; // of which little is touched
  if (world_rank() == root) {
    recv = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  int have = recv != MAP_FAILED;
  MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!have) {
    leave_out("far blocks", "2 GiB of addresses are not to be had");
    return;
  }
  MPI_Count counts[most_blocks];
  MPI_Aint displs[most_blocks];
  for (int empty = 0; empty < 2; ++empty) { // a block far away has no elements; then all are far away
    for (int i = 0; i < ranks; ++i) {
      counts[i] = empty == 0 && i == ranks - 1 ? 0 : bytes;
      displs[i] = counts[i] == 0 || empty == 1 ? (MPI_Aint)far + i * bytes : i * bytes;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    char send[bytes];
    const int sendcount = (int)counts[world_rank()];
    expect_success(gatherv_far(true, send, sendcount, recv, counts, displs, root, &request), "MPI_Gatherv_init_c");
    for (int epoch = 0; epoch < starts; ++epoch) {
      set_context("gatherv of far blocks, epoch %d", epoch);
      for (int i = 0; i < bytes; ++i) {
        send[i] = (char)(world_rank() * 16 + epoch + i);
      }
      expect_success(MPI_Start(&request), "MPI_Start");
      expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
      if (empty == 0) {
        MPI_Request other = MPI_REQUEST_NULL;
        expect_success(gatherv_far(false, send, sendcount, recv, counts, displs, root, &other), "MPI_Igatherv_c");
        expect_success(MPI_Wait(&other, MPI_STATUS_IGNORE), "MPI_Wait");
      }
      for (int rank = 0; world_rank() == root && rank < ranks; ++rank) {
        for (int i = 0; i < counts[rank]; ++i) {
          expect(recv[displs[rank] + i] == (char)(rank * 16 + epoch + i), "a far block is wrong");
          recv[displs[rank] + i] = 0;
        }
      }
    }
    expect_success(MPI_Request_free(&request), "MPI_Request_free");
  }
  if (recv != NULL) {
    (void)munmap(recv, size);
  }
  for (int i = 0; i < 4; ++i) { // what may have been refused in between leaves nothing behind
    free_started(started(form_persistent_c, starts, i, MPI_COMM_WORLD));
  }
}

// ---- many requests: what each takes must be given back

static void many_requests(void) {
  const Form form = some_persistent_form();
  if (form == form_nonblocking) {
    leave_out("many requests", "no persistent collectives");
    return;
  }
  for (int i = 0; i < 700; ++i) { // one after the other, freed after so many starts that anything may be pending
    free_started(started(form, i % 20, i, MPI_COMM_WORLD));
  }
  enum { at_a_time = 90 };
  for (int round = 0; round < 4; ++round) { // many at a time, freed by each rank in an order of its own
    Call* calls[at_a_time];
    for (int i = 0; i < at_a_time; ++i) {
      calls[i] = started(form, i % 3, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < at_a_time; ++i) {
      free_started(calls[(i * (world_rank() % 2 == 0 ? 1 : 7) + world_rank()) % at_a_time]);
    }
  }
  for (int i = 0; i < 150; ++i) { // of communicators that come and go, some before their requests
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    Call* first = started(form, 13, i, comm);
    Call* second = started(form, 2, i, comm);
    free_started(first);
    const bool early = i % 2 == 0 && strict; // libraries alone need not survive it
    if (early) {
      MPI_Comm_free(&comm);
    }
    for (int epoch = 2; epoch < 20; ++epoch) {
      fill(second, epoch);
      expect_success(MPI_Start(&second->request), "MPI_Start");
      expect_success(MPI_Wait(&second->request, MPI_STATUS_IGNORE), "MPI_Wait");
      check(second);
    }
    free_started(second);
    if (!early) {
      MPI_Comm_free(&comm);
    }
  }
  MPI_Comm last = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &last);
  MPI_Comm_set_name(last, "after-many-requests");
  free_started(started(form, 60, 0, last));
  MPI_Comm_free(&last);
}

// Freed by each rank at a time of its own, without a start.
static void never_started(void) {
  const Form form = some_persistent_form();
  if (form == form_nonblocking) {
    leave_out("requests that are never started", "no persistent collectives");
    return;
  }
  for (int round = 0; round < 12; ++round) {
    for (int large = 0; large < 2; ++large) {
      set_context("never started, round %d", round);
      Call* call = new_call((Shape){.family = round % 2 == 0 ? alltoall : allreduce,
                                    .form = form,
                                    .count = large ? large_count : small_count,
                                    .comm = MPI_COMM_WORLD});
      fill(call, round);
      expect_success(issue(call), "the call");
      if (round % 3 == world_rank()) {
        expect_success(MPI_Request_free(&call->request), "MPI_Request_free");
      } else {
        if (persistent_states_work()) {
          expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait for an inactive request");
        }
        expect_success(MPI_Request_free(&call->request), "MPI_Request_free");
      }
      free_call(call);
    }
  }
  set_context("after requests that were never started");
  run_once((Shape){.family = alltoall, .form = form, .count = large_count, .comm = MPI_COMM_WORLD}, 1);
}

static void one_rank(void) {
  MPI_Comm graph = new_graph(MPI_COMM_SELF);
  static const Form forms[] = {form_blocking, form_nonblocking, form_persistent, form_mpix};
  for (size_t f = 0; f < sizeof forms / sizeof *forms; ++f) {
    for (Family family = 0; is_available(forms[f]) && family < family_count; ++family) {
      for (int large = 0; large < 2; ++large) {
        const Shape shape = {.family = family,
                             .form = forms[f],
                             .count = large ? large_count : small_count,
                             .comm = is_neighbor(family) ? graph : MPI_COMM_SELF};
        run_shape(shape, 3);
      }
    }
  }
  MPI_Comm_free(&graph);
}

const Section family_sections[] = {
    {"blocking", blocking},
    {"nonblocking", nonblocking},
    {"persistent", persistent},
    {"blocking-c", blocking_c},
    {"nonblocking-c", nonblocking_c},
    {"persistent-c", persistent_c},
    {"mpix", mpix},
    {"many-calls", many_calls},
    {"outstanding", outstanding},
    {"opposite-order", opposite_order},
    {"start-order", start_order},
    {"many-starts", many_starts},
    {"runs-ahead", runs_ahead},
    {"many-requests", many_requests},
    {"far-blocks", far_blocks},
    {"never-started", never_started},
    {"one-rank", one_rank},
    {NULL, NULL},
};
