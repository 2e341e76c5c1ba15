// SPDX-License-Identifier: BSD-3-Clause
// Blocks in any places.
#include "tests/pmpi/same_as_mpi.h"

#include <stdlib.h>
#include <string.h>

static const Family vectors[] = {
    allgatherv, gatherv, scatterv, alltoallv, alltoallw, neighbor_allgatherv, neighbor_alltoallv, neighbor_alltoallw};
enum { vector_count = sizeof vectors / sizeof vectors[0] };

static bool one_block_sent(Family vector) {
  return vector == allgatherv || vector == gatherv || vector == neighbor_allgatherv;
}

typedef enum Pattern { apart, zero, equal, repeated, descending, half, patterns } Pattern;
static const char* const pattern_names[] = {"apart", "zero", "equal", "repeated", "descending", "half"};
static int displacement(Pattern pattern, int block, int count) {
  switch (pattern) {
  case zero:
    return 0;
  case equal:
    return count;
  case repeated:
    return block / 2 * count;
  case descending:
    return (ranks - 1 - block) * count;
  case half:
    return block * (count / 2);
  default:
    return block * count;
  }
}

static int value(int source, int position, bool same) { return same ? 7 : (source + 1) * 1000000 + position; }

// Whether an element holds what some block brings there.
static bool is_brought(Family vector, const Places* send, const Places* recv, int position, int found, bool same) {
  for (int r = 0; r < ranks; ++r) {
    const int source = vector == scatterv ? 0 : r;
    const int block = vector == scatterv ? 0 : r;
    const int at = position - (vector == scatterv ? 0 : recv->displs[block]);
    const int from = one_block_sent(vector) ? 0 : send->displs[rank];
    if (at >= 0 && at < recv->counts[block] && found == value(source, from + at, same)) {
      return true;
    }
  }
  return false;
}

static void compare_places(Family vector, Form form, Pattern sent, Pattern received, int count, bool same,
                           const Pair* comms) {
  (void)snprintf(context, sizeof context, "%s %s, blocks sent %s, received %s, of %d, %s data", form_name(form),
                 family_name(vector), pattern_names[sent], pattern_names[received], count,
                 same ? "equal" : "different");
  const int ints = (ranks + 1) * count;
  Places send;
  Places recv;
  for (int r = 0; r < ranks; ++r) {
    place(&send, r, count, displacement(sent, r, count));
    place(&recv, r, count, displacement(received, r, count));
  }
  int* const in = malloc((size_t)ints * sizeof *in);
  int* const out[2] = {malloc((size_t)ints * sizeof *in), malloc((size_t)ints * sizeof *in)};
  for (int i = 0; i < ints; ++i) {
    in[i] = value(rank, i, same);
  }
  int classes[2];
  for (int which = 0; which < 2; ++which) {
    memset(out[which], 0, (size_t)ints * sizeof *in);
    const Arguments arguments =
        arguments_of(vector, in, &send, out[which], &recv, which == 0 ? comms->taken : comms->left);
    classes[which] = class_of(carry_out(vector, which == 0 ? form : reference_form(form), &arguments));
  }
  const bool overlap = received != apart && received != descending && vector != scatterv;
  if (classes[0] != classes[1]) {
    FAIL("error class %d, of the MPI library %d", classes[0], classes[1]);
  }
  for (int i = 0; classes[0] == MPI_SUCCESS && i < ints; ++i) {
    // Which of two blocks in one place stays is left open.
    if (out[0][i] != out[1][i] && !(overlap && is_brought(vector, &send, &recv, i, out[0][i], same))) {
      FAIL("element %d is %d, of the MPI library %d", i, out[0][i], out[1][i]);
      break;
    }
  }
  free(in);
  free(out[0]);
  free(out[1]);
}

void run_displacements(void) {
  MPI_Comm graph = with_neighbors();
  Pair comms = pair_of(graph);
  for (int v = 0; v < vector_count; ++v) {
    const Family vector = vectors[v];
    for (Form form = form_blocking; form <= form_mpix; ++form) {
      for (int pattern = 0; is_available(form) && pattern < patterns * patterns; ++pattern) {
        for (int data = 0; data < 2; ++data) {
          const Pattern sent = (Pattern)(pattern / patterns);
          const Pattern received = (Pattern)(pattern % patterns);
          if ((one_block_sent(vector) && sent != apart) || (vector == scatterv && received != apart)) {
            continue;
          }
          compare_places(vector, form, sent, received, 6, data == 0, &comms);
          compare_places(vector, form, sent, received, 6000, data == 0, &comms);
        }
      }
    }
  }
  free_pair(&comms);
  MPI_Comm_free(&graph);
}
