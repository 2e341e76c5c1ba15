// SPDX-License-Identifier: BSD-3-Clause
// Requests: completion in every form, of arrays in which collectives stand beside everything else that MPI has requests
// for.
#include "tests/pmpi/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- one of everything

enum {
  at_irecv,
  at_isend,
  at_recv_init,
  at_send_init,
  at_grequest,
  at_null,
  at_inactive_recv,
  at_inactive_collective,
  at_iallreduce,
  at_ialltoall,
  at_ibarrier,
  at_ibcast_small,
  at_persistent_alltoall,
  at_persistent_scan_small,
  at_iwrite,
  mix_size
};
enum { message_ints = 5000, grequest_source = 77, grequest_tag = 88, grequest_ints = 7, file_ints = 10 };

typedef struct Mix {
  MPI_Request requests[mix_size];
  MPI_Request before[mix_size];
  Call* calls[mix_size]; // of collectives
  bool inactive[mix_size];
  int* sent[2];
  int* received[2];
  MPI_Request grequest;
  int grequest_freed;
  MPI_File file;
  int written[file_ints];
  int epoch;
} Mix;

static int describe_grequest(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, grequest_ints);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = grequest_source;
  status->MPI_TAG = grequest_tag;
  return MPI_SUCCESS;
}

static int count_free(void* state) {
  ++((Mix*)state)->grequest_freed;
  return MPI_SUCCESS;
}

static int ignore_cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

static int left(void) { return (world_rank() + world_size() - 1) % world_size(); }
static int right(void) { return (world_rank() + 1) % world_size(); }

static void open_file(Mix* mix) {
  char name[512];
  const char* folder = getenv("TMPDIR");
  (void)snprintf(name, sizeof name, "%s/conformance-%d", folder != NULL ? folder : "/tmp", world_rank());
  expect_success(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                               MPI_INFO_NULL, &mix->file),
                 "MPI_File_open");
}

static Call* issued(Family family, Form form, int count) {
  Call* call = new_call((Shape){.family = family, .form = form, .count = count, .root = 0, .comm = MPI_COMM_WORLD});
  if (is_persistent(form)) {
    fill(call, 0);
    expect_success(issue(call), "the call");
  }
  return call;
}

static Mix* new_mix(void) {
  Mix* mix = calloc(1, sizeof *mix);
  if (mix == NULL) {
    abort();
  }
  for (int i = 0; i < 2; ++i) {
    mix->sent[i] = calloc(message_ints, sizeof(int));
    mix->received[i] = calloc(message_ints, sizeof(int));
  }
  for (int i = 0; i < mix_size; ++i) {
    mix->requests[i] = MPI_REQUEST_NULL;
  }
  MPI_Recv_init(mix->received[1], message_ints, MPI_INT, left(), 2, MPI_COMM_WORLD, &mix->requests[at_recv_init]);
  MPI_Send_init(mix->sent[1], message_ints, MPI_INT, right(), 2, MPI_COMM_WORLD, &mix->requests[at_send_init]);
  MPI_Recv_init(mix->received[1], message_ints, MPI_INT, left(), 3, MPI_COMM_WORLD, &mix->requests[at_inactive_recv]);
  mix->calls[at_iallreduce] = issued(allreduce, form_nonblocking, large_count);
  mix->calls[at_ialltoall] = issued(alltoall, form_nonblocking, large_count);
  mix->calls[at_ibarrier] = issued(barrier, form_nonblocking, 0);
  mix->calls[at_ibcast_small] = issued(bcast, form_nonblocking, small_count);
  const Form form = some_persistent_form();
  if (!persistent_states_work()) {
    leave_out("persistent collectives in arrays",
              "MPICH takes those that are inactive for active (seen in 4.0.2, 4.2.1)");
  } else if (is_persistent(form)) {
    mix->calls[at_persistent_alltoall] = issued(alltoall, form, large_count);
    mix->calls[at_persistent_scan_small] = issued(scan, form, small_count);
    mix->calls[at_inactive_collective] = issued(allgather, form, large_count);
    for (int i = 0; i < mix_size; ++i) {
      if (mix->calls[i] != NULL) {
        mix->requests[i] = mix->calls[i]->request;
      }
    }
  }
  mix->inactive[at_null] = mix->inactive[at_inactive_recv] = mix->inactive[at_inactive_collective] = true;
  open_file(mix);
  if (is_open_mpi() && strict) {
    mix->inactive[at_iwrite] = true;
    leave_out("file requests in arrays",
              "where a second thread is in MPI, Open MPI 4.1.4's and 5.0.7's crash, and 6.0.0rc2's fail with any code");
  }
  return mix;
}

static void free_mix(Mix* mix) {
  for (int i = 0; i < mix_size; ++i) {
    if (mix->requests[i] != MPI_REQUEST_NULL) {
      expect_success(MPI_Request_free(&mix->requests[i]), "MPI_Request_free of what is inactive");
    }
    if (mix->calls[i] != NULL) {
      free_call(mix->calls[i]);
    }
  }
  for (int i = 0; i < 2; ++i) {
    free(mix->sent[i]);
    free(mix->received[i]);
  }
  MPI_File_close(&mix->file);
  free(mix);
}

