// SPDX-License-Identifier: BSD-3-Clause
// Arguments of every kind, right and wrong, for every collective in every form, on every kind of communicator.
#include "tests/pmpi/same_as_mpi.h"

#include <stdlib.h>
#include <string.h>

typedef enum Case {
  ordinary,
  last_root,
  no_elements,
  null_without_elements,
  in_place,
  at_bottom,
  strided,
  made_with_large_counts,
  pairs_of_fortran,
  type_without_data,
  types_that_differ,
  op_commutative,
  op_not_commutative,
  op_on_strided,
  mistakes, // from here on, on all ranks
  in_place_received = mistakes,
  in_place_sent,
  null_sent,
  null_received,
  negative_count,
  null_type,
  uncommitted_type,
  null_arrays,
  null_op,
  root_is_negative,
  root_is_too_large,
  root_is_null_process,
  root_of_another_group,
  null_communicator,
  cases
} Case;
static const char* const case_names[] = {"ordinary",
                                         "the last rank as root",
                                         "no elements",
                                         "null buffers without elements",
                                         "MPI_IN_PLACE",
                                         "MPI_BOTTOM",
                                         "a strided type",
                                         "a type made with large counts",
                                         "MPI_2INTEGER",
                                         "a type without data",
                                         "types that differ",
                                         "a commutative operator of the user's",
                                         "an operator of the user's that is not commutative",
                                         "an operator of the user's on a strided type",
                                         "MPI_IN_PLACE as receive buffer",
                                         "MPI_IN_PLACE where there is no such form",
                                         "a null send buffer",
                                         "a null receive buffer",
                                         "a negative count",
                                         "MPI_DATATYPE_NULL",
                                         "a type that is not committed",
                                         "null arrays of counts",
                                         "MPI_OP_NULL",
                                         "a negative root",
                                         "a root that is no rank",
                                         "MPI_PROC_NULL as root",
                                         "MPI_ROOT",
                                         "MPI_COMM_NULL"};

typedef enum Where { on_world, on_self, on_neighbors, between_groups, wheres } Where;
static const char* const where_names[] = {"the world", "one rank", "neighbors", "an intercommunicator"};

enum { block = 1200 };
static int room = 0; // of a buffer, in integers

// What a call has besides its arguments.
typedef struct Trial {
  Arguments arguments;
  Places send, recv;
  int *in, *out;
  MPI_Datatype made[2];
  MPI_Op op;
} Trial;

// NOLINTBEGIN(readability-non-const-parameter): MPI_User_function
static void larger(void* left, void* right, int* count, MPI_Datatype* type) {
  const int parts = *type == MPI_INT ? 1 : 2;
  for (int i = 0; i < *count; ++i) {
    for (int part = 0; part < parts; ++part) {
      const int at = parts == 1 ? i : 3 * i + 2 * part; // as strided_type() has them
      const int l = ((int*)left)[at];
      int* const r = (int*)right + at;
      *r = l > *r ? l : *r;
    }
  }
}

static void leftmost(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(right, left, (size_t)*count * sizeof(int));
}
// NOLINTEND(readability-non-const-parameter)

