// SPDX-License-Identifier: BSD-3-Clause
// Collective calls of every family and form.
#include "tests/pmpi/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* kind_name(Kind kind) {
  static const char* const names[kind_count] = {"int", "gap", "affine", "minloc"};
  return names[kind];
}

// ---- defects

bool library_serves(Form form) { return !strict || !is_persistent(form); }

bool persistent_states_work(void) { return !is_mpich() || !library_serves(form_persistent); }

// A persistent one, too, may be made of the library's nonblocking ones where it is small.
static bool library_serves_as_nonblocking(const Shape* shape) {
  return library_serves(shape->form) || shape->count != large_count;
}

const char* known_defect(const Shape* shape) {
  const Family family = shape->family;
  int topology = MPI_UNDEFINED;
  MPI_Topo_test(shape->comm, &topology);
  if (is_mpich_before(401) && family == neighbor_alltoallw && topology != MPI_CART &&
      library_serves_as_nonblocking(shape)) {
    return "MPICH 4.0's neighbor_alltoallw takes arguments of sources for those of targets";
  }
  if (!library_serves(shape->form)) {
    return NULL;
  }
  if (is_mpich_before(401) && family == reduce && shape->in_place && shape->root != 0) {
    return "MPICH 4.0's reduce in place at a root other than 0 crashes";
  }
  if (is_mpich() && is_persistent(shape->form) && (family == gather || family == scatter)) {
    return "MPICH's persistent gather and scatter give wrong results from the second start on (seen in 4.0.2, 4.2.1)";
  }
  if (is_mpich_before(401) && is_persistent(shape->form) && (family == allgather || family == reduce)) {
    return "MPICH 4.0's persistent allgather and reduce hang or give wrong results from the second start on";
  }
  return NULL;
}

// ---- elements

static int extent_of(Kind kind) {
  static const int ints[kind_count] = {1, 3, 2, 2};
  return ints[kind];
}

static int ints_of(Kind kind) { return kind == kind_int ? 1 : 2; }

// Where an element's ints are.
static int offset_of(Kind kind, int part) { return kind == kind_gap ? 2 * part : part; }

// The i-th int of what source has for target.
static int datum(Kind kind, int source, int target, long i, int epoch) {
  unsigned x = (unsigned)source * 2654435761U + (unsigned)(target + 2) * 40503U + (unsigned)i * 2246822519U +
               (unsigned)epoch * 3266489917U;
  x ^= x >> 15;
  x *= 2654435761U;
  x ^= x >> 13;
  // Few smallest values, so that locations matter.
  return kind == kind_minloc && i % 2 == 0 ? (int)(x % 3U) : (int)(x & 0xffffU);
}

// right = left op right
static void combine(Kind kind, const int* left, int* right) {
  switch (kind) {
  case kind_int:
    right[0] += left[0];
    return;
  case kind_gap:
    right[0] += left[0];
    right[2] += left[2];
    return;
  case kind_affine: { // left after right
    const unsigned a = (unsigned)left[0], b = (unsigned)left[1];
    right[1] = (int)(a * (unsigned)right[1] + b);
    right[0] = (int)(a * (unsigned)right[0]);
    return;
  }
  case kind_minloc:
    if (left[0] < right[0] || (left[0] == right[0] && left[1] < right[1])) {
      right[0] = left[0];
      right[1] = left[1];
    }
    return;
  case kind_count:
    return;
  }
}

static void combine_all(Kind kind, const int* left, int* right, int count) {
  for (int e = 0; e < count; ++e) {
    combine(kind, left + (ptrdiff_t)e * extent_of(kind), right + (ptrdiff_t)e * extent_of(kind));
  }
}

// NOLINTBEGIN(readability-non-const-parameter): MPI_User_function
static void op_gap(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  combine_all(kind_gap, left, right, *count);
}

static void op_affine(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  combine_all(kind_affine, left, right, *count);
}
// NOLINTEND(readability-non-const-parameter)

