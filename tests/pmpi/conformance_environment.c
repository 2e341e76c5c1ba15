// SPDX-License-Identifier: BSD-3-Clause
// Communicators of every origin, and what surrounds the calls: start and end of MPI, threads, fork, profiling control.
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include "tests/pmpi/conformance.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const Form forms[] = {form_blocking, form_nonblocking, form_persistent, form_mpix};
enum { form_kinds = sizeof forms / sizeof *forms };

// Some of all that there is, small and large.
static void use(MPI_Comm comm, const char* name, bool neighbors) {
  static const Family global[] = {allreduce, alltoallv, bcast, gather, barrier};
  static const Family local[] = {neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
                                 neighbor_alltoallw};
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  for (int f = 0; f < form_kinds; ++f) {
    for (int i = 0; is_available(forms[f]) && i < 5; ++i) {
      for (int large = 0; large < 2; ++large) {
        Shape shape = {.family = neighbors ? local[i] : global[i],
                       .form = forms[f],
                       .count = large ? large_count : small_count,
                       .comm = comm};
        shape.root = has_root(shape.family) ? ranks - 1 : 0;
        set_context("%s: %s %s of %d", name, form_name(shape.form), family_name(shape.family), shape.count);
        for (int epoch = 0; epoch < 3 && known_defect(&shape) == NULL; ++epoch) {
          run_once(shape, epoch);
        }
      }
    }
  }
}

// Many that are not used, and a few that are, each in another way.
static void used_communicators(void) {
  enum { count_unused = 30, uses = 8 };
  MPI_Comm unused[count_unused];
  for (int i = 0; i < count_unused; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &unused[i]);
  }
  const Family families[] = {barrier, allreduce, allgather, alltoall, reduce_scatter_block, bcast};
  for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
    const char* const name = family_name(families[f]);
    MPI_Comm used = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &used);
    char comm_name[MPI_MAX_OBJECT_NAME];
    (void)snprintf(comm_name, sizeof comm_name, "used-by-%s", name);
    MPI_Comm_set_name(used, comm_name);
    for (int i = 0; i < uses; ++i) {
      set_context("%s, %d", comm_name, i);
      run_once((Shape){.family = families[f], .form = form_blocking, .count = small_count, .comm = used}, i);
      run_once((Shape){.family = alltoall, .form = form_nonblocking, .count = large_count, .comm = used}, i);
    }
    MPI_Comm_free(&used);
  }
  for (int i = 0; i < count_unused; ++i) {
    MPI_Comm_free(&unused[i]);
  }
}

static void communicators(void) {
  const int rank = world_rank();
  MPI_Comm comm = MPI_COMM_NULL, other = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  use(comm, "reversed", false);
  MPI_Comm_free(&comm);

  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
  use(comm, "every other rank", false);
  MPI_Comm_dup(comm, &other);
  MPI_Comm_free(&comm);
  use(other, "a duplicate, the original freed", false);
  MPI_Comm_free(&other);

  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, rank, &comm);
  if (comm != MPI_COMM_NULL) {
    use(comm, "without rank 0", false);
    MPI_Comm_free(&comm);
  }
  use(MPI_COMM_SELF, "self", false);

  // Again and again: what is remembered of a communicator must not outlive it.
  for (int i = 0; i < 30; ++i) {
    set_context("communicator %d of 30", i);
    MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 0 ? rank % 2 : 0, i % 2 == 0 ? rank : -rank, &comm);
    run_once((Shape){.family = alltoall, .form = form_nonblocking, .count = large_count, .comm = comm}, i);
    run_once((Shape){.family = allreduce, .form = some_persistent_form(), .count = large_count, .comm = comm}, i);
    MPI_Comm_free(&comm);
  }
}

static bool info_of(MPI_Comm comm, const char* key, char value[MPI_MAX_INFO_VAL + 1]) {
  MPI_Info info = MPI_INFO_NULL;
  int found = 0;
  MPI_Comm_get_info(comm, &info);
#if MPI_VERSION >= 4 // which deprecates the other one
  int length = MPI_MAX_INFO_VAL + 1;
  MPI_Info_get_string(info, key, &length, value, &found);
#else
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
#endif
  MPI_Info_free(&info);
  return found != 0;
}

