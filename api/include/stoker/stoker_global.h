/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * stoker's global memory, the C door: a partitioned global address space over the ranks of an engine, whose ranks are called
 * units here. Units of one node reach each other's memory by loads and stores; between nodes the helpers carry puts, gets and
 * atomics, so that they complete whatever the target's application does meanwhile.
 *
 * After Zhou, Idrees and Gracia, "Leveraging MPI-3 Shared-Memory Extensions for Efficient PGAS Runtime Systems", 2015
 * (DART-MPI): memory that a node shares, nested in windows between the nodes, and global pointers whose segments a table
 * translates. Nonblocking transfers progress in the engine, within a node too, which that paper leaves to the future.
 *
 * Errors and their messages are those of stoker.h. Thread safety: any number of threads of a unit may call everything but the
 * collective functions and the release of a handle at the same time.
 *
 * Memory model. Within a node the memory is the hardware's, shared by all of its units: a blocking put is a store, and what
 * orders stores orders puts. Between nodes a blocking put is in the target's memory when it returns; two nonblocking transfers
 * are in no order until the first was waited for or flushed. Atomics of one datatype are atomic towards each other from
 * everywhere, and towards naturally aligned puts and gets of that size.
 *
 * While a domain is paused (stoker_pause) its memory is not reached from other nodes, unless one of its ranks waits for a transfer.
 */
#ifndef STOKER_STOKER_GLOBAL_H
#define STOKER_STOKER_GLOBAL_H

#include "stoker.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stoker_global_s* stoker_global;
typedef struct stoker_team_s* stoker_team;
typedef struct stoker_transfer_s* stoker_transfer;
#define STOKER_GLOBAL_NULL ((stoker_global)0)
#define STOKER_TEAM_NULL ((stoker_team)0)
#define STOKER_TRANSFER_NULL ((stoker_transfer)0)

/**
 * A global pointer: means the same on every unit, and may be sent in messages or kept in global memory. `offset` counts bytes
 * from the beginning of the unit's part of the segment. Arithmetic is on `offset`, and on `unit` to reach another one's part.
 */
typedef struct stoker_gptr {
  int32_t unit; /**< rank in the engine's communicator */
  uint32_t
      segment; /**< 0: of the unit's own allocations; else number of a collective allocation, unique in the engine */
  uint64_t offset;
} stoker_gptr;
#define STOKER_GPTR_NULL_UNIT (-1) /**< `unit` of a pointer to nothing */

/**
 * Makes memory of the engine's units addressable. Collective over the engine's communicator. `heap_bytes`: size of each unit's
 * predefined segment, from which stoker_global_allocate takes; equal on all. STOKER_ERR_UNSUPPORTED when there are several nodes and the
 * engine has no helpers, which carry everything between nodes.
 */
int stoker_global_create(stoker_engine engine, size_t heap_bytes, stoker_global* global);
/**
 * Collective. Frees its teams and all memory too. Transfers under way are completed first. Sets *global to null. What outlives the
 * global memory, or its engine, may still be released: teams, transfers, and the global memory itself; any other use of it
 * answers STOKER_ERR_REQUEST.
 */
int stoker_global_free(stoker_global* global);

/** Collective over `comm`, whose ranks are all units of `global`. */
int stoker_team_create(stoker_global global, MPI_Comm comm, stoker_team* team);
/** Collective over the team. Frees its allocations too. Sets *team to null. */
int stoker_team_free(stoker_team* team);
int stoker_team_size(stoker_team team, int* size);
/** The caller's number in the team, which is its rank in the team's communicator. */
int stoker_team_rank(stoker_team team, int* rank);
/** Number in the team -> unit. */
int stoker_team_unit(stoker_team team, int rank, int* unit);

/**
 * Allocates `bytes` on every unit of the team; equal on all. Collective over the team. *pointer is the beginning of the part of
 * the team's first unit; the others' parts: same segment, other unit. Cleared to zero, aligned to a page.
 */
int stoker_team_allocate(stoker_team team, size_t bytes, stoker_gptr* pointer);
/** Collective over the team. Pointers into it are refused from then on. */
int stoker_team_deallocate(stoker_team team, stoker_gptr pointer);