static MPI_Datatype new_type(Kind kind) {
  MPI_Datatype type = kind == kind_minloc ? MPI_2INT : MPI_INT;
  if (kind == kind_gap) {
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
  } else if (kind == kind_affine) {
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
  }
  return type;
}

static void free_type(Kind kind, MPI_Datatype* type) {
  if (kind == kind_gap || kind == kind_affine) {
    MPI_Type_free(type);
  }
}

static MPI_Op new_op(Kind kind) {
  MPI_Op op = kind == kind_minloc ? MPI_MINLOC : MPI_SUM;
  if (kind == kind_gap) {
    MPI_Op_create(op_gap, 1, &op);
  } else if (kind == kind_affine) {
    MPI_Op_create(op_affine, 0, &op);
  }
  return op;
}

static void free_op(Kind kind, MPI_Op* op) {
  if (kind == kind_gap || kind == kind_affine) {
    MPI_Op_free(op);
  }
}

// ---- layout

static bool has_displacements(Family family) {
  return family == allgatherv || family == alltoallv || family == alltoallw || family == gatherv ||
         family == scatterv || family == neighbor_allgatherv || family == neighbor_alltoallv ||
         family == neighbor_alltoallw;
}

// Where there is one rank, both libraries take some displacements for others.
static bool is_padded(const Call* call) { return has_displacements(call->shape.family) && call->ranks > 1; }

// Appends a block. Where there are displacements, with room before it, and not all of it the same.
static void append(Side* side, bool padded, Block block) {
  const int n = side->blocks++;
  if (n >= most_blocks) {
    fprintf(stderr, "more than %d blocks\n", most_blocks);
    abort();
  }
  const size_t extent = (size_t)extent_of(block.kind);
  block.at = side->ints + (padded ? extent * (size_t)(1 + n % 2) : 0);
  side->ints = block.at + (extent * (size_t)block.count);
  side->block[n] = block;
  side->counts[n] = block.count;
  side->displs[n] = (int)(block.at / extent);
  side->bytes[n] = (int)(block.at * sizeof(int));
  side->wide_counts[n] = side->counts[n];
  side->wide_displs[n] = side->displs[n];
  side->wide_bytes[n] = side->bytes[n];
}

static int count_between(const Shape* shape, int source, int target) {
  const int chosen = source + (2 * target);
  // MPICH 4.0's neighbor_alltoallw does nothing where the first counts are 0.
  const bool may_be_none = !(is_mpich_before(401) && shape->family == neighbor_alltoallw);
  if (shape->count == 0 || (may_be_none && (shape->in_place ? chosen % 4 == 3 : chosen % 3 == 2))) {
    return 0;
  }
  return shape->count + (3 * source + 5 * target) % 4;
}

// An alltoall with blocks for these partners. What a pair exchanges in place is of one size.
static void lay_exchange(Call* call, int sources, const int* source, int targets, const int* target) {
  const Shape* shape = &call->shape;
  const bool of_each_pair = shape->family != alltoall && shape->family != neighbor_alltoall;
  const bool w = shape->family == alltoallw || shape->family == neighbor_alltoallw;
  for (int side = 0; side < 2; ++side) {
    for (int i = 0; i < (side == 0 ? targets : sources); ++i) {
      const int peer = side == 0 ? target[i] : source[i];
      Block block = {.source = side == 0 ? call->rank : peer, .target = side == 0 ? peer : call->rank};
      int low = block.source, high = block.target;
      if (shape->in_place && low > high) {
        low = block.target;
        high = block.source;
      }
      block.count = of_each_pair ? count_between(shape, low, high) : shape->count;
      block.kind = shape->kind;
      if (w) { // pairs of ints as one element or two
        // MPICH 4.0's nonblocking one in place writes garbage with any but predefined datatypes, and that of neighbors
        // nothing.
        const bool of_ints = is_mpich_before(401) && (shape->in_place || shape->family == neighbor_alltoallw) &&
                             library_serves(shape->form);
        const int of_kind = of_ints ? 0 : shape->in_place ? low + high : block.target + (side * (block.source + 1));
        block.kind = of_kind % 2 != 0 ? kind_gap : kind_int;
        block.count *= block.kind == kind_int ? 2 : 1;
      }
      append(side == 0 ? &call->send : &call->recv, is_padded(call), block);
    }
  }
}