// Kinds of memory (MPI-4.1, section 11.4.3). A library that has them says so of every communicator.
static void memory_kinds(void) {
  static const char key[] = "mpi_memory_alloc_kinds";
  char of_world[MPI_MAX_INFO_VAL + 1] = "", value[MPI_MAX_INFO_VAL + 1] = "";
  const bool has_kinds = info_of(MPI_COMM_WORLD, key, of_world);
  set_context("kinds of memory");
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system");
  MPI_Comm comm = MPI_COMM_NULL, same = MPI_COMM_NULL;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  expect(info_of(comm, key, value) == has_kinds, "the kinds of a communicator with an assertion");
  use(comm, "memory of the system only", false);
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system,mpi");
  MPI_Comm_set_info(comm, info);
  use(comm, "memory of the system or MPI", false);
  MPI_Comm_split(comm, 0, world_rank(), &same);
  expect(info_of(same, key, value) == has_kinds, "the kinds of a communicator without an assertion");
  expect(!has_kinds || strcmp(value, of_world) == 0, "other kinds than those of the world");
  use(same, "without the assertion", false);
  MPI_Comm_free(&same);
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
}

static void topologies(void) {
  const int ranks = world_size();
  MPI_Comm comm = MPI_COMM_NULL;
  int dims[2] = {ranks, 1}, periods[2] = {0, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
  use(comm, "a line, whose ends have no neighbor", true);
  MPI_Comm_free(&comm);
  if (ranks >= 3) {
    periods[0] = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    use(comm, "a ring", true);
    use(comm, "a ring", false);
    MPI_Comm_free(&comm);
  }
  dims[0] = dims[1] = 0;
  periods[0] = 0;
  MPI_Dims_create(ranks, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  use(comm, "a grid", true);
  MPI_Comm_free(&comm);

  // From every rank to rank 0 only: one has many sources, others none.
  int to_first = 0, degree = 1, rank = world_rank();
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &to_first, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  use(comm, "a star", true);
  MPI_Comm_free(&comm);
}

// Copy functions are called for the copies that the application makes, and delete functions when it frees something.
static int copied = 0, deleted = 0;
static int copy_attribute(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)state;
  ++copied;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)comm, (void)keyval, (void)value, (void)state;
  ++deleted;
  return MPI_SUCCESS;
}
// A communicator works until it is freed, so also while its attributes are deleted.
static int use_as_it_goes(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)keyval, (void)value, (void)state;
  ++deleted;
  run_once((Shape){.family = allreduce, .form = form_nonblocking, .count = large_count, .comm = comm}, 1);
  run_once((Shape){.family = alltoall, .form = form_blocking, .count = large_count, .comm = comm}, 2);
  return MPI_SUCCESS;
}
static void used_as_they_go(void) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_as_it_goes, &keyval, NULL);
  for (int round = 0; round < 6; ++round) {
    set_context("a communicator used as it goes, round %d", round);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, NULL);
    if (round % 3 != 0) {
      run_once((Shape){.family = allreduce, .form = form_nonblocking, .count = large_count, .comm = comm}, round);
    }
    deleted = 0;
    if (round < 3) {
      expect_success(MPI_Comm_free(&comm), "MPI_Comm_free");
    } else {
      expect_success(MPI_Comm_disconnect(&comm), "MPI_Comm_disconnect");
    }
    expect(comm == MPI_COMM_NULL, "the handle of what was freed");
    expect(deleted == 1, "one attribute deleted");
  }
  MPI_Comm_free_keyval(&keyval);
}

