/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges of long messages with computation, and what calls for messages cost. */
#include "drop_in.h"

#include <stdlib.h>

enum { warm_up_steps = 6, skipped_steps = 30 };

struct Pair {
  char* send;
  char* recv;
  int bytes;
  int partner;
};

/* Every rank exchanges a message with its partner. */
static double exchange_step(const struct Pair* pair, long units) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_Irecv(pair->recv, pair->bytes, MPI_CHAR, pair->partner, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(pair->send, pair->bytes, MPI_CHAR, pair->partner, 0, MPI_COMM_WORLD, &requests[1]);
  compute(units);
  MPI_Waitall(2, requests, statuses);
  return MPI_Wtime() - begin;
}

static double time_steps(const struct Pair* pair, long units, double* samples, int count) {
  for (int i = 0; i < count; ++i) {
    samples[i] = exchange_step(pair, units);
  }
  return median_of_slowest(samples, count);
}

static double time_units(long units, double* samples, int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    compute(units);
    samples[i] = MPI_Wtime() - begin;
  }
  return median_of_slowest(samples, count);
}

/* Units of computation that take so long where nobody disturbs it: the same on all ranks, by the quickest of some long ones. */
static long undisturbed_units_for(double seconds) {
  enum { attempts = 5 };
  long units = units_for(0.05);
  MPI_Bcast(&units, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  double least = 1e30;
  for (int i = 0; i < attempts; ++i) {
    const double begin = MPI_Wtime();
    compute(units);
    const double took = MPI_Wtime() - begin;
    least = took < least ? took : least;
  }
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return (long)((double)units * seconds / least);
}

static void check_messages(const struct Pair* pair) {
  for (int step = 0; step < warm_up_steps; ++step) {
    for (int i = 0; i < pair->bytes; ++i) {
      pair->send[i] = (char)(i + (7 * rank) + step);
      pair->recv[i] = (char)~(i + (7 * pair->partner) + step);
    }
    exchange_step(pair, 1000);
    for (int i = 0; i < pair->bytes; ++i) {
      if (pair->recv[i] != (char)(i + (7 * pair->partner) + step)) {
        fail("wrong data");
      }
    }
  }
}

void message_overlap(size_t bytes, double seconds) {
  const struct Pair pair = {malloc(bytes), malloc(bytes), (int)bytes, rank ^ 1};
  if (pair.send == NULL || pair.recv == NULL || ranks % 2 != 0) {
    fail(ranks % 2 != 0 ? "the number of ranks is odd" : "out of memory");
  }
  double* samples = new_samples();
  check_messages(&pair);
  double exchange = time_steps(&pair, 0, samples, 5);
  const int count = samples_for(seconds / 4, exchange);
  exchange = time_steps(&pair, 0, samples, count);
  const long units = undisturbed_units_for(exchange);
  const double computation = time_units(units, samples, count);
  time_steps(&pair, units, samples, skipped_steps); /* the library may still be finding out whether it helps */
  const double overall = time_steps(&pair, units, samples, count);
  if (rank == 0) {
    const double longer = computation > exchange ? computation : exchange;
    fprintf(out,
            "{\"benchmark\":\"drop-in messages\",\"bytes\":%zu,\"ranks\":%d,\"samples\":%d,\"exchange_us\":%.2f,"
            "\"computation_us\":%.2f,\"overall_us\":%.2f,\"efficiency\":%.4f}\n",
            bytes, ranks, count, 1e6 * exchange, 1e6 * computation, 1e6 * overall, longer / overall);
    fflush(out);
  }
  free(samples);
  free(pair.send);
  free(pair.recv);
}

static char message[64];

static void send_and_receive(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(message, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(message + 32, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &requests[1]);
  MPI_Waitall(2, requests, statuses);
}
static void send_to_nobody(void) {
  MPI_Request request;
  MPI_Isend(message, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void test_nothing(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 0;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

void message_call_costs(double seconds) {
  static const struct TimedCall calls[] = {{"MPI_Irecv, MPI_Isend, MPI_Waitall", send_and_receive},
                                           {"MPI_Isend to nobody, MPI_Wait", send_to_nobody},
                                           {"MPI_Test of a null request", test_nothing}};
  time_calls("drop-in message calls", calls, sizeof calls / sizeof calls[0], seconds);
}