// Starts all but the inactive. The generalized request is complete from the start, or when complete_grequest() is
// called.
static void start_mix(Mix* mix, int epoch) {
  mix->epoch = epoch;
  for (int m = 0; m < 2; ++m) {
    for (int i = 0; i < message_ints; ++i) {
      mix->sent[m][i] = (world_rank() + 1) * 1000003 + i * 3 + m + epoch;
      mix->received[m][i] = -1;
    }
  }
  MPI_Irecv(mix->received[0], message_ints, MPI_INT, left(), 1, MPI_COMM_WORLD, &mix->requests[at_irecv]);
  expect_success(MPI_Start(&mix->requests[at_recv_init]), "MPI_Start of a receive");
  for (int i = 0; i < mix_size; ++i) {
    Call* call = mix->calls[i];
    if (call == NULL || mix->inactive[i]) {
      continue;
    }
    fill(call, epoch);
    if (is_persistent(call->shape.form)) {
      expect_success(MPI_Start(&mix->requests[i]), "MPI_Start of a collective");
    } else {
      expect_success(issue(call), "the call");
      mix->requests[i] = call->request;
    }
  }
  MPI_Isend(mix->sent[0], message_ints, MPI_INT, right(), 1, MPI_COMM_WORLD, &mix->requests[at_isend]);
  expect_success(MPI_Start(&mix->requests[at_send_init]), "MPI_Start of a send");
  MPI_Grequest_start(describe_grequest, count_free, ignore_cancel, mix, &mix->requests[at_grequest]);
  mix->grequest = mix->requests[at_grequest];
  mix->grequest_freed = 0;
  for (int i = 0; i < file_ints; ++i) {
    mix->written[i] = epoch + i;
  }
  if (!mix->inactive[at_iwrite]) {
    MPI_File_iwrite_at(mix->file, 0, mix->written, file_ints, MPI_INT, &mix->requests[at_iwrite]);
  }
  memcpy(mix->before, mix->requests, sizeof mix->before);
}

static void expect_empty(const MPI_Status* status, const char* what) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, MPI_INT, &count);
  MPI_Test_cancelled(status, &cancelled);
  if (status->MPI_SOURCE != MPI_ANY_SOURCE || status->MPI_TAG != MPI_ANY_TAG || count != 0 || cancelled != 0) {
    fail("%s: the status is not empty: source %d, tag %d, %d elements, cancelled %d", what, status->MPI_SOURCE,
         status->MPI_TAG, count, cancelled);
  }
}

static void check_status(int i, const MPI_Status* status) {
  int count = -1, source = 0, tag = 0, ints = 0;
  switch (i) {
  case at_irecv:
  case at_recv_init:
    source = left();
    tag = i == at_irecv ? 1 : 2;
    ints = message_ints;
    break;
  case at_grequest:
    source = grequest_source;
    tag = grequest_tag;
    ints = grequest_ints;
    break;
  case at_null:
  case at_inactive_recv:
  case at_inactive_collective:
    expect_empty(status, "null or inactive");
    return;
  default: // undefined
    return;
  }
  MPI_Get_count(status, MPI_INT, &count);
  if (status->MPI_SOURCE != source || status->MPI_TAG != tag || count != ints) {
    fail("request %d: source %d, tag %d, %d ints in the status, not %d, %d, %d", i, status->MPI_SOURCE, status->MPI_TAG,
         count, source, tag, ints);
  }
}

// After all are complete.
static void check_mix(const Mix* mix) {
  for (int m = 0; m < 2; ++m) {
    for (int i = 0; i < message_ints; ++i) {
      if (mix->received[m][i] != (left() + 1) * 1000003 + i * 3 + m + mix->epoch) {
        fail("message %d: int %d is %d", m, i, mix->received[m][i]);
        break;
      }
    }
  }
  for (int i = 0; i < mix_size; ++i) {
    const bool stays = i == at_recv_init || i == at_send_init || mix->inactive[i] ||
                       (mix->calls[i] != NULL && is_persistent(mix->calls[i]->shape.form));
    if (mix->requests[i] != (stays ? mix->before[i] : MPI_REQUEST_NULL)) {
      fail("request %d: %s", i, stays ? "the handle changed" : "not freed");
    }
    if (mix->calls[i] != NULL && !mix->inactive[i]) {
      check(mix->calls[i]);
    }
  }
  expect(mix->grequest_freed == 1, "the generalized request is freed once");
}

// ---- ways of completing them

static void complete_grequest(const Mix* mix) { MPI_Grequest_complete(mix->grequest); }

static void with_waitall(Mix* mix, MPI_Status* statuses) {
  complete_grequest(mix);
  expect_success(MPI_Waitall(mix_size, mix->requests, statuses), "MPI_Waitall");
}

static void with_testall(Mix* mix, MPI_Status* statuses) {
  if (is_mpich()) { // whose MPI_Testall counts a file's request down too far
    MPI_Wait(&mix->requests[at_iwrite], MPI_STATUS_IGNORE);
    mix->before[at_iwrite] = MPI_REQUEST_NULL;
  }
  for (int i = 0; i < 20; ++i) { // one is missing: all or none
    int done = -1;
    expect_success(MPI_Testall(mix_size, mix->requests, &done, statuses), "MPI_Testall");
    expect(done == 0, "MPI_Testall is true while one is incomplete");
    expect(memcmp(mix->requests, mix->before, sizeof mix->before) == 0, "MPI_Testall completed some");
  }
  complete_grequest(mix);
  for (int done = 0; !done;) {
    const int code = MPI_Testall(mix_size, mix->requests, &done, statuses);
    expect_success(code, "MPI_Testall");
    if (code != MPI_SUCCESS) {
      return;
    }
    if (!done) {
      expect(memcmp(mix->requests, mix->before, sizeof mix->before) == 0, "MPI_Testall completed some");
    }
  }
}