// One block of each source.
static void lay_collection(Call* call, int sources, const int* source, bool receives) {
  const Shape* shape = &call->shape;
  const bool v = has_displacements(shape->family);
  append(&call->send, false,
         (Block){.source = call->rank,
                 .target = everyone,
                 .count = v ? count_between(shape, call->rank, 0) : shape->count,
                 .kind = shape->kind});
  for (int i = 0; receives && i < sources; ++i) {
    append(&call->recv, is_padded(call),
           (Block){.source = source[i],
                   .target = everyone,
                   .count = v ? count_between(shape, source[i], 0) : shape->count,
                   .kind = shape->kind});
  }
}

static void lay_scatter(Call* call) {
  const Shape* shape = &call->shape;
  const bool v = has_displacements(shape->family);
  for (int to = 0; call->rank == shape->root && to < call->ranks; ++to) {
    append(&call->send, is_padded(call),
           (Block){.source = shape->root,
                   .target = to,
                   .count = v ? count_between(shape, 0, to) : shape->count,
                   .kind = shape->kind});
  }
  if (!call->recv_in_place) {
    append(&call->recv, false,
           (Block){.source = shape->root,
                   .target = call->rank,
                   .count = v ? count_between(shape, 0, call->rank) : shape->count,
                   .kind = shape->kind});
  }
}

static void lay_reduction(Call* call) {
  const Shape* shape = &call->shape;
  const bool scatters = shape->family == reduce_scatter || shape->family == reduce_scatter_block;
  long first = 0;
  for (int to = 0; to < (scatters ? call->ranks : 1); ++to) {
    const int count = shape->family == reduce_scatter ? count_between(shape, 0, to) : shape->count;
    const Block given = {.source = call->rank, .target = everyone, .first = first, .count = count, .kind = shape->kind};
    append(&call->send, false, given);
    const int fold = shape->family == scan ? call->rank + 1 : shape->family == exscan ? call->rank : call->ranks;
    const bool receives = scatters ? to == call->rank : shape->family == reduce ? call->rank == shape->root : fold > 0;
    if (receives) {
      append(&call->recv, false,
             (Block){.target = everyone, .first = first, .fold = fold, .count = count, .kind = shape->kind});
    }
    first += count;
  }
}

static void find_neighbors(MPI_Comm comm, int* sources, int* source, int* targets, int* target) {
  int topology = MPI_UNDEFINED;
  MPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    int dims = 0;
    MPI_Cartdim_get(comm, &dims);
    for (int d = 0; d < dims; ++d) {
      MPI_Cart_shift(comm, d, 1, &source[2 * d], &source[2 * d + 1]);
    }
    *sources = *targets = 2 * dims;
    memcpy(target, source, (size_t)*sources * sizeof *source);
  } else {
    int weighted = 0;
    MPI_Dist_graph_neighbors_count(comm, sources, targets, &weighted);
    MPI_Dist_graph_neighbors(comm, *sources, source, MPI_UNWEIGHTED, *targets, target, MPI_UNWEIGHTED);
  }
}

