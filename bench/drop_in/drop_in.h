/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of drop-in share. */
#ifndef STOKER_BENCH_DROP_IN_H
#define STOKER_BENCH_DROP_IN_H

#include <mpi.h>

#include <stddef.h>
#include <stdio.h>

enum { most_samples = 4096 };

extern int rank;
extern int ranks;
extern FILE* out; /* of results */

void fail(const char* what);

/* Computation of so many units, for so long by the clock, and how many units take so long. */
void compute(long units);
void compute_for(double seconds);
long units_for(double seconds);

double* new_samples(void); /* most_samples of them, for free() */
/* The same number of samples on all ranks, for about so long. */
int samples_for(double seconds, double each);
void sort_samples(double* samples, int count);
/* Times of the slowest rank in each sample. */
double median_of_slowest(double* samples, int count);

struct Collective;
/* The collective of that place in the list; NULL behind the last. */
const struct Collective* collective_at(size_t index);
const char* name_of(const struct Collective* c);

/* The measurements. */
void overlap(const struct Collective* c, size_t bytes, double seconds);
void calls_on_heap(const struct Collective* c, size_t bytes, double seconds);
void calls_on_alloc_mem(const struct Collective* c, size_t bytes, double seconds);
void first_hundred_calls(const struct Collective* c, size_t bytes, double seconds);
void persistent(const struct Collective* c, size_t bytes, double seconds);
void heap_costs(double seconds);
void blocking_application(double seconds);
void call_costs(double seconds);
/* `computations`: a list, in microseconds. */
void short_reductions(size_t bytes, const char* computations, int first_only, double seconds);
void message_overlap(size_t bytes, double seconds);
void message_call_costs(double seconds);

struct TimedCall {
  const char* name;
  void (*call)(void);
};
/* Prints what each costs, made one after the other. */
void time_calls(const char* benchmark, const struct TimedCall* calls, int kinds, double seconds);

#endif