// Each is reported exactly once.
static bool note(Mix* mix, bool* seen, int index) {
  if (index < 0 || index >= mix_size) {
    fail("index %d", index);
    return false;
  }
  if (seen[index] || mix->inactive[index] || mix->before[index] == MPI_REQUEST_NULL) {
    fail("request %d is reported, but is not active", index);
    return false;
  }
  seen[index] = true;
  return true;
}

static int actives(const Mix* mix) {
  int count = 0;
  for (int i = 0; i < mix_size; ++i) {
    count += !mix->inactive[i] && mix->before[i] != MPI_REQUEST_NULL ? 1 : 0;
  }
  return count;
}

// The status at the request's place, as the functions for all leave them.
static void keep(MPI_Status* statuses, int index, const MPI_Status* status) {
  if (statuses != MPI_STATUSES_IGNORE) {
    statuses[index] = *status;
  }
}

static void with_any(Mix* mix, MPI_Status* statuses, bool test) {
  bool seen[mix_size] = {false};
  complete_grequest(mix);
  for (int n = actives(mix); n > 0;) {
    int index = -7, done = 1;
    MPI_Status status;
    MPI_Status* given = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &status;
    const int code = test ? MPI_Testany(mix_size, mix->requests, &index, &done, given)
                          : MPI_Waitany(mix_size, mix->requests, &index, given);
    expect_success(code, "MPI_Waitany or MPI_Testany");
    if (!done) {
      expect(index == MPI_UNDEFINED, "the index of nothing");
      continue;
    }
    if (!note(mix, seen, index)) {
      return;
    }
    keep(statuses, index, &status);
    --n;
  }
  int index = -7, done = -7;
  MPI_Status status;
  if (test) {
    expect_success(MPI_Testany(mix_size, mix->requests, &index, &done, &status), "MPI_Testany");
    expect(done == 1, "MPI_Testany of nothing active is true");
  } else {
    expect_success(MPI_Waitany(mix_size, mix->requests, &index, &status), "MPI_Waitany");
  }
  expect(index == MPI_UNDEFINED, "nothing active: MPI_UNDEFINED");
  if (!(is_mpich_before(401) && test)) { // whose MPI_Testany leaves the status as it was
    expect_empty(&status, "nothing active");
  }
}

static void with_waitany(Mix* mix, MPI_Status* statuses) { with_any(mix, statuses, false); }
static void with_testany(Mix* mix, MPI_Status* statuses) { with_any(mix, statuses, true); }

static void with_some(Mix* mix, MPI_Status* statuses, bool test) {
  bool seen[mix_size] = {false};
  complete_grequest(mix);
  int indices[mix_size], count = 0;
  for (int n = actives(mix); n > 0; n -= count) {
    MPI_Status some[mix_size];
    MPI_Status* given = statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : some;
    count = -7;
    const int code = test ? MPI_Testsome(mix_size, mix->requests, &count, indices, given)
                          : MPI_Waitsome(mix_size, mix->requests, &count, indices, given);
    expect_success(code, "MPI_Waitsome or MPI_Testsome");
    if (count < (test ? 0 : 1) || count > n) {
      fail("%d are reported, %d are active", count, n);
      return;
    }
    for (int i = 0; i < count; ++i) {
      if (!note(mix, seen, indices[i])) {
        return;
      }
      keep(statuses, indices[i], &some[i]);
    }
  }
  count = -7;
  expect_success(test ? MPI_Testsome(mix_size, mix->requests, &count, indices, MPI_STATUSES_IGNORE)
                      : MPI_Waitsome(mix_size, mix->requests, &count, indices, MPI_STATUSES_IGNORE),
                 "MPI_Waitsome or MPI_Testsome");
  expect(count == MPI_UNDEFINED, "nothing active: MPI_UNDEFINED");
}

static void with_waitsome(Mix* mix, MPI_Status* statuses) { with_some(mix, statuses, false); }
static void with_testsome(Mix* mix, MPI_Status* statuses) { with_some(mix, statuses, true); }

static void with_wait(Mix* mix, MPI_Status* statuses) {
  complete_grequest(mix);
  for (int n = 0; n < mix_size; ++n) {
    const int i = (n * 7 + world_rank()) % mix_size; // 7 and the size have no common divisor
    expect_success(MPI_Wait(&mix->requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]),
                   "MPI_Wait");
  }
}