static void lay(Call* call) {
  const Shape* shape = &call->shape;
  int all[most_blocks], source[most_blocks], target[most_blocks], sources = 0, targets = 0;
  for (int i = 0; i < most_blocks; ++i) {
    all[i] = i;
  }
  switch (shape->family) {
  case barrier:
  case family_count:
    return;
  case allgather:
  case allgatherv:
    lay_collection(call, call->ranks, all, true);
    return;
  case gather:
  case gatherv:
    lay_collection(call, call->ranks, all, call->rank == shape->root);
    return;
  case scatter:
  case scatterv:
    lay_scatter(call);
    return;
  case bcast: {
    const Block block = {.source = shape->root, .target = everyone, .count = shape->count, .kind = shape->kind};
    append(&call->recv, false, block);
    if (call->rank == shape->root) {
      append(&call->send, false, block);
    }
    return;
  }
  case alltoall:
  case alltoallv:
  case alltoallw:
    lay_exchange(call, call->ranks, all, call->ranks, all);
    return;
  case neighbor_allgather:
  case neighbor_allgatherv:
    find_neighbors(shape->comm, &sources, source, &targets, target);
    lay_collection(call, sources, source, true);
    return;
  case neighbor_alltoall:
  case neighbor_alltoallv:
  case neighbor_alltoallw:
    find_neighbors(shape->comm, &sources, source, &targets, target);
    lay_exchange(call, sources, source, targets, target);
    return;
  case allreduce:
  case exscan:
  case reduce:
  case reduce_scatter:
  case reduce_scatter_block:
  case scan:
    lay_reduction(call);
    return;
  }
}

// The input lies where the output comes.
static void lay_in_place(Call* call) {
  Side* send = &call->send;
  const Side* recv = &call->recv;
  switch (call->shape.family) {
  case allgather:
  case allgatherv:
  case gather:
  case gatherv:
    send->block[0].at = recv->block[call->rank].at;
    return;
  case alltoall:
  case alltoallv:
  case alltoallw:
    for (int i = 0; i < send->blocks; ++i) {
      send->block[i].at = recv->block[i].at;
    }
    return;
  default: // from the beginning
    return;
  }
}

// ---- a call's life

static void free_handles(Call* call);

static int* new_ints(size_t count) {
  int* ints = malloc((count + 1) * sizeof *ints);
  if (ints == NULL) {
    fprintf(stderr, "out of memory\n");
    abort();
  }
  return ints;
}

Call* new_call(Shape shape) {
  Call* call = calloc(1, sizeof *call);
  if (call == NULL) {
    fprintf(stderr, "out of memory\n");
    abort();
  }
  call->shape = shape;
  call->request = MPI_REQUEST_NULL;
  MPI_Comm_rank(shape.comm, &call->rank);
  MPI_Comm_size(shape.comm, &call->ranks);
  const bool scatters = shape.family == scatter || shape.family == scatterv;
  const bool at_root = call->rank == shape.root;
  call->recv_in_place = shape.in_place && scatters && at_root;
  call->send_in_place =
      (shape.family == bcast && at_root) || (shape.in_place && !scatters && (!has_root(shape.family) || at_root));
  lay(call);
  if (call->send_in_place) {
    lay_in_place(call);
    if (call->recv.ints < call->send.ints) {
      call->recv.ints = call->send.ints;
    }
    call->recv.data = call->send.data = new_ints(call->recv.ints);
  } else {
    call->recv.data = new_ints(call->recv.ints);
    call->send.data = new_ints(call->send.ints);
  }
  call->recv.expected = new_ints(call->recv.ints);
  call->send.expected = new_ints(call->send.ints);
  return call;
}

void free_call(Call* call) {
  if (call->holds_handles) {
    free_handles(call);
  }
  if (!call->send_in_place) {
    free(call->send.data);
  }
  free(call->recv.data);
  free(call->send.expected);
  free(call->recv.expected);
  free(call);
}