// Two integers with a gap between.
static MPI_Datatype strided_type(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// Integers at the place of a buffer.
static MPI_Datatype absolute_type(const int* data) {
  MPI_Aint address = 0;
  const int length = 1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  MPI_Get_address(data, &address);
  MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
  MPI_Type_create_resized(type, 0, sizeof(int), &resized);
  MPI_Type_free(&type);
  MPI_Type_commit(&resized);
  return resized;
}

static bool sends(Family family, bool at_root) {
  return family != bcast && family != barrier && (at_root || (family != scatter && family != scatterv));
}
static bool receives(Family family, bool at_root) {
  return family != barrier && (at_root || (family != gather && family != gatherv && family != reduce));
}

static void set_types(Trial* trial, MPI_Datatype sent, MPI_Datatype received) {
  trial->arguments.sendtype = sent;
  trial->arguments.recvtype = received;
  for (int i = 0; i < most_ranks; ++i) {
    trial->send.types[i] = sent;
    trial->recv.types[i] = received;
  }
}

static void set_counts(Trial* trial, int sent, int received) {
  trial->arguments.sendcount = sent;
  trial->arguments.recvcount = received;
  for (int i = 0; i < most_ranks; ++i) {
    trial->send.counts[i] = sent;
    trial->send.wide_counts[i] = sent;
    trial->recv.counts[i] = received;
    trial->recv.wide_counts[i] = received;
  }
}

static bool use_op(Trial* trial, Family family, MPI_User_function* function, int commutative) {
  if (is_reduction(family)) {
    MPI_Op_create(function, commutative, &trial->op);
    trial->arguments.op = trial->op;
  }
  return is_reduction(family);
}

// What is not read at a rank is no mistake there: that rank makes another, so that none waits for others.
static bool mistaken(Trial* trial, bool here) {
  if (!here) {
    set_counts(trial, -1, -1);
  }
  return true;
}

static bool make_mistake(Case which, Family family, bool at_root, Trial* trial) {
  Arguments* const a = &trial->arguments;
  const bool sent = sends(family, at_root), received = receives(family, at_root);
  if (which != null_communicator && family == barrier) {
    return false;
  }
  switch (which) {
  case in_place_received:
    if (family == scatter || family == scatterv) {
      return false;
    }
    a->recvbuf = MPI_IN_PLACE;
    return mistaken(trial, received);
  case in_place_sent:
    a->sendbuf = MPI_IN_PLACE;
    return (family == scatter || family == scatterv || is_neighbor(family)) && mistaken(trial, sent);
  case null_sent:
    a->sendbuf = NULL;
    return family != bcast && mistaken(trial, sent);
  case null_received:
    a->recvbuf = NULL;
    return mistaken(trial, received);
  case negative_count:
    set_counts(trial, -1, -1);
    return true;
  case null_type:
    set_types(trial, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL);
    return true;
  case uncommitted_type:
    MPI_Type_vector(2, 1, 2, MPI_INT, &trial->made[0]);
    set_types(trial, trial->made[0], trial->made[0]);
    set_counts(trial, block / 3, block / 3);
    return !is_reduction(family);
  case null_arrays:
    a->sendcounts = a->recvcounts = NULL;
    a->wide_sendcounts = a->wide_recvcounts = NULL;
    return family == alltoallv || family == alltoallw || family == reduce_scatter ||
           ((family == gatherv || family == scatterv) && mistaken(trial, at_root));
  case null_op:
    a->op = MPI_OP_NULL;
    return is_reduction(family);
  case root_is_negative:
    a->root = -77;
    return has_root(family);
  case root_is_too_large:
    MPI_Comm_size(a->comm, &a->root);
    return has_root(family);
  case root_is_null_process:
    a->root = MPI_PROC_NULL;
    return has_root(family);
  case root_of_another_group:
    a->root = MPI_ROOT;
    return has_root(family);
  default:
    a->comm = MPI_COMM_NULL;
    return true;
  }
}

static bool set_in_place(Family family, bool at_root, Trial* trial) {
  Arguments* const a = &trial->arguments;
  if (family == scatter || family == scatterv) {
    a->recvbuf = at_root ? MPI_IN_PLACE : a->recvbuf;
  } else if (at_root || !has_root(family)) {
    a->sendbuf = MPI_IN_PLACE;
    a->sendcount = -1; // not looked at
    a->sendtype = is_reduction(family) ? a->sendtype : MPI_DATATYPE_NULL;
  }
  return has_in_place(family);
}

// Changes the arguments; false where there is no such case.
static bool apply(Case which, Family family, bool at_root, Trial* trial) {
  Arguments* const a = &trial->arguments;
  switch (which) {
  case ordinary:
    return true;
  case last_root:
    MPI_Comm_size(a->comm, &a->root);
    --a->root;
    return has_root(family);
  case no_elements:
    set_counts(trial, 0, 0);
    return true;
  case null_without_elements:
    set_counts(trial, 0, 0);
    a->sendbuf = a->recvbuf = NULL;
    return !is_reduction(family);
  case in_place:
    return set_in_place(family, at_root, trial);
  case at_bottom:
    trial->made[0] = absolute_type(trial->in);
    trial->made[1] = absolute_type(trial->out);
    set_types(trial, trial->made[0], trial->made[1]);
    a->sendbuf = a->recvbuf = MPI_BOTTOM;
    return !is_reduction(family) && family != barrier;
  case strided:
    trial->made[0] = strided_type();
    set_types(trial, trial->made[0], trial->made[0]);
    set_counts(trial, block / 3, block / 3);
    return !is_reduction(family) && family != barrier;
  case made_with_large_counts:
#if MPI_VERSION >= 4
    MPI_Type_contiguous_c(2, MPI_INT, &trial->made[0]);
    MPI_Type_commit(&trial->made[0]);
    MPI_Type_vector_c(2, 1, 2, MPI_INT, &trial->made[1]);
    MPI_Type_commit(&trial->made[1]);
    set_types(trial, trial->made[0], trial->made[family == bcast ? 0 : 1]);
    set_counts(trial, block / 3, block / 3);
    return !is_reduction(family) && family != barrier;
#else
    return false;
#endif
  case pairs_of_fortran:
    set_types(trial, MPI_2INTEGER, MPI_2INTEGER);
    set_counts(trial, block / 2, block / 2);
    a->op = MPI_MAXLOC;
    return MPI_2INTEGER != MPI_DATATYPE_NULL && family != barrier;
  case type_without_data:
    MPI_Type_contiguous(0, MPI_INT, &trial->made[0]);
    MPI_Type_commit(&trial->made[0]);
    set_types(trial, trial->made[0], trial->made[0]);
    return !is_reduction(family) && family != barrier;
  case types_that_differ:
    MPI_Type_contiguous(2, MPI_INT, &trial->made[0]);
    MPI_Type_commit(&trial->made[0]);
    set_types(trial, MPI_INT, trial->made[0]);
    set_counts(trial, block, block / 2);
    return !is_reduction(family) && family != barrier && family != bcast;
  case op_commutative:
    return use_op(trial, family, larger, 1);
  case op_not_commutative:
    return use_op(trial, family, leftmost, 0);
  case op_on_strided:
    trial->made[0] = strided_type();
    set_types(trial, trial->made[0], trial->made[0]);
    set_counts(trial, block / 3, block / 3);
    return use_op(trial, family, larger, 1);
  default:
    return make_mistake(which, family, at_root, trial);
  }
}

// The root is the first rank of the first group; the second group receives or sends.
static int root_between_groups(void) { return rank >= ranks / 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL; }

// One rank's side of a call on one of the two communicators; fresh data and poisoned outputs before each start, as many as
// `last` says of a persistent one. Returns its error class, and -1 where there is no such case.
static int try_call(Case which, Family family, Form form, Where where, MPI_Comm comm, int last, int* in, int* out) {
  Trial trial = {.in = in, .out = out, .made = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, .op = MPI_OP_NULL};
  const bool in_bytes = family == alltoallw || family == neighbor_alltoallw;
  const int spread = !in_bytes && (which == strided || which == made_with_large_counts || which == pairs_of_fortran)
                         ? block / 2
                         : block; // in extents
  for (int i = 0; i < most_ranks; ++i) {
    place(&trial.send, i, block, i * spread);
    place(&trial.recv, i, block, i * spread);
  }
  trial.arguments = arguments_of(family, in, &trial.send, out, &trial.recv, comm);
  int self = 0;
  MPI_Comm_rank(comm, &self);
  int size = 0;
  MPI_Comm_size(comm, &size);
  trial.arguments.root = where == between_groups ? root_between_groups() : 0;
  const bool at_root =
      where == between_groups ? trial.arguments.root == MPI_ROOT : self == (which == last_root ? size - 1 : 0);
  int result = -1;
  if (apply(which, family, at_root, &trial)) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int first = is_persistent(form) ? 0 : last;
    int code = MPI_SUCCESS;
    for (int start = first; start <= last && code == MPI_SUCCESS; ++start) {
      for (int i = 0; i < room; ++i) {
        in[i] = (self + 1) * 100000 + i + start;
        out[i] = which == in_place ? -in[i] : -1 - i;
      }
      if (start == first) {
        code = call_collective(family, form, &trial.arguments, &request);
      }
      code = code == MPI_SUCCESS && is_persistent(form) ? MPI_Start(&request) : code;
      code = code == MPI_SUCCESS && !is_blocking(form) ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    }
    if (is_persistent(form) && request != MPI_REQUEST_NULL) {
      MPI_Request_free(&request);
    }
    result = class_of(code);
  }
  for (int i = 0; i < 2; ++i) {
    if (trial.made[i] != MPI_DATATYPE_NULL) {
      MPI_Type_free(&trial.made[i]);
    }
  }
  if (trial.op != MPI_OP_NULL) {
    MPI_Op_free(&trial.op);
  }
  return result;
}

