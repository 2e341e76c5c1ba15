// SPDX-License-Identifier: BSD-3-Clause
// Programs that make a communicator for each graph. Every result is checked; data are new in each call, and outputs
// poisoned before. A single thread makes the first graph: Open MPI 4.1 prepares for graphs without a lock.
//
//   graphs SECTION..., each with communicators of its own:
//   loop            graphs are made, called and freed, one after the other
//   many            many live at the same time, each called a few times
//   often           two, called often, several calls at a time
//   other-order     ranks start calls on different graphs in different orders, and compute beside
//   threads         threads have graphs of communicators of their own
//   parent-first    the communicator that the graphs were made from is freed first
//   absent          a rank without neighbors never calls
//   unused          graphs that nobody calls
//   few             graphs that are called a few times
//   late            a rank comes late to the call that asks for requests, and the graph is freed soon after
//   other-calls     other collectives on graphs
//   pending         a graph is freed with calls under way
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include "tests/rig/mpi_library.h"

#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_degree = 8, most_ints = 4000, poison = -77, threads = 3 };

static int ranks, failures;
static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

// How many neighbors each rank has, and how far they are: those of a rank differ from those of others.
typedef enum Pattern { ring, fan, without_last } Pattern;

typedef struct Graph {
  MPI_Comm comm;
  int rank, sources, targets, source[most_degree], target[most_degree];
} Graph;

typedef struct Call {
  const Graph* graph;
  int salt, kind;
  MPI_Request request;
  int sendcounts[most_degree], sdispls[most_degree], recvcounts[most_degree], rdispls[most_degree];
  MPI_Aint sbytes[most_degree], rbytes[most_degree];
  MPI_Datatype types[most_degree];
  int in[most_degree * most_ints], out[most_degree * most_ints];
} Call;

static int has_edge(Pattern pattern, int from, int to) {
  switch (pattern) {
  case ring:
    return to == (from + 1) % ranks;
  case fan: // to all that are further on, and back to 0
    return to > from || to == 0;
  default:
    return from != ranks - 1 && to != ranks - 1;
  }
}

static void make(Graph* graph, MPI_Comm parent, Pattern pattern) {
  MPI_Comm_rank(parent, &graph->rank);
  graph->sources = graph->targets = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    if (has_edge(pattern, peer, graph->rank)) {
      graph->source[graph->sources++] = peer;
    }
    if (has_edge(pattern, graph->rank, peer)) {
      graph->target[graph->targets++] = peer;
    }
  }
  MPI_Dist_graph_create_adjacent(parent, graph->sources, graph->source, MPI_UNWEIGHTED, graph->targets, graph->target,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph->comm);
}

// The block of a call that goes from one rank to another.
static int ints(int kind, int from, int to, int salt) {
  return kind == 3 ? 5 + salt % 3 : ((from * 7 + to * 3 + salt) % 5) * (salt % 4 == 0 ? most_ints / 4 : 3);
}
static int given(int from, int to, int salt, int i) { return from * 1000 + to * 100 + salt * 7 + i; }

static void start(Call* call, const Graph* graph, int salt) {
  call->graph = graph;
  call->salt = salt;
  call->kind = salt % 4;
  int sent = 0, received = 0;
  for (int t = 0; t < graph->targets; ++t) {
    const int n = ints(call->kind, graph->rank, graph->target[t], salt);
    call->sendcounts[t] = n;
    call->sdispls[t] = sent;
    call->sbytes[t] = sent * (MPI_Aint)sizeof(int);
    for (int i = 0; i < n; ++i) {
      call->in[sent + i] = given(graph->rank, graph->target[t], salt, i);
    }
    sent += n;
  }
  for (int s = 0; s < graph->sources; ++s) {
    call->recvcounts[s] = ints(call->kind, graph->source[s], graph->rank, salt);
    call->rdispls[s] = received;
    call->rbytes[s] = received * (MPI_Aint)sizeof(int);
    received += call->recvcounts[s];
  }
  for (int i = 0; i < most_degree; ++i) {
    call->types[i] = MPI_INT;
  }
  for (int i = 0; i < received; ++i) {
    call->out[i] = poison;
  }
  const int all = ints(3, 0, 0, salt);
  switch (call->kind) {
  case 2:
    if (!is_mpich_before(401)) { // which takes arguments of sources for those of targets
      MPI_Ineighbor_alltoallw(call->in, call->sendcounts, call->sbytes, call->types, call->out, call->recvcounts,
                              call->rbytes, call->types, graph->comm, &call->request);
      break;
    }
    // fall through
  default:
    MPI_Ineighbor_alltoallv(call->in, call->sendcounts, call->sdispls, MPI_INT, call->out, call->recvcounts,
                            call->rdispls, MPI_INT, graph->comm, &call->request);
    break;
  case 3:
    MPI_Ineighbor_alltoall(call->in, all, MPI_INT, call->out, all, MPI_INT, graph->comm, &call->request);
  }
}