// The i-th element of a block as it must be. Leaves an element's gaps alone.
static void make_element(const Block* block, int e, int epoch, int* element) {
  int parts[4];
  const int ranks = block->fold > 0 ? block->fold : 1;
  for (int r = ranks - 1; r >= 0; --r) {
    int left[4] = {0};
    for (int part = 0; part < ints_of(block->kind); ++part) {
      const long i = (block->first + e) * ints_of(block->kind) + part;
      left[offset_of(block->kind, part)] =
          datum(block->kind, block->fold > 0 ? r : block->source, block->target, i, epoch);
    }
    if (r == ranks - 1) {
      memcpy(parts, left, sizeof parts);
    } else {
      combine(block->kind, left, parts);
    }
  }
  for (int part = 0; part < ints_of(block->kind); ++part) {
    element[offset_of(block->kind, part)] = parts[offset_of(block->kind, part)];
  }
}

static void make_blocks(const Side* side, int epoch, int* data) {
  for (int b = 0; b < side->blocks; ++b) {
    const Block* block = &side->block[b];
    if ((block->fold == 0 && block->source == MPI_PROC_NULL) || block->target == MPI_PROC_NULL) {
      continue;
    }
    for (int e = 0; e < block->count; ++e) {
      make_element(block, e, epoch, data + block->at + ((size_t)e * (size_t)extent_of(block->kind)));
    }
  }
}

void fill(Call* call, int epoch) {
  call->epoch = epoch;
  for (size_t i = 0; i <= call->recv.ints; ++i) {
    call->recv.data[i] = 0x5a5a0000 + epoch;
  }
  if (!call->send_in_place) {
    for (size_t i = 0; i <= call->send.ints; ++i) {
      call->send.data[i] = 0x3c3c0000 + epoch;
    }
  }
  make_blocks(&call->send, epoch, call->send.data);
  memcpy(call->recv.expected, call->recv.data, (call->recv.ints + 1) * sizeof(int));
  make_blocks(&call->recv, epoch, call->recv.expected);
  if (!call->send_in_place) {
    memcpy(call->send.expected, call->send.data, (call->send.ints + 1) * sizeof(int));
  }
}

static void compare(const Call* call, const Side* side, size_t ints, const char* what) {
  for (size_t i = 0; i < ints; ++i) {
    if (side->data[i] != side->expected[i]) {
      fail("epoch %d: int %zu of %zu in the %s buffer is %#x, not %#x", call->epoch, i, ints, what,
           (unsigned)side->data[i], (unsigned)side->expected[i]);
      return;
    }
  }
}

void check(const Call* call) {
  const Family family = call->shape.family;
  size_t ints = call->recv.ints + 1;
  if (family == exscan && call->rank == 0) {
    ints = 0; // undefined
  } else if (call->send_in_place && (family == reduce_scatter || family == reduce_scatter_block)) {
    ints = call->recv.block[0].at + ((size_t)call->recv.block[0].count * (size_t)extent_of(call->shape.kind));
  }
  compare(call, &call->recv, ints, "receive");
  if (!call->send_in_place) {
    compare(call, &call->send, call->send.ints + 1, "send");
  }
}

int gatherv_far(bool persistent, const void* sendbuf, int sendcount, void* recvbuf, const MPI_Count* recvcounts,
                const MPI_Aint* displs, int root, MPI_Request* request) {
  const Arguments arguments = {.sendbuf = sendbuf,
                               .sendcount = sendcount,
                               .sendtype = MPI_CHAR,
                               .recvbuf = recvbuf,
                               .wide_recvcounts = recvcounts,
                               .wide_rdispls = displs,
                               .recvtype = MPI_CHAR,
                               .root = root,
                               .comm = MPI_COMM_WORLD};
  return call_collective(gatherv, persistent ? form_persistent_c : form_nonblocking_c, &arguments, request);
}