static void attributes(void) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, NULL);
  MPI_Comm comm = MPI_COMM_NULL, ring = MPI_COMM_NULL;
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int dims[1] = {world_size()}, periods[1] = {1};
  MPI_Cart_create(comm, 1, dims, periods, 0, &ring);
  MPI_Comm_set_attr(ring, keyval, NULL);
  copied = deleted = 0;
  use(MPI_COMM_WORLD, "an attribute", false);
  use(comm, "an attribute", false);
  if (world_size() >= 3) {
    use(ring, "an attribute, a ring", true);
  }
  set_context("attributes");
  if (copied != 0 || deleted != 0) {
    fail("the application's attribute was copied %d times and deleted %d times", copied, deleted);
  }
  MPI_Comm_free(&ring);
  MPI_Comm_free(&comm);
  if (copied != 0 || deleted != 2) {
    fail("after two communicators were freed its copy function ran %d times, its delete function %d times", copied,
         deleted);
  }
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
  used_as_they_go();
}

// MPI_Comm_free is collective, but no MPI library lets it wait for other ranks: the last rank comes to the call only
// after a message that rank 0 sends when it has freed the communicator. One call stays outstanding while others are
// made and freed.
static void freed_before_others_come(Form form, Family family, int count) {
  const int last = world_size() - 1;
  Call* outstanding = NULL;
  for (int round = 0; round < 5; ++round) {
    set_context("communicator freed before others come, %s of %d, %s, round %d", family_name(family), count,
                form_name(form), round);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const Shape shape = {.family = family, .form = form, .count = count, .comm = comm};
    for (int epoch = 0; epoch < 4 * round; ++epoch) { // the last call may be on trial, put off, or the engine's
      run_once(shape, epoch);
    }
    Call* call = new_call(shape);
    fill(call, round);
    if (world_rank() == last && last > 0) {
      MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    expect_success(issue(call), "the call");
    expect_success(MPI_Comm_free(&comm), "MPI_Comm_free");
    if (world_rank() == 0 && last > 0) {
      MPI_Send(NULL, 0, MPI_INT, last, 9, MPI_COMM_WORLD);
    }
    if (outstanding == NULL) {
      outstanding = call;
      continue;
    }
    expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(call);
    free_call(call);
  }
  set_context("communicator freed before others come, the call that is outstanding");
  expect_success(MPI_Wait(&outstanding->request, MPI_STATUS_IGNORE), "MPI_Wait");
  check(outstanding);
  free_call(outstanding);
}

// The object goes when the calls are complete.
static void freed_communicator(void) {
  if (is_open_mpi() && !strict) {
    leave_out("a communicator freed with calls pending", "Open MPI crashes then");
    return;
  }
  static const Family families[] = {alltoall, allreduce, bcast};
  for (int round = 0; round < 8; ++round) {
    set_context("communicator freed with calls pending, round %d", round);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    Call* calls[3];
    for (int i = 0; i < 3; ++i) {
      calls[i] = new_call((Shape){
          .family = families[(round + i) % 3], .form = form_nonblocking, .count = large_count - i, .comm = comm});
      fill(calls[i], round);
      expect_success(issue(calls[i]), "the call");
    }
    expect_success(MPI_Comm_free(&comm), "MPI_Comm_free");
    for (int i = 2; i >= 0; --i) {
      expect_success(MPI_Wait(&calls[i]->request, MPI_STATUS_IGNORE), "MPI_Wait");
      check(calls[i]);
      free_call(calls[i]);
    }
  }
  if (!is_open_mpi()) { // small ones may be the library's
    freed_before_others_come(form_nonblocking, barrier, 0);
    freed_before_others_come(form_nonblocking, bcast, small_count);
    freed_before_others_come(form_nonblocking, alltoall, small_count);
  }
  freed_before_others_come(form_nonblocking, allreduce, large_count);
  freed_before_others_come(form_nonblocking, bcast, large_count);
}

// Each form falls back to the library, or not; results are those of the remote group.
static void intercommunicators(void) {
  const int rank = world_rank(), ranks = world_size();
  if (ranks < 2) {
    leave_out("intercommunicators", "need two ranks");
    return;
  }
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  const int low = rank < ranks / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, 9, &inter);
  int remote = 0, here = 0;
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(half, &here);
  const int first = low ? ranks / 2 : 0; // world rank of the remote group's first
  enum { count = large_count };
  int* in = malloc(count * sizeof *in);
  int* out = malloc(count * sizeof *out * (size_t)ranks);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int way = 0; way < 2; ++way) {
      set_context("intercommunicator, %s, epoch %d", way == 0 ? "nonblocking" : "blocking", epoch);
      int sum = 0;
      for (int r = 0; r < remote; ++r) {
        sum += (first + r + 1) * 10 + epoch;
      }
      for (int i = 0; i < count; ++i) {
        in[i] = (rank + 1) * 10 + epoch;
        out[i] = -1;
      }
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      if (way == 0) {
        expect_success(MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, inter, &requests[0]), "MPI_Iallreduce");
        expect_success(MPI_Ibarrier(inter, &requests[1]), "MPI_Ibarrier");
        expect_success(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
      } else {
        expect_success(MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, inter), "MPI_Allreduce");
        expect_success(MPI_Barrier(inter), "MPI_Barrier");
      }
      for (int i = 0; i < count; ++i) {
        if (out[i] != sum) {
          fail("allreduce: int %d is %d, not %d", i, out[i], sum);
          break;
        }
      }
      if (way == 0) {
        expect_success(MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, inter, &requests[0]), "MPI_Iallgather");
        expect_success(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), "MPI_Wait");
      } else {
        expect_success(MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, inter), "MPI_Allgather");
      }
      for (int i = 0; i < count * remote; ++i) {
        if (out[i] != (first + i / count + 1) * 10 + epoch) {
          fail("allgather: int %d is %d", i, out[i]);
          break;
        }
      }
      // From the low group's rank 0 to all of the other.
      const int root = low == 0 ? 0 : here == 0 ? MPI_ROOT : MPI_PROC_NULL;
      for (int i = 0; i < count; ++i) {
        in[i] = root == MPI_ROOT ? i + epoch : -1;
      }
      if (way == 0) {
        expect_success(MPI_Ibcast(in, count, MPI_INT, root, inter, &requests[0]), "MPI_Ibcast");
        expect_success(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), "MPI_Wait");
      } else {
        expect_success(MPI_Bcast(in, count, MPI_INT, root, inter), "MPI_Bcast");
      }
      for (int i = 0; root != MPI_PROC_NULL && i < count; ++i) {
        if (in[i] != i + epoch) {
          fail("bcast: int %d is %d", i, in[i]);
          break;
        }
      }
    }
  }
  free(in);
  free(out);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void pcontrol(void) {
  const Form form = some_persistent_form();
  const Shape shape = {.family = alltoall, .form = form_nonblocking, .count = large_count, .comm = MPI_COMM_WORLD};
  Shape again = shape;
  again.form = form;
  Call* call = new_call(again);
  if (is_persistent(form)) {
    fill(call, 0);
    issue(call);
  }
  for (int epoch = 0; epoch < 6; ++epoch) {
    const int level = epoch % 3;
    set_context("MPI_Pcontrol(%d) while calls are under way, epoch %d", level, epoch);
    Call* pending = new_call(shape);
    fill(pending, epoch);
    expect_success(issue(pending), "the call");
    fill(call, epoch);
    expect_success(is_persistent(form) ? MPI_Start(&call->request) : issue(call), "start");
    expect_success(MPI_Pcontrol(level, "arguments", 1, 2.0), "MPI_Pcontrol");
    run_once(shape, epoch);
    run_once((Shape){.family = allreduce, .form = form_blocking, .count = large_count, .comm = MPI_COMM_WORLD}, epoch);
    run_once((Shape){.family = allreduce, .form = form, .count = large_count, .comm = MPI_COMM_WORLD}, epoch);
    expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
    expect_success(MPI_Wait(&pending->request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(call);
    check(pending);
    free_call(pending);
  }
  MPI_Pcontrol(1);
  if (is_persistent(form)) {
    MPI_Request_free(&call->request);
  }
  free_call(call);
}

static void forking(void) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    set_context("fork, epoch %d", epoch);
    Call* call =
        new_call((Shape){.family = alltoall, .form = form_nonblocking, .count = large_count, .comm = MPI_COMM_WORLD});
    fill(call, epoch);
    expect_success(issue(call), "the call");
    const pid_t child = fork();
    if (child == 0) {
      _exit(7);
    }
    int status = 0;
    expect(child > 0, "fork");
    expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child's end");
    expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(call);
    free_call(call);
    // Its destructors and handlers run; it does not touch MPI.
    const pid_t other = fork();
    if (other == 0) {
      const char* const nothing[] = {"true", NULL};
      execv("/bin/true", (char* const*)nothing);
      _exit(1);
    }
    expect(waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the program's end");
    run_once((Shape){.family = allreduce, .form = some_persistent_form(), .count = large_count, .comm = MPI_COMM_WORLD},
             epoch);
  }
}

// ---- start and end

static void exchange(int epoch) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int f = 0; f < form_kinds; ++f) {
    if (is_available(forms[f])) {
      run_once((Shape){.family = alltoall, .form = forms[f], .count = large_count, .comm = MPI_COMM_WORLD}, epoch);
      run_once((Shape){.family = allreduce, .form = forms[f], .count = small_count, .comm = MPI_COMM_WORLD}, epoch);
    }
  }
}