static void check(const Call* call) {
  const Graph* graph = call->graph;
  for (int s = 0; s < graph->sources; ++s) {
    for (int i = 0; i < call->recvcounts[s]; ++i) {
      const int expected = given(graph->source[s], graph->rank, call->salt, i);
      const int found = call->out[call->rdispls[s] + i];
      if (found != expected) {
        pthread_mutex_lock(&failing);
        if (++failures < 10) {
          printf("FAILED: rank %d, call %d: int %d from rank %d is %d, not %d\n", graph->rank, call->salt, i,
                 graph->source[s], found, expected);
        }
        pthread_mutex_unlock(&failing);
        break;
      }
    }
  }
}

static void finish(Call* call) {
  if (call->salt % 2 == 0) {
    MPI_Wait(&call->request, MPI_STATUS_IGNORE);
  } else {
    for (int done = 0; !done;) {
      MPI_Test(&call->request, &done, MPI_STATUS_IGNORE);
    }
  }
  check(call);
}

// So many calls at a time.
static void call_often(Graph* graph, int calls, int at_a_time) {
  Call* under_way = malloc((size_t)at_a_time * sizeof *under_way);
  for (int c = 0; c < calls; c += at_a_time) {
    for (int i = 0; i < at_a_time; ++i) {
      start(&under_way[i], graph, c + i);
    }
    for (int i = at_a_time; i-- > 0;) {
      finish(&under_way[i]);
    }
  }
  free(under_way);
}

static void make_and_free(MPI_Comm parent, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Graph graph;
    make(&graph, parent, round % 3 == 0 ? fan : ring);
    call_often(&graph, 1 + (round * 5) % 40, 1 + round % 2);
    MPI_Comm_free(&graph.comm);
  }
}

static void loop(MPI_Comm parent) { make_and_free(parent, 30); }

static void many(MPI_Comm parent) {
  enum { graphs = 24 };
  Graph all[graphs];
  for (int g = 0; g < graphs; ++g) {
    make(&all[g], parent, g % 2 == 0 ? ring : fan);
    call_often(&all[g], 3, 1);
  }
  for (int g = graphs; g-- > 0;) {
    call_often(&all[g], g % 4 == 0 ? 60 : 2, 1);
  }
  for (int g = 0; g < graphs; ++g) {
    MPI_Comm_free(&all[(g * 5) % graphs].comm);
  }
}

static void often(MPI_Comm parent) {
  Graph first, second;
  make(&first, parent, fan);
  make(&second, parent, ring);
  call_often(&first, 300, 5);
  call_often(&second, 300, 3);
  MPI_Comm_free(&first.comm);
  make(&first, parent, ring);
  call_often(&first, 100, 4);
  MPI_Comm_free(&first.comm);
  MPI_Comm_free(&second.comm);
}

static void other_order(MPI_Comm parent) {
  enum { graphs = 5, rounds = 60 };
  Graph all[graphs];
  Call* calls = malloc(graphs * sizeof *calls);
  for (int g = 0; g < graphs; ++g) {
    make(&all[g], parent, g % 2 == 0 ? fan : ring);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < graphs; ++i) {
      const int g = (i * (all[0].rank % 2 == 0 ? 1 : 4) + round) % graphs;
      start(&calls[g], &all[g], round);
    }
    volatile double sum = 0;
    for (int i = 0; i < 20000; ++i) {
      sum = sum + i;
    }
    for (int i = 0; i < graphs; ++i) {
      finish(&calls[(i + all[0].rank) % graphs]);
    }
  }
  for (int g = 0; g < graphs; ++g) { // freed in different orders, too: MPI need not meet there
    MPI_Comm_free(&all[g].comm);
  }
  free(calls);
}

static void* of_thread(void* parent) {
  make_and_free(*(MPI_Comm*)parent, 12);
  return NULL;
}
static void in_threads(MPI_Comm parent) {
  pthread_t thread[threads];
  MPI_Comm parents[threads];
  for (int t = 0; t < threads; ++t) {
    MPI_Comm_dup(parent, &parents[t]);
    pthread_create(&thread[t], NULL, of_thread, &parents[t]);
  }
  for (int t = 0; t < threads; ++t) {
    pthread_join(thread[t], NULL);
    MPI_Comm_free(&parents[t]);
  }
}

