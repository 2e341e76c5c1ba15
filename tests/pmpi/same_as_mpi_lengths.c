// SPDX-License-Identifier: BSD-3-Clause
// A rank expects more than another sends it.
#include "tests/pmpi/same_as_mpi.h"

#include <stdlib.h>
#include <string.h>

enum { room = 100000 }; // of each block

// In units of the datatype: what a rank sends to another, and what that expects.
static const int lengths[][2] = {{0, 0},       {1, 3},       {2, 2},         {100, 101},   {100, 5000},
                                 {5000, 5003}, {256, 90000}, {40000, 99999}, {5000, 5000}, {70000, 100000}};
enum { length_count = sizeof lengths / sizeof lengths[0] };

typedef struct Exchange {
  int *in, *out;
  int *sent, *expected, *places;
  MPI_Datatype type;
} Exchange;

static const Family calls[] = {alltoallv, gatherv, scatterv, allgatherv, allgather, alltoall, gather};

static int make_exchange(const Exchange* x, int call, Form form, MPI_Comm comm) {
  Places send;
  Places recv;
  for (int r = 0; r < ranks; ++r) {
    place(&send, r, x->sent[r], x->places[r]);
    place(&recv, r, x->expected[r], x->places[r]);
  }
  Arguments arguments = arguments_of(calls[call], x->in, &send, x->out, &recv, comm);
  arguments.sendtype = arguments.recvtype = x->type;
  return carry_out(calls[call], form, &arguments);
}

static void exchange_on(Exchange* x, int call, Form form, int epoch, MPI_Comm comm, int* code) {
  for (int i = 0; i < 2 * ranks * room; ++i) {
    x->in[i] = i * (rank + 1) + epoch;
    x->out[i] = -1 - i;
  }
  *code = make_exchange(x, call, form, comm);
}

// Whether an element of the result is one that was sent. Of collectives whose blocks are equal MPI libraries pass on
// whole blocks, whatever stands behind what was sent.
static bool was_sent(const Exchange* x, int call, int element) {
  const int unit = x->type == MPI_INT ? element : element / 2;
  const int block = call == 3 ? room : x->expected[0];
  return call < 3 || unit % block < x->sent[0];
}

static void compare_exchanges(Exchange* x, int call, Form form, int epoch, Pair comms, int* theirs) {
  int code = MPI_SUCCESS;
  int left_code = MPI_SUCCESS;
  exchange_on(x, call, reference_form(form), epoch, comms.left, &left_code);
  memcpy(theirs, x->out, sizeof(int) * 2 * (size_t)ranks * room);
  exchange_on(x, call, form, epoch, comms.taken, &code);
  if (left_code != MPI_SUCCESS) { // Open MPI refuses what a rank would send itself
    return;
  }
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    FAIL("error class %d: %s", class_of(code), text);
  }
  for (int i = 0; i < 2 * ranks * room; ++i) {
    if (x->out[i] != theirs[i] && was_sent(x, call, i)) {
      FAIL("element %d is %d, the library's %d", i, x->out[i], theirs[i]);
      break;
    }
  }
}

void run_less_than_expected(void) {
  // Open MPI's gather, the last, chooses another algorithm at each end, and hangs.
  const int call_count = (int)(sizeof calls / sizeof calls[0]) - (is_open_mpi() ? 1 : 0);
  enum { form_count = form_mpix + 1 };
  const size_t bytes = sizeof(int) * 2 * (size_t)ranks * room;
  const size_t counts = sizeof(int) * (size_t)ranks;
  Exchange x = {malloc(bytes), malloc(bytes), malloc(counts), malloc(counts), malloc(counts), MPI_INT};
  int* const theirs = malloc(bytes);
  MPI_Datatype strided = MPI_DATATYPE_NULL; // one integer of two
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
  MPI_Type_commit(&strided);
  Pair comms = pair_of(MPI_COMM_WORLD);
  for (int variant = 0; variant < 2 * call_count * form_count; ++variant) {
    const int call = variant % call_count;
    const Form form = (Form)(variant / call_count % form_count);
    if (!is_available(form)) {
      continue;
    }
    x.type = variant < call_count * form_count ? MPI_INT : strided;
    for (int epoch = 0; epoch < length_count; ++epoch) {
      for (int peer = 0; peer < ranks; ++peer) { // what goes between two ranks depends on their sum
        const int* const length = lengths[(epoch + (call < 3 ? rank + peer : 0)) % length_count];
        x.sent[peer] = length[0];
        x.expected[peer] = length[1];
        x.places[peer] = peer * room;
      }
      if (call < 3) { // Open MPI refuses the same to oneself
        x.expected[rank] = x.sent[rank];
      }
      (void)snprintf(context, sizeof context, "%s, %s, %s, epoch %d", family_name(calls[call]), form_name(form),
                     x.type == MPI_INT ? "one run" : "strided", epoch);
      compare_exchanges(&x, call, form, epoch, comms, theirs);
    }
  }
  free_pair(&comms);
  MPI_Type_free(&strided);
  free(theirs);
  free(x.in);
  free(x.out);
  free(x.sent);
  free(x.expected);
  free(x.places);
}