static void* look_from_thread(void* is_main) {
  MPI_Is_thread_main(is_main);
  return NULL;
}

static void start_with(int asked, const char* name) {
  set_context("thread level %s", name);
  int provided = -1, told = -1, is_main = 0;
  expect_success(MPI_Init_thread(NULL, NULL, asked, &provided), "MPI_Init_thread");
  MPI_Query_thread(&told);
  expect(told == provided, "MPI_Query_thread says what MPI_Init_thread said");
  expect(provided == asked, "provided is what was asked for"); // also what both libraries do
  MPI_Is_thread_main(&is_main);
  expect(is_main == 1, "this is the main thread");
  pthread_t thread;
  if (asked != MPI_THREAD_SINGLE && pthread_create(&thread, NULL, look_from_thread, &is_main) == 0) {
    pthread_join(thread, NULL);
    expect(is_main == 0, "another thread is not the main thread");
  }
  exchange(1);
  MPI_Query_thread(&told);
  expect(told == provided, "MPI_Query_thread after calls");
  MPI_Finalize();
}

static void init_single(void) { start_with(MPI_THREAD_SINGLE, "single"); }
static void init_funneled(void) { start_with(MPI_THREAD_FUNNELED, "funneled"); }
static void init_serialized(void) { start_with(MPI_THREAD_SERIALIZED, "serialized"); }
static void init_multiple(void) { start_with(MPI_THREAD_MULTIPLE, "multiple"); }