static void parent_first(MPI_Comm world) {
  for (int round = 0; round < 3; ++round) {
    MPI_Comm parent;
    Graph first, second;
    MPI_Comm_dup(world, &parent);
    make(&first, parent, ring);
    make(&second, parent, fan);
    MPI_Comm_free(&parent);
    call_often(&second, 30, 1);
    call_often(&first, 30, 2);
    MPI_Comm_free(&second.comm);
    call_often(&first, 30, 1);
    MPI_Comm_free(&first.comm);
  }
}

static void absent(MPI_Comm parent) {
  for (int round = 0; round < 3; ++round) {
    Graph graph;
    make(&graph, parent, without_last);
    if (graph.rank != ranks - 1) {
      call_often(&graph, 40, 1);
    }
    MPI_Comm_free(&graph.comm);
  }
}

static void unused(MPI_Comm parent) {
  for (int round = 0; round < 20; ++round) {
    Graph graph;
    make(&graph, parent, fan);
    if (round % 5 == 0) {
      call_often(&graph, 1, 1);
    }
    MPI_Comm_free(&graph.comm);
  }
}

static void few(MPI_Comm parent) {
  for (int round = 0; round < 12; ++round) {
    Graph graph;
    make(&graph, parent, fan);
    call_often(&graph, 12, 1 + round % 3);
    MPI_Comm_free(&graph.comm);
  }
}

static void late(MPI_Comm parent) {
  for (int round = 0; round < 10; ++round) {
    Graph graph;
    make(&graph, parent, round % 2 == 0 ? ring : fan);
    call_often(&graph, 8, 1);
    if (graph.rank == round % ranks) {
      nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    call_often(&graph, 1 + round % 3, 1);
    MPI_Comm_free(&graph.comm);
  }
}

static void other_calls(MPI_Comm parent) {
  Graph graph;
  make(&graph, parent, fan);
  for (int round = 0; round < 40; ++round) {
    enum { count = 5000 };
    static int in[count], out[count];
    for (int i = 0; i < count; ++i) {
      in[i] = graph.rank + round + i;
      out[i] = poison;
    }
    Call* call = malloc(sizeof *call);
    MPI_Request sum;
    start(call, &graph, round);
    MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, graph.comm, &sum);
    if (round % 2 == 0) {
      MPI_Barrier(graph.comm);
    }
    finish(call);
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) {
      if (out[i] != ranks * (ranks - 1) / 2 + ranks * (round + i)) {
        printf("FAILED: sum %d of round %d is %d\n", i, round, out[i]);
        ++failures;
        break;
      }
    }
    free(call);
  }
  MPI_Comm_free(&graph.comm);
}

static void pending(MPI_Comm parent) {
  if (is_open_mpi() && getenv("LD_PRELOAD") == NULL) {
    return; // Open MPI itself crashes
  }
  enum { calls = 3 };
  Call* call = malloc(calls * sizeof *call);
  for (int round = 0; round < 6; ++round) {
    Graph graph;
    make(&graph, parent, fan);
    call_often(&graph, 6, 1);
    for (int i = 0; i < calls; ++i) {
      start(&call[i], &graph, i + round);
    }
    MPI_Comm comm = graph.comm;
    MPI_Comm_free(&comm);
    for (int i = calls; i-- > 0;) {
      finish(&call[i]);
    }
  }
  free(call);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(MPI_Comm);
  } sections[] = {{"loop", loop},
                  {"many", many},
                  {"often", often},
                  {"other-order", other_order},
                  {"threads", in_threads},
                  {"parent-first", parent_first},
                  {"absent", absent},
                  {"unused", unused},
                  {"few", few},
                  {"late", late},
                  {"other-calls", other_calls},
                  {"pending", pending}};
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    size_t s = 0;
    while (s < sizeof sections / sizeof *sections && strcmp(argv[i], sections[s].name) != 0) {
      ++s;
    }
    if (s == sizeof sections / sizeof *sections || ranks > most_degree) {
      fprintf(stderr, "expected names of sections, and %d ranks at most\n", most_degree);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
      printf("%s\n", argv[i]);
      fflush(stdout);
    }
    MPI_Comm parent;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    sections[s].run(parent);
    MPI_Comm_free(&parent);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf(failures == 0 ? "ok\n" : "FAILED\n");
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