// What the MPI libraries end the process for, or never come back from.
static bool is_left_out(Case which, Family family, Where where) {
  if (is_neighbor(family) != (where == on_neighbors)) {
    return true;
  }
  if (where == between_groups &&
      (which == last_root || which == in_place || which >= mistakes || family == scan || family == exscan)) {
    return true;
  }
  const bool null = which == null_sent || which == null_received;
  if (is_open_mpi()) {
    if (which == uncommitted_type && (family == scatter || family == scatterv)) {
      return true; // it crashes
    }
    const bool differ = family == scatterv && which == types_that_differ && where == between_groups; // one rank refuses
    return differ || null || (which == in_place_received && family == exscan) ||
           (which == null_communicator && (family == allgather || family == neighbor_allgather));
  }
  if (which == null_arrays) {
    return true;
  }
  if (mpich_version() >= 500 && which == null_type && is_reduction(family)) {
    return true;
  }
  const bool placed = which == in_place_received || which == in_place_sent;
  return (placed && (is_neighbor(family) || family == bcast || family == reduce)) ||
         (is_reduction(family) && (null || which == negative_count));
}

// With a class of the engine's (docs/drop-in.md).
static bool is_refused_by_engine(Case which, Family family) {
  return which == in_place_received || which == in_place_sent || which == null_sent || which == null_received ||
         (which == negative_count && is_neighbor(family));
}