// MPI_Init where the environment asks the MPI library for a level of threads. EXPECTED_LEVEL: which, from 0 to 3.
static void init_level(void) {
  set_context("the level of threads from the environment");
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  const char* expected = getenv("EXPECTED_LEVEL");
  MPI_Init(NULL, NULL);
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  expect(expected != NULL && level == levels[atoi(expected)], "the level that the environment asks for");
  MPI_Finalize();
}

static void* work(void* comm) {
  static const Family families[] = {alltoall, allreduce, bcast};
  set_context("threads at work");
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (int f = 0; f < 3; ++f) {
      run_once((Shape){.family = families[f],
                       .form = epoch % 2 == 0 ? form_nonblocking : some_persistent_form(),
                       .count = large_count,
                       .comm = *(MPI_Comm*)comm},
               epoch);
    }
  }
  return NULL;
}

// Each thread with a communicator of its own, at once.
static void init_threads_at_work(void) {
  set_context("threads at work");
  int provided = -1;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  if (provided == MPI_THREAD_MULTIPLE) {
    enum { threads = 3 };
    MPI_Comm comms[threads];
    pthread_t ids[threads];
    for (int i = 0; i < threads; ++i) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 1; i < threads; ++i) {
      if (pthread_create(&ids[i], NULL, work, &comms[i]) != 0) {
        abort();
      }
    }
    work(&comms[0]);
    for (int i = 1; i < threads; ++i) {
      pthread_join(ids[i], NULL);
    }
    for (int i = 0; i < threads; ++i) {
      MPI_Comm_free(&comms[i]);
    }
  } else {
    leave_out("threads at work", "the MPI library provides no MPI_THREAD_MULTIPLE");
  }
  MPI_Finalize();
}

static int called_at_end = 0;