/** Allocates on the calling unit only, from its predefined segment. Local. Cleared to zero, aligned to a cache line. */
int stoker_global_allocate(stoker_global global, size_t bytes, stoker_gptr* pointer);
/** Local; on the unit that allocated. Others' accesses to what is freed, or was never allocated, are not recognised. */
int stoker_global_deallocate(stoker_global global, stoker_gptr pointer);

/** Where the calling process can load and store `bytes` at `pointer`; *address is NULL when it is on another node. */
int stoker_global_address(stoker_global global, stoker_gptr pointer, size_t bytes, void** address);

/** Blocking: complete at the target on return. `local` may lie anywhere. Ranges are checked always, in every build. */
int stoker_put(stoker_global global, stoker_gptr target, const void* local, size_t bytes);
int stoker_get(stoker_global global, void* local, stoker_gptr source, size_t bytes);

/**
 * Nonblocking: `local` belongs to stoker until the transfer is complete, which for a put means: at the target. Every transfer must
 * be completed by test or wait, which set *transfer to null; flushing does not release its handle. A transfer that is complete on
 * return has the null handle already, which test and wait accept. `transfer` may be NULL: then the transfer has no handle, and is
 * completed by a flush.
 */
int stoker_put_nb(stoker_global global, stoker_gptr target, const void* local, size_t bytes, stoker_transfer* transfer);
int stoker_get_nb(stoker_global global, void* local, stoker_gptr source, size_t bytes, stoker_transfer* transfer);
/**
 * A put that tells of itself: once its data are at the target, `signal`, an aligned 8-byte word of the same unit, gets `value`.
 * Whoever sees that, by stoker_wait_until or an acquire load, sees the data. Otherwise as stoker_put_nb.
 */
int stoker_put_signal_nb(stoker_global global, stoker_gptr target, const void* local, size_t bytes, stoker_gptr signal,
                         uint64_t value, stoker_transfer* transfer);
/**
 * Waits until the aligned 8-byte word, on the caller's node, compares so with `value`. The caller's time is used to carry what
 * comes from other nodes, so that this is quicker than a loop of loads.
 */
enum { STOKER_EQ, STOKER_NE, STOKER_GT, STOKER_GE, STOKER_LT, STOKER_LE };
int stoker_wait_until(stoker_global global, stoker_gptr word, int comparison, uint64_t value);

int stoker_transfer_test(stoker_transfer* transfer, int* flag);
int stoker_transfer_wait(stoker_transfer* transfer);
int stoker_transfer_waitall(int count, stoker_transfer transfers[]);
/** Completes the caller's transfers from and to one unit, or all of them. Returns the error of those without a handle. */
int stoker_flush(stoker_global global, int unit);
int stoker_flush_all(stoker_global global);

/**
 * Atomics on one element of a predefined integer or floating-point MPI datatype of 4 or 8 bytes, naturally aligned. `op`:
 * MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_REPLACE, MPI_NO_OP; MPI_BAND, MPI_BOR, MPI_BXOR for integers. Blocking.
 * fetch_and_op: *result is what was there before. compare_and_swap (integers): stores *desired where *expected was;
 * *result is what was there. accumulate: on each of `count` elements, without a result; atomic element by element.
 */
int stoker_fetch_and_op(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operand,
                        void* result);
int stoker_compare_and_swap(stoker_global global, stoker_gptr target, MPI_Datatype type, const void* expected,
                            const void* desired, void* result);
int stoker_accumulate(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operands,
                      size_t count);

/** What a unit's transfers and atomics were so far. `size` is set by the caller. */
typedef struct stoker_global_statistics {
  size_t size;
  uint64_t node_transfers, node_bytes; /**< put and get within the node */
  uint64_t wire_transfers, wire_bytes; /**< between nodes */
  uint64_t node_atomics, wire_atomics;
} stoker_global_statistics;
int stoker_global_get_statistics(stoker_global global, stoker_global_statistics* statistics);

#ifdef __cplusplus
}
#endif

#endif