static void with_test(Mix* mix, MPI_Status* statuses) {
  complete_grequest(mix);
  bool all_done = false;
  bool seen[mix_size] = {false};
  while (!all_done) {
    all_done = true;
    for (int i = 0; i < mix_size; ++i) {
      if (seen[i]) {
        continue;
      }
      int done = -7;
      const int code =
          MPI_Test(&mix->requests[i], &done, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
      expect_success(code, "MPI_Test");
      expect(done == 1 || !mix->inactive[i], "an inactive request is complete at once");
      seen[i] = done == 1;
      all_done = all_done && seen[i];
    }
  }
}

_Static_assert(mix_size % 7 != 0, "with_wait visits each");

static void run_mix(const char* name, void (*complete)(Mix*, MPI_Status*)) {
  Mix* mix = new_mix();
  for (int epoch = 0; epoch < 4; ++epoch) {
    const bool ignored = epoch % 2 == 1;
    set_context("mixed requests, %s, %s, epoch %d", name, ignored ? "statuses ignored" : "statuses", epoch);
    MPI_Status statuses[mix_size];
    const bool of_each = complete != with_waitany && complete != with_testany && complete != with_waitsome &&
                         complete != with_testsome; // says something of the inactive, too
    start_mix(mix, epoch);
    complete(mix, ignored ? MPI_STATUSES_IGNORE : statuses);
    for (int i = 0; !ignored && i < mix_size; ++i) {
      if (of_each || !(mix->inactive[i] || mix->before[i] == MPI_REQUEST_NULL)) {
        check_status(i, &statuses[i]);
      }
    }
    check_mix(mix);
  }
  free_mix(mix);
}

static void mixed_all(void) {
  run_mix("MPI_Waitall", with_waitall);
  run_mix("MPI_Testall", with_testall);
}

static void mixed_any(void) {
  run_mix("MPI_Waitany", with_waitany);
  run_mix("MPI_Testany", with_testany);
}

static void mixed_some(void) {
  run_mix("MPI_Waitsome", with_waitsome);
  run_mix("MPI_Testsome", with_testsome);
}

static void mixed_one(void) {
  run_mix("MPI_Wait", with_wait);
  run_mix("MPI_Test", with_test);
}

// Persistent messages and collectives in one array.
static void startall(void) {
  Mix* mix = new_mix();
  enum { started = 4 };
  static const int at[started] = {at_recv_init, at_persistent_alltoall, at_send_init, at_persistent_scan_small};
  for (int epoch = 0; epoch < 4; ++epoch) {
    set_context("MPI_Startall of messages and collectives, epoch %d", epoch);
    for (int i = 0; i < message_ints; ++i) {
      mix->sent[1][i] = world_rank() + i + epoch;
      mix->received[1][i] = -1;
    }
    MPI_Request requests[started];
    int count = 0;
    for (int i = 0; i < started; ++i) {
      const int k = at[(i + epoch) % started];
      if (mix->requests[k] != MPI_REQUEST_NULL) {
        requests[count++] = mix->requests[k];
        if (mix->calls[k] != NULL) {
          fill(mix->calls[k], epoch);
        }
      }
    }
    expect_success(MPI_Startall(count, requests), "MPI_Startall");
    expect_success(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    for (int i = 0; i < message_ints; ++i) {
      if (mix->received[1][i] != left() + i + epoch) {
        fail("int %d of the message is %d", i, mix->received[1][i]);
        break;
      }
    }
    for (int i = 0; i < started; ++i) {
      if (mix->calls[at[i]] != NULL) {
        check(mix->calls[at[i]]);
      }
    }
  }
  free_mix(mix);
}

// ---- states

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
enum { status_all, status_any, status_some, status_ways };

// Looks at requests until they are said to be complete, in one of three ways: a collective, a message and null.
// MPICH's own status of a collective is not empty (seen in 4.2.1).
static void look_until_complete(int way, MPI_Request* requests) {
  MPI_Status statuses[3];
  bool complete[2] = {false, false};
  while (!complete[0] || !complete[1]) {
    int done = 0, count = 0, indices[3] = {-1, -1, -1};
    memset(statuses, 1, sizeof statuses);
    switch (way) {
    case status_all:
      expect_success(MPI_Request_get_status_all(3, requests, &done, statuses), "MPI_Request_get_status_all");
      if (done) {
        complete[0] = complete[1] = true;
        expect(statuses[1].MPI_TAG == 8, "MPI_Request_get_status_all of a message");
        expect_empty(&statuses[2], "MPI_Request_get_status_all of null");
      }
      break;
    case status_any:
      for (int i = 0; i < 2; ++i) { // what is complete would be named again
        MPI_Request one_and_null[] = {MPI_REQUEST_NULL, requests[i]};
        expect_success(MPI_Request_get_status_any(2, one_and_null, indices, &done, statuses), "get_status_any");
        if (done) {
          complete[i] = true;
          expect(indices[0] == 1, "MPI_Request_get_status_any: the index");
        }
      }
      expect_success(MPI_Request_get_status_any(3, requests, indices, &done, statuses), "get_status_any");
      expect(!done || indices[0] == 0 || indices[0] == 1, "MPI_Request_get_status_any: which one");
      expect(done || !(complete[0] || complete[1]), "complete, and then not for MPI_Request_get_status_any");
      break;
    default: {
      // MPICH names one at a time (seen in 4.2.1).
      MPI_Request others[] = {complete[0] ? MPI_REQUEST_NULL : requests[0],
                              complete[1] ? MPI_REQUEST_NULL : requests[1]};
      expect_success(MPI_Request_get_status_some(2, others, &count, indices, statuses), "get_status_some");
      expect(count >= 0 && count <= 2, "MPI_Request_get_status_some: how many");
      for (int i = 0; i < count && i < 2; ++i) {
        expect(indices[i] == 0 || indices[i] == 1, "MPI_Request_get_status_some: which ones");
        expect(!complete[indices[i] == 1], "MPI_Request_get_status_some of null");
        complete[indices[i] == 1] = true;
        expect(indices[i] != 1 || statuses[i].MPI_TAG == 8, "MPI_Request_get_status_some of a message");
      }
      break;
    }
    }
  }
}

static void get_statuses(Form form, bool large) {
  const int rank = world_rank(), next = (rank + 1) % world_size(), before = (rank + world_size() - 1) % world_size();
  Call* call = issued(alltoall, form, large ? large_count : small_count);
  for (int way = 0; way < status_ways; ++way) {
    set_context("statuses of several requests, way %d, %s, %s", way, form_name(form), large ? "large" : "small");
    for (int epoch = 0; epoch < 3; ++epoch) {
      fill(call, epoch);
      if (rank == 0) { // a request that is not complete is not said to be
        const struct timespec late = {0, 5000000};
        nanosleep(&late, NULL);
      }
      MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      int received = -1;
      MPI_Irecv(&received, 1, MPI_INT, before, 8, MPI_COMM_WORLD, &requests[1]);
      expect_success(is_persistent(form) ? MPI_Start(&call->request) : issue(call), "start");
      requests[0] = call->request;
      MPI_Send(&epoch, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
      const MPI_Request as_it_was = call->request;
      look_until_complete(way, requests);
      expect(requests[0] == as_it_was && requests[1] != MPI_REQUEST_NULL, "the handles stay");
      check(call); // complete: the output is there
      expect(received == epoch, "the message is there");
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
      if (is_persistent(form)) {
        int done = 0, index = 0, count = 0;
        MPI_Status status;
        requests[0] = call->request;
        expect_success(MPI_Request_get_status_any(3, requests, &index, &done, &status), "get_status_any");
        expect(done == 1 && index == MPI_UNDEFINED, "MPI_Request_get_status_any of inactive ones");
        expect_success(MPI_Request_get_status_some(3, requests, &count, &index, &status), "get_status_some");
        expect(count == MPI_UNDEFINED, "MPI_Request_get_status_some of inactive ones");
      }
    }
  }
  if (is_persistent(form)) {
    MPI_Request_free(&call->request);
  }
  free_call(call);
}
#endif

static void get_status(void) {
  const Form forms[] = {form_nonblocking, some_persistent_form()};
  for (int f = 0; f < 2; ++f) {
    for (int large = 0; large < 2; ++large) {
      set_context("MPI_Request_get_status, %s, %s", form_name(forms[f]), large ? "large" : "small");
      Call* call = issued(alltoall, forms[f], large ? large_count : small_count);
      for (int epoch = 0; epoch < 3; ++epoch) {
        fill(call, epoch);
        expect_success(is_persistent(forms[f]) ? MPI_Start(&call->request) : issue(call), "start");
        const MPI_Request before = call->request;
        MPI_Status status;
        for (int done = 0; !done;) {
          const int code = MPI_Request_get_status(call->request, &done, &status);
          expect_success(code, "MPI_Request_get_status");
          if (code != MPI_SUCCESS) {
            return;
          }
        }
        int done = 0;
        expect_success(MPI_Request_get_status(call->request, &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
        expect(done == 1, "complete, and then not");
        check(call); // complete: the output is there
        done = 0;
        expect_success(MPI_Test(&call->request, &done, &status), "MPI_Test");
        expect(done == 1, "complete, and then not for MPI_Test");
        expect(call->request == (is_persistent(forms[f]) ? before : MPI_REQUEST_NULL), "the handle after completion");
        done = 0;
        memset(&status, 1, sizeof status);
        expect_success(MPI_Request_get_status(call->request, &done, &status), "MPI_Request_get_status");
        expect(done == 1, "null or inactive is complete");
        expect_empty(&status, "null or inactive");
      }
      if (is_persistent(forms[f])) {
        MPI_Request_free(&call->request);
      }
      free_call(call);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
      if (!is_persistent(forms[f]) || persistent_states_work()) {
        get_statuses(forms[f], large);
      }
#endif
    }
  }
}

static void inactive(void) {
  const Form form = some_persistent_form();
  if (form == form_nonblocking) {
    leave_out("inactive collectives", "no persistent collectives");
    return;
  }
  for (int large = 0; persistent_states_work() && large < 2; ++large) {
    Call* call = issued(allreduce, form, large ? large_count : small_count);
    const MPI_Request before = call->request;
    for (int epoch = 0; epoch < 3; ++epoch) { // before the first start, and after others
      set_context("inactive, %s, after %d starts", large ? "large" : "small", epoch);
      MPI_Status status;
      int done = 0, index = 0, count = 0;
      memset(&status, 1, sizeof status);
      expect_success(MPI_Wait(&call->request, &status), "MPI_Wait");
      expect_empty(&status, "MPI_Wait");
      memset(&status, 1, sizeof status);
      expect_success(MPI_Test(&call->request, &done, &status), "MPI_Test");
      expect(done == 1, "MPI_Test is true");
      expect_empty(&status, "MPI_Test");
      memset(&status, 1, sizeof status);
      expect_success(MPI_Waitany(1, &call->request, &index, &status), "MPI_Waitany");
      expect(index == MPI_UNDEFINED, "MPI_Waitany: MPI_UNDEFINED");
      expect_empty(&status, "MPI_Waitany");
      done = 0;
      memset(&status, 1, sizeof status);
      expect_success(MPI_Testall(1, &call->request, &done, &status), "MPI_Testall");
      expect(done == 1, "MPI_Testall is true");
      expect_empty(&status, "MPI_Testall");
      expect_success(MPI_Waitsome(1, &call->request, &count, &index, &status), "MPI_Waitsome");
      expect(count == MPI_UNDEFINED, "MPI_Waitsome: MPI_UNDEFINED");
      expect(call->request == before, "the handle changed");
      fill(call, epoch);
      expect_success(MPI_Start(&call->request), "MPI_Start");
      expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
      check(call);
    }
    MPI_Request_free(&call->request);
    free_call(call);
  }
  if (!persistent_states_work()) {
    leave_out("inactive collectives", "MPICH waits for them (seen in 4.0.2, 4.2.1)");
  }
  set_context("no requests at all");
  MPI_Status status;
  int done = 0, index = 0, count = 0;
  MPI_Request none = MPI_REQUEST_NULL;
  expect_success(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE), "MPI_Waitall of none");
  expect_success(MPI_Testall(0, NULL, &done, MPI_STATUSES_IGNORE), "MPI_Testall of none");
  expect(done == 1, "MPI_Testall of none is true");
  expect_success(MPI_Waitany(0, NULL, &index, &status), "MPI_Waitany of none");
  expect(index == MPI_UNDEFINED, "MPI_Waitany of none: MPI_UNDEFINED");
  expect_success(MPI_Testsome(0, NULL, &count, &index, MPI_STATUSES_IGNORE), "MPI_Testsome of none");
  expect(count == MPI_UNDEFINED, "MPI_Testsome of none: MPI_UNDEFINED");
  expect_success(MPI_Startall(0, &none), "MPI_Startall of none");
}

static void fortran_handles(void) {
  const Form forms[] = {form_nonblocking, some_persistent_form()};
  for (int f = 0; f < 2; ++f) {
    for (int large = 0; large < 2; ++large) {
      set_context("Fortran's handle, %s, %s", form_name(forms[f]), large ? "large" : "small");
      Call* call = issued(alltoall, forms[f], large ? large_count : small_count);
      Call* other = issued(allreduce, forms[f], large ? large_count : small_count);
      for (int epoch = 0; epoch < 3; ++epoch) {
        fill(call, epoch);
        fill(other, epoch);
        if (!is_persistent(forms[f])) {
          issue(call);
          issue(other);
        }
        const MPI_Fint handle = MPI_Request_c2f(call->request), other_handle = MPI_Request_c2f(other->request);
        expect(handle != other_handle, "two requests, two handles");
        expect(handle != MPI_Request_c2f(MPI_REQUEST_NULL), "not the null handle");
        MPI_Request request = MPI_Request_f2c(handle), other_request = MPI_Request_f2c(other_handle);
        expect(request == call->request && other_request == other->request, "to Fortran and back");
        if (is_persistent(forms[f])) {
          expect_success(MPI_Start(&request), "MPI_Start");
          expect_success(MPI_Start(&other_request), "MPI_Start");
        }
        expect_success(MPI_Wait(&other_request, MPI_STATUS_IGNORE), "MPI_Wait");
        expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
        check(call);
        check(other);
      }
      if (is_persistent(forms[f])) {
        MPI_Request_free(&call->request);
        MPI_Request_free(&other->request);
      }
      free_call(call);
      free_call(other);
    }
  }
  set_context("the null handle");
  expect(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL, "to Fortran and back");
}

// ---- progress

// The right rank enters the collective only after a message that the left one's pending receive, or send, must have let
// through.
static void progress_of(Form form, bool receive, int way) {
  enum { ints = 300000 };
  set_context("%s waits for a collective while a %s is pending, way %d", form_name(form), receive ? "receive" : "send",
              way);
  int* message = calloc(ints, sizeof(int));
  Call* call = issued(allreduce, form, large_count);
  for (int epoch = 0; epoch < 3; ++epoch) {
    fill(call, epoch);
    MPI_Request pending = MPI_REQUEST_NULL;
    for (int i = 0; i < ints; ++i) {
      message[i] = world_rank() == (receive ? 1 : 0) ? i + epoch : -1;
    }
    if (world_rank() == 0 && receive) {
      MPI_Irecv(message, ints, MPI_INT, 1, 5, MPI_COMM_WORLD, &pending);
    } else if (world_rank() == 0) {
      MPI_Issend(message, ints, MPI_INT, 1, 5, MPI_COMM_WORLD, &pending);
    } else if (world_rank() == 1 && receive) {
      MPI_Ssend(message, ints, MPI_INT, 0, 5, MPI_COMM_WORLD);
    } else if (world_rank() == 1) {
      MPI_Recv(message, ints, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    expect_success(is_persistent(form) ? MPI_Start(&call->request) : issue(call), "start");
    if (!is_blocking(form)) {
      int done = 0, index = 0;
      switch (way) {
      case 0:
        MPI_Wait(&call->request, MPI_STATUS_IGNORE);
        break;
      case 1:
        while (!done) {
          MPI_Test(&call->request, &done, MPI_STATUS_IGNORE);
        }
        break;
      case 2:
        MPI_Waitall(1, &call->request, MPI_STATUSES_IGNORE);
        break;
      default:
        MPI_Waitany(1, &call->request, &index, MPI_STATUS_IGNORE);
        break;
      }
    }
    check(call);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    if (world_rank() < 2) {
      for (int i = 0; i < ints; ++i) {
        if (message[i] != i + epoch) {
          fail("int %d of the message is %d", i, message[i]);
          break;
        }
      }
    }
  }
  if (is_persistent(form)) {
    MPI_Request_free(&call->request);
  }
  free_call(call);
  free(message);
}

// Rank 0 starts the collective, and then waits for a message from the last rank, which first completes the collective.
// `switched_off`: the program has switched tools off in between.
static void receive_before_wait(Form form, Kind kind, bool switched_off) {
  const int last = world_size() - 1;
  set_context("%s of %s, %sa rank receives a message before it waits", form_name(form), kind_name(kind),
              switched_off ? "switched off, " : "");
  Call* call =
      new_call((Shape){.family = allreduce, .form = form, .kind = kind, .count = large_count, .comm = MPI_COMM_WORLD});
  if (is_persistent(form)) {
    fill(call, 0);
    expect_success(issue(call), "the call");
  }
  for (int epoch = 0; epoch < 4; ++epoch) {
    fill(call, epoch);
    if (world_rank() == last) {
      const struct timespec late = {0, 10000000};
      nanosleep(&late, NULL);
    }
    expect_success(is_persistent(form) ? MPI_Start(&call->request) : issue(call), "start");
    if (switched_off) {
      MPI_Pcontrol(0);
    }
    if (world_rank() == 0) {
      MPI_Recv(NULL, 0, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
    if (world_rank() == last) {
      MPI_Send(NULL, 0, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    check(call);
    if (switched_off) {
      MPI_Pcontrol(1);
    }
  }
  if (is_persistent(form)) {
    MPI_Request_free(&call->request);
  }
  free_call(call);
}

static void progress(void) {
  if (world_size() < 2) {
    leave_out("progress", "needs two ranks");
    return;
  }
  const Form forms[] = {form_blocking, form_nonblocking, some_persistent_form()};
  for (int f = 0; f < 3; ++f) {
    for (int way = 0; way < (is_blocking(forms[f]) ? 1 : 4); ++way) {
      progress_of(forms[f], true, way);
      progress_of(forms[f], false, way);
    }
  }
}

static void progress_in_receive(void) {
  if (world_size() < 2) {
    leave_out("progress while a rank receives", "needs two ranks");
    return;
  }
  const Form forms[] = {form_nonblocking, some_persistent_form()};
  for (int f = 0; f < 2; ++f) {
    for (int switched_off = 0; switched_off < 2; ++switched_off) {
      receive_before_wait(forms[f], kind_int, switched_off);
      receive_before_wait(forms[f], kind_gap, switched_off);
      receive_before_wait(forms[f], kind_affine, switched_off);
    }
  }
}

// Nobody leaves a barrier, or has the result of a reduction, before rank 0 has come.
static void nobody_is_early(void) {
  static const Family families[] = {barrier, allreduce, alltoall};
  for (int f = 0; f < 3; ++f) {
    for (int epoch = 0; epoch < 3; ++epoch) {
      set_context("before rank 0 comes: %s, epoch %d", family_name(families[f]), epoch);
      Call* call = issued(families[f], form_nonblocking, large_count);
      fill(call, epoch);
      if (world_rank() == 0) {
        for (int from = 1; from < world_size(); ++from) {
          MPI_Recv(NULL, 0, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        issue(call);
      } else {
        issue(call);
        for (int i = 0; i < 100; ++i) {
          int done = -1;
          MPI_Test(&call->request, &done, MPI_STATUS_IGNORE);
          expect(done == 0, "complete too early");
        }
        MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
      }
      expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
      check(call);
      free_call(call);
    }
  }
}

// ---- errors

static int handler_calls = 0;
static int told_code = MPI_SUCCESS;

// NOLINTNEXTLINE(readability-non-const-parameter): MPI_Comm_errhandler_function
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  told_code = *code;
  ++handler_calls;
}

static void expect_class(int code, int expected, const char* what) {
  int class = MPI_SUCCESS;
  // MPICH 5.0.2 takes errors for mended that a handler was told of.
  const bool is_mended = code == MPI_SUCCESS && mpich_version() >= 500;
  MPI_Error_class(is_mended ? told_code : code, &class);
  told_code = MPI_SUCCESS;
  if (class != expected) {
    fail("%s: error class %d, not %d", what, class, expected);
  }
}

// Local mistakes that every rank makes, so that nobody waits for anybody.
static void errors(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  static int in[large_count], out[large_count];
  MPI_Request request = MPI_REQUEST_NULL;
  expect_class(MPI_Ibcast(out, -1, MPI_INT, 0, comm, &request), MPI_ERR_COUNT, "a negative count");
  expect_class(MPI_Ibcast(out, large_count, MPI_DATATYPE_NULL, 0, comm, &request), MPI_ERR_TYPE, "no datatype");
  expect_class(MPI_Iallreduce(in, out, large_count, MPI_INT, MPI_OP_NULL, comm, &request), MPI_ERR_OP, "no operator");
  expect_class(MPI_Ibcast(out, large_count, MPI_INT, world_size(), comm, &request), MPI_ERR_ROOT, "no such root");
  expect_class(MPI_Bcast(out, large_count, MPI_INT, -5, comm), MPI_ERR_ROOT, "no such root");
  expect_class(MPI_Reduce(in, out, large_count, MPI_INT, MPI_OP_NULL, 0, comm), MPI_ERR_OP, "no operator");
  if (handler_calls != 6) {
    fail("6 errors, and the communicator's handler was called %d times", handler_calls);
  }
  handler_calls = 0;
  for (Form form = form_blocking; form <= form_nonblocking_c; ++form) {
    const Arguments negative = {.recvbuf = out, .recvcount = -1, .recvtype = MPI_INT, .comm = comm};
    if (is_available(form) && !is_persistent(form)) {
      expect_class(call_collective(bcast, form, &negative, &request), MPI_ERR_COUNT, form_name(form));
      if (handler_calls != 1) {
        fail("%s: an error, and the communicator's handler was called %d times", form_name(form), handler_calls);
      }
    }
    handler_calls = 0;
  }
  expect_class(MPI_Iallreduce(in, out, large_count, MPI_INT, MPI_SUM, MPI_COMM_NULL, &request), MPI_ERR_COMM,
               "no communicator");
  expect_class(MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM, "no communicator");

  if (strict) {
    const Form forms[] = {form_nonblocking, some_persistent_form()};
    for (int f = 0; f < 2; ++f) {
      set_context("mistakes with a %s request", form_name(forms[f]));
      handler_calls = 0;
      Call* call = new_call((Shape){.family = alltoall, .form = forms[f], .count = large_count, .comm = comm});
      fill(call, f);
      expect_success(issue(call), "the call");
      if (is_persistent(forms[f])) {
        expect_success(MPI_Start(&call->request), "MPI_Start");
      }
      const MPI_Request before = call->request;
      expect(MPI_Start(&call->request) != MPI_SUCCESS, "MPI_Start of an active request succeeds");
      expect(MPI_Cancel(&call->request) != MPI_SUCCESS, "MPI_Cancel of a collective succeeds");
      expect(MPI_Request_free(&call->request) != MPI_SUCCESS, "MPI_Request_free of an active collective succeeds");
      expect(call->request == before, "a refused call changed the handle");
      if (handler_calls != 3) {
        fail("3 errors, and the communicator's handler was called %d times", handler_calls);
      }
      expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait after that");
      check(call);
      if (is_persistent(forms[f])) {
        MPI_Request_free(&call->request);
      }
      free_call(call);
    }
  } else {
    leave_out("MPI_Start and MPI_Request_free of what is active, MPI_Cancel",
              "libraries need not notice such mistakes");
  }
  set_context("after errors");
  run_once((Shape){.family = allreduce, .form = form_nonblocking, .count = large_count, .comm = comm}, 1);
  MPI_Comm_free(&comm);
}

// Without room for a result, or for the request itself. Open MPI does not look at all of these.
static void null_results(void) {
  if (!is_mpich()) {
    leave_out("results without room", "only MPICH says what is wrong with all of them");
    return;
  }
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // for errors of requests
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  static int in[large_count], out[large_count];
  expect_class(MPI_Iallreduce(in, out, large_count, MPI_INT, MPI_SUM, comm, NULL), MPI_ERR_ARG, "no request");
  MPI_Request request = MPI_REQUEST_NULL;
  expect_success(MPI_Iallreduce(in, out, large_count, MPI_INT, MPI_SUM, comm, &request), "MPI_Iallreduce");
  const MPI_Request before = request;
  int flag = 0, index = 0, count = 0;
  MPI_Status status;
  expect_class(MPI_Test(&request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_Test without flag");
  expect_class(MPI_Test(&request, &flag, NULL), MPI_ERR_ARG, "MPI_Test without status");
  expect_class(MPI_Wait(&request, NULL), MPI_ERR_ARG, "MPI_Wait without status");
  expect_class(MPI_Request_get_status(request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "get_status without flag");
  expect_class(MPI_Waitall(1, &request, NULL), MPI_ERR_ARG, "MPI_Waitall without statuses");
  expect_class(MPI_Testall(1, &request, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "MPI_Testall without flag");
  expect_class(MPI_Waitany(1, &request, NULL, &status), MPI_ERR_ARG, "MPI_Waitany without index");
  expect_class(MPI_Testany(1, &request, &index, NULL, &status), MPI_ERR_ARG, "MPI_Testany without flag");
  expect_class(MPI_Waitsome(1, &request, NULL, &index, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "MPI_Waitsome without count");
  expect_class(MPI_Testsome(1, &request, &count, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG,
               "MPI_Testsome without indices");
  expect(request == before, "a refused call changed the handle");
  expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait after that");
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

// A message and a collective, completed together without an error: the error fields of the statuses are the
// program's, or say that there was none.
static void error_fields(void) {
  enum { requests = 2, untouched = 4711 };
  static int in[large_count], out[large_count];
  const int rank = world_rank(), ranks = world_size();
  for (int way = 0; way < 3; ++way) {
    static const char* const names[] = {"MPI_Testsome", "MPI_Waitsome", "MPI_Testall"};
    set_context("error fields of %s", names[way]);
    for (int epoch = 0; epoch < 3; ++epoch) {
      int received = -1, sent = rank;
      MPI_Request pair[requests];
      MPI_Irecv(&received, 1, MPI_INT, (rank + ranks - 1) % ranks, epoch, MPI_COMM_WORLD, &pair[0]);
      MPI_Iallreduce(in, out, large_count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &pair[1]);
      MPI_Send(&sent, 1, MPI_INT, (rank + 1) % ranks, epoch, MPI_COMM_WORLD);
      for (int complete = 0; complete < requests;) {
        MPI_Status statuses[requests];
        int indices[requests], count = 0, flag = 0;
        for (int i = 0; i < requests; ++i) {
          statuses[i].MPI_ERROR = untouched;
        }
        if (way == 2) {
          MPI_Testall(requests, pair, &flag, statuses);
          count = flag != 0 ? requests : 0;
        } else {
          (way == 0 ? MPI_Testsome : MPI_Waitsome)(requests, pair, &count, indices, statuses);
        }
        for (int i = 0; i < count; ++i) {
          if (statuses[i].MPI_ERROR != untouched && statuses[i].MPI_ERROR != MPI_SUCCESS) {
            fail("status %d of %d has the error %d", i, count, statuses[i].MPI_ERROR);
          }
        }
        complete += count;
      }
      expect(received == (rank + ranks - 1) % ranks, "the message");
    }
  }
}

const Section request_sections[] = {
    {"mixed-all", mixed_all},
    {"mixed-any", mixed_any},
    {"mixed-some", mixed_some},
    {"mixed-one", mixed_one},
    {"startall", startall},
    {"get-status", get_status},
    {"inactive", inactive},
    {"fortran-handles", fortran_handles},
    {"progress", progress},
    {"progress-in-receive", progress_in_receive},
    {"errors", errors},
    {"null-results", null_results},
    {"error-fields", error_fields},
    {"nobody-is-early", nobody_is_early},
    {NULL, NULL},
};