static int at_end(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm;
  (void)key;
  (void)value;
  (void)state;
  ++called_at_end;
  int finalized = 1;
  MPI_Finalized(&finalized);
  expect(finalized == 0, "not finalized before the attributes of MPI_COMM_SELF are deleted");
  exchange(2);
  return MPI_SUCCESS;
}

// One thread waits for calls on a communicator while another frees it.
static void* wait_for_call(void* argument) {
  Call* call = argument;
  set_context("a communicator freed by another thread");
  expect_success(MPI_Wait(&call->request, MPI_STATUS_IGNORE), "MPI_Wait");
  return NULL;
}
static void init_freed_by_another_thread(void) {
  set_context("a communicator freed by another thread");
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  int rounds = provided == MPI_THREAD_MULTIPLE ? 20 : 0;
  if (is_open_mpi() && !strict) {
    rounds = 0; // Open MPI crashes then
  }
  static const Family families[] = {alltoall, allreduce, bcast};
  for (int round = 0; round < rounds; ++round) {
    set_context("communicator freed by another thread, round %d", round);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const Shape shape = {.family = families[round % 3], .form = form_nonblocking, .count = large_count, .comm = comm};
    for (int epoch = 0; epoch < round; ++epoch) { // the last call may be on trial, put off, or the engine's
      run_once(shape, epoch);
    }
    Call* call = new_call(shape);
    fill(call, round);
    expect_success(issue(call), "the call");
    pthread_t waiting;
    pthread_create(&waiting, NULL, wait_for_call, call);
    expect_success(MPI_Comm_free(&comm), "MPI_Comm_free");
    pthread_join(waiting, NULL);
    check(call);
    free_call(call);
  }
  MPI_Finalize();
}

// Collectives in a callback that MPI_Finalize makes, and a persistent request that nobody frees.
static void init_end(void) {
  set_context("the end");
  MPI_Init(NULL, NULL);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  exchange(1);
  Call* leftover = NULL;
  const Form form = some_persistent_form();
  if (is_persistent(form)) {
    leftover = new_call((Shape){.family = alltoall, .form = form, .count = large_count, .comm = MPI_COMM_WORLD});
    fill(leftover, 0);
    expect_success(issue(leftover), "the call");
    expect_success(MPI_Start(&leftover->request), "MPI_Start");
    expect_success(MPI_Wait(&leftover->request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(leftover);
  }
  expect_success(MPI_Finalize(), "MPI_Finalize");
  if (leftover != NULL) {
    free_call(leftover);
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 1 || called_at_end != 1) {
    fprintf(stderr, "FAILED: finalized %d, callbacks %d\n", finalized, called_at_end);
    exit(1);
  }
}

// No world: a communicator out of a session.
static void init_session(void) {
  set_context("session");
#if MPI_VERSION < 4
  fprintf(stderr, "skipped: the MPI library has no sessions\n");
  exit(77);
#else
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "conformance", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  for (int epoch = 0; epoch < 3; ++epoch) {
    run_once((Shape){.family = alltoall, .form = form_nonblocking, .count = large_count, .comm = comm}, epoch);
    run_once((Shape){.family = allreduce, .form = form_persistent, .count = large_count, .comm = comm}, epoch);
    run_once((Shape){.family = allreduce, .form = form_blocking, .count = small_count, .comm = comm}, epoch);
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
#endif
}

const Section environment_sections[] = {
    {"communicators", communicators},
    {"used-communicators", used_communicators},
    {"memory-kinds", memory_kinds},
    {"topologies", topologies},
    {"attributes", attributes},
    {"freed-communicator", freed_communicator},
    {"intercommunicators", intercommunicators},
    {"pcontrol", pcontrol},
    {"fork", forking},
    {"init-single", init_single},
    {"init-funneled", init_funneled},
    {"init-serialized", init_serialized},
    {"init-multiple", init_multiple},
    {"init-level", init_level},
    {"init-threads-at-work", init_threads_at_work},
    {"init-freed-by-another-thread", init_freed_by_another_thread},
    {"init-end", init_end},
    {"init-session", init_session},
    {NULL, NULL},
};