static bool compare_call(Case which, Family family, Form form, Where where, const Pair* comms, int* buffers[3]) {
  (void)snprintf(context, sizeof context, "%s %s on %s, %s", form_name(form), family_name(family), where_names[where],
                 case_names[which]);
  // MPICH 4.0 alone has wrong results from the second start on, and between groups it is left alone.
  const int last = is_persistent(form) && strict && where != between_groups ? 2 : 0;
  const int left = try_call(which, family, reference_form(form), where, comms->left, last, buffers[0], buffers[1]);
  const int taken = try_call(which, family, form, where, comms->taken, last, buffers[0], buffers[2]);
  const bool refused = taken != MPI_SUCCESS;
  if (left != taken && !(is_refused_by_engine(which, family) && refused && left != MPI_SUCCESS)) {
    FAIL("error class %d, of the MPI library %d", taken, left);
  }
  for (int i = 0; left == MPI_SUCCESS && taken == MPI_SUCCESS && i < room; ++i) {
    if (buffers[1][i] != buffers[2][i]) {
      FAIL("element %d is %d, of the MPI library %d", i, buffers[2][i], buffers[1][i]);
      break;
    }
  }
  return left != MPI_SUCCESS || taken != MPI_SUCCESS;
}

static MPI_Comm comm_at(Where where) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm half = MPI_COMM_NULL;
  switch (where) {
  case on_world:
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    break;
  case on_self:
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    break;
  case on_neighbors:
    comm = with_neighbors();
    break;
  default:
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < ranks / 2 ? ranks / 2 : 0, 9, &comm);
    MPI_Comm_free(&half);
  }
  return comm;
}

void run_arguments(void) {
  int* buffers[3];
  room = 2 * ranks * block;
  for (int i = 0; i < 3; ++i) {
    buffers[i] = malloc((size_t)room * sizeof(int));
  }
  // Errors of calls without a communicator go to the one with Open MPI, to the other with MPICH.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int w = 0; w < wheres; ++w) {
    const Where where = (Where)w;
    if (where == between_groups && ranks % 2 != 0) {
      continue;
    }
    MPI_Comm comm = comm_at(where);
    for (int f = 0; f < family_count; ++f) {
      Pair comms = pair_of(comm); // a mistake may leave communicators unusable
      for (int c = 0; c < cases; ++c) {
        for (Form form = form_blocking; form <= form_mpix; ++form) {
          if (is_available(form) && !is_left_out((Case)c, (Family)f, where) &&
              compare_call((Case)c, (Family)f, form, where, &comms, buffers)) {
            free_pair(&comms);
            comms = pair_of(comm);
          }
        }
      }
      free_pair(&comms);
    }
    MPI_Comm_free(&comm);
  }
  for (int i = 0; i < 3; ++i) {
    free(buffers[i]);
  }
}