static int issue_with(Call* call, MPI_Datatype type, MPI_Datatype recv_type, MPI_Op op) {
  const Side *s = &call->send, *r = &call->recv;
  const Family family = call->shape.family;
  const int n = call->shape.count, root = call->shape.root;
  // Only the root's arrays are looked at: elsewhere they are no memory at all.
  static void* volatile no_memory = (void*)sizeof(MPI_Count);
  if (call->rank != root && family == gatherv) {
    r = no_memory;
  } else if (call->rank != root && family == scatterv) {
    s = no_memory;
  }
  const bool one_sent = family == allgatherv || family == gatherv || family == neighbor_allgatherv;
  const bool in_bytes = family == alltoallw || family == neighbor_alltoallw;
  const Arguments arguments = {.sendbuf = call->send_in_place ? MPI_IN_PLACE : call->send.data,
                               .sendcount = !one_sent       ? n
                                            : s->blocks > 0 ? s->counts[0]
                                                            : 0,
                               .sendcounts = s->counts,
                               .sdispls = in_bytes ? s->bytes : s->displs,
                               .wide_sendcounts = s->wide_counts,
                               .wide_sdispls = in_bytes ? s->wide_bytes : s->wide_displs,
                               .sendtype = type,
                               .sendtypes = s->types,
                               .recvbuf = call->recv_in_place ? MPI_IN_PLACE : call->recv.data,
                               .recvcount = family != scatterv ? n
                                            : r->blocks > 0    ? r->counts[0]
                                                               : 0,
                               .recvcounts = family == reduce_scatter ? s->counts : r->counts,
                               .rdispls = in_bytes ? r->bytes : r->displs,
                               .wide_recvcounts = family == reduce_scatter ? s->wide_counts : r->wide_counts,
                               .wide_rdispls = in_bytes ? r->wide_bytes : r->wide_displs,
                               .recvtype = is_reduction(family) || family == bcast ? type : recv_type,
                               .recvtypes = r->types,
                               .op = op,
                               .root = root,
                               .comm = call->shape.comm};
  return call_collective(family, call->shape.form, &arguments, &call->request);
}

static void make_handles(Call* call) {
  const Kind kind = call->shape.kind;
  call->type = new_type(kind);
  call->recv_type = new_type(kind);
  call->op = is_reduction(call->shape.family) ? new_op(kind) : MPI_OP_NULL;
  Side* const sides[] = {&call->send, &call->recv};
  for (int i = 0; i < 2; ++i) {
    for (int b = 0; b < sides[i]->blocks; ++b) {
      sides[i]->types[b] = new_type(sides[i]->block[b].kind);
    }
  }
  call->holds_handles = true;
}

static void free_handles(Call* call) {
  const Side* const sides[] = {&call->send, &call->recv};
  for (int i = 0; i < 2; ++i) {
    for (int b = 0; b < sides[i]->blocks; ++b) {
      MPI_Datatype freed = sides[i]->types[b]; // the array may not change before completion
      free_type(sides[i]->block[b].kind, &freed);
    }
  }
  if (is_reduction(call->shape.family)) {
    free_op(call->shape.kind, &call->op);
  }
  free_type(call->shape.kind, &call->type);
  free_type(call->shape.kind, &call->recv_type);
  call->holds_handles = false;
}

int issue(Call* call) {
  if (call->holds_handles) {
    free_handles(call);
  }
  make_handles(call);
  const int code = issue_with(call, call->type, call->recv_type, call->op);
  // Legal as soon as the call has returned, whether it is complete or not. Open MPI's own persistent collectives crash
  // (seen in 4.1.4, 5.0.7).
  if (!keeps_handles && !(is_open_mpi() && is_persistent(call->shape.form) && library_serves(call->shape.form))) {
    free_handles(call);
  }
  return code;
}

void run_once(Shape shape, int epoch) {
  Call* call = new_call(shape);
  fill(call, epoch);
  expect_success(issue(call), "the call");
  if (is_persistent(shape.form)) {
    expect_success(MPI_Start(&call->request), "MPI_Start");
  }
  if (!is_blocking(shape.form)) {
    expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
  }
  check(call);
  if (is_persistent(shape.form)) {
    expect_success(MPI_Request_free(&call->request), "MPI_Request_free");
  }
  free_call(call);
}
