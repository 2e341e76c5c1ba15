/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * stoker's global memory: the C interface to a partitioned global address space over the ranks of an engine, which are
 * called units here. Units of one node reach each other's memory by loads and stores. Between nodes the helpers carry
 * puts, gets and atomics, so that they complete whatever the target's application does meanwhile. docs/global-memory.md
 * has more.
 *
 * After Zhou, Idrees and Gracia, "Leveraging MPI-3 Shared-Memory Extensions for Efficient PGAS Runtime Systems", 2015
 * (DART-MPI): memory that a node shares, nested in windows between the nodes, and global pointers whose segments a
 * table translates. Different from the paper: nonblocking transfers progress in the engine, within a node too.
 *
 * Return values, messages and codes are those of stoker.h. STOKER_ERR_REQUEST means that a handle is not live, or that
 * the global memory is freed or its engine destroyed. STOKER_ERR_ARGUMENT means a null pointer where there are data, or
 * a global pointer whose unit, segment, range or alignment is wrong; ranges are checked in every build. The functions
 * that move data between nodes also return STOKER_ERR_MPI, STOKER_ERR_ACCESS, STOKER_ERR_RESOURCE, or
 * STOKER_ERR_PEER_LOST when the process that hosts the caller's helper is gone. Comments below name further errors
 * only.
 *
 * Threads. Any number of threads of a unit may call everything at the same time, with two exceptions: a collective
 * function on one global memory or team, and any use of one transfer handle, belong to one thread at a time; and a
 * handle must not be released while another thread uses it. Functions are local unless they say that they are
 * collective.
 *
 * Memory model. Within a node the memory is the hardware's, shared by all units of the node: a blocking put is a store,
 * and what orders stores orders puts. Between nodes a blocking put is in the target's memory when it returns; two
 * nonblocking transfers are in no order until the first was waited for or flushed. Atomics are sequentially consistent.
 * Those of one datatype are atomic towards each other from everywhere, and towards naturally aligned puts and gets of
 * that size; but not, with the setting rma=window, towards puts and gets between nodes.
 *
 * Local buffers of transfers must be in the memory of the host; one of a device is STOKER_ERR_ARGUMENT where the helper
 * would have to reach it.
 *
 * While a domain is paused (stoker_pause) its memory is not reached from other nodes, unless one of its ranks waits for
 * a transfer.
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
 * A global pointer: a value that means the same on every unit, and may be sent in messages or kept in global memory.
 * Arithmetic is on `offset`, and on `unit` to reach another unit's part of the segment.
 */
typedef struct stoker_gptr {
  int32_t unit;     /**< rank in the engine's communicator */
  uint32_t segment; /**< 0: the unit's own allocations; else a collective allocation, by its number in the engine */
  uint64_t offset;  /**< bytes from the beginning of the unit's part of the segment */
} stoker_gptr;
#define STOKER_GPTR_NULL_UNIT (-1) /**< `unit` of a pointer to nothing */

/**
 * Creates a global memory over all units of an engine. Collective over the engine's communicator.
 *
 * heap_bytes: size of each unit's part of the predefined segment 0, from which stoker_global_allocate takes; equal on
 * all units; may be 0.
 * global: set to the new handle, which the caller releases with stoker_global_free.
 * Errors: STOKER_ERR_MISMATCH (heap_bytes differs), STOKER_ERR_RESOURCE, and STOKER_ERR_UNSUPPORTED if there are
 * several nodes but no helpers, or if rma=window is set and MPI has no such windows.
 */
int stoker_global_create(stoker_engine engine, size_t heap_bytes, stoker_global* global);

/**
 * Frees a global memory with its teams and all memory in it, and sets *global to null. Collective over the engine's
 * communicator. The caller's transfers are completed first. Handles of teams and transfers that are left may still be
 * released, in any order; any other use of them returns STOKER_ERR_REQUEST. Returns the error of a transfer that nobody
 * has asked for; the memory is freed all the same.
 */
int stoker_global_free(stoker_global* global);

/**
 * Creates a team: the units that allocate together. Collective over `comm`, whose ranks are all units of `global`; it
 * is duplicated, and may be freed afterwards. team: set to the new handle, to be released with stoker_team_free.
 */
int stoker_team_create(stoker_global global, MPI_Comm comm, stoker_team* team);

/**
 * Frees a team with its allocations, and sets *team to null. Collective over the team. All of the caller's transfers
 * are completed first. After the global memory is freed this only releases the handle, and is local.
 */
int stoker_team_free(stoker_team* team);

/** Sets *size to the number of units in the team. */
int stoker_team_size(stoker_team team, int* size);

/** Sets *rank to the caller's number in the team, which is its rank in the communicator that made the team. */
int stoker_team_rank(stoker_team team, int* rank);

/** Sets *unit to the unit with number `rank` in the team, 0 to size - 1. */
int stoker_team_unit(stoker_team team, int rank, int* unit);

/**
 * Allocates a segment: `bytes` on every unit of the team, equal on all. Collective over the team. *pointer is the
 * beginning of the part of the team's first unit; the parts of the others have the same segment and offset, and another
 * unit. The memory is cleared to zero and aligned to a page. It lives until stoker_team_deallocate, or until the team
 * or the global memory is freed. Errors: STOKER_ERR_MISMATCH (bytes differs), STOKER_ERR_RESOURCE.
 */
int stoker_team_allocate(stoker_team team, size_t bytes, stoker_gptr* pointer);

/**
 * Frees a segment of the team's. Collective over the team. pointer: its beginning, of any unit. All of the caller's
 * transfers are completed first. Pointers into the segment are refused from then on. Errors: STOKER_ERR_MISMATCH
 * (different segments).
 */
int stoker_team_deallocate(stoker_team team, stoker_gptr pointer);

/**
 * Allocates `bytes` on the calling unit only, from its part of segment 0. The memory is cleared to zero and aligned to
 * a cache line. It lives until stoker_global_deallocate, or until the global memory is freed. Errors:
 * STOKER_ERR_RESOURCE (heap_bytes is used up).
 */
int stoker_global_allocate(stoker_global global, size_t bytes, stoker_gptr* pointer);

/**
 * Frees memory from stoker_global_allocate, on the unit that allocated it. Accesses of other units to memory in segment
 * 0 that is freed, or was never allocated, are not recognised as errors.
 */
int stoker_global_deallocate(stoker_global global, stoker_gptr pointer);

/**
 * Sets *address to where the calling process can load and store `bytes` at `pointer`; to NULL if they are on another
 * node. The address is valid until the memory is freed.
 */
int stoker_global_address(stoker_global global, stoker_gptr pointer, size_t bytes, void** address);

/**
 * Copies `bytes` from `local` to `target`. Blocking: the data are in the target's memory on return. local: any memory
 * of the calling process; may be NULL if bytes is 0.
 */
int stoker_put(stoker_global global, stoker_gptr target, const void* local, size_t bytes);

/** Copies `bytes` from `source` to `local`. Blocking: the data are in `local` on return. Otherwise as stoker_put. */
int stoker_get(stoker_global global, void* local, stoker_gptr source, size_t bytes);

/**
 * Begins a put. `local` belongs to stoker until the transfer is complete, which means for a put that the data are in
 * the target's memory.
 *
 * transfer: set to a handle, which must be released by transfer_test, transfer_wait or transfer_waitall; a flush
 * completes the transfer, but leaves the handle. If the transfer is complete on return the handle is null, which these
 * functions accept. transfer may be NULL: then there is no handle, and the transfer is completed by a flush or when the
 * global memory is freed.
 *
 * The call may complete the transfer itself: up to 4 KiB within the node; more than 1 MiB from memory that the helper
 * cannot reach. It waits for the oldest transfer without a handle while there are 1024 of these.
 */
int stoker_put_nb(stoker_global global, stoker_gptr target, const void* local, size_t bytes, stoker_transfer* transfer);

/** Begins a get. `local` must not be touched until the transfer is complete. Otherwise as stoker_put_nb. */
int stoker_get_nb(stoker_global global, void* local, stoker_gptr source, size_t bytes, stoker_transfer* transfer);

/**
 * Begins a put with a signal: once the data are in the target's memory, the word `signal` is set to `value`. signal: an
 * aligned 8-byte word of the same unit as target. Whoever sees the value, by stoker_wait_until or an acquire load, sees
 * the data. Otherwise as stoker_put_nb.
 */
int stoker_put_signal_nb(stoker_global global, stoker_gptr target, const void* local, size_t bytes, stoker_gptr signal,
                         uint64_t value, stoker_transfer* transfer);

/** How stoker_wait_until compares the word, on the left, with the value, as unsigned numbers: == != > >= < <=. */
enum { STOKER_EQ, STOKER_NE, STOKER_GT, STOKER_GE, STOKER_LT, STOKER_LE };

/**
 * Waits until an aligned 8-byte word on the caller's node compares with `value` as `comparison` says (STOKER_EQ to
 * STOKER_LE). Meanwhile the calling thread carries what comes from other nodes if its process hosts the helper, which
 * is quicker than a loop of loads. Waits for ever if nobody stores such a value, also when the process that should is
 * gone.
 */
int stoker_wait_until(stoker_global global, stoker_gptr word, int comparison, uint64_t value);

/**
 * Tests whether a transfer is complete. If so *flag is 1, the handle is released, *transfer is set to null, and the
 * transfer's error is returned; else *flag is 0. A null handle is complete.
 */
int stoker_transfer_test(stoker_transfer* transfer, int* flag);

/** Waits until a transfer is complete, releases its handle, sets *transfer to null and returns the transfer's error. */
int stoker_transfer_wait(stoker_transfer* transfer);

/**
 * Does that for `count` transfers, null ones included; transfers may be NULL if count is 0. Every one is completed,
 * also behind one that fails, and the first error is returned; it names the index.
 */
int stoker_transfer_waitall(int count, stoker_transfer transfers[]);

/**
 * Completes the caller's transfers from and to `unit` that were begun before, by any thread. Returns the first error of
 * those without a handle since the last flush; those with one keep their error and their handle.
 */
int stoker_flush(stoker_global global, int unit);

/** The same for all units. */
int stoker_flush_all(stoker_global global);

/**
 * Atomic operations. These are blocking: complete at the target on return.
 *
 * target: an element, aligned to its size. type: a predefined integer or floating-point MPI datatype of 4 or 8 bytes.
 * op: MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_REPLACE or MPI_NO_OP; for integers also MPI_BAND, MPI_BOR and MPI_BXOR.
 * Signed integers wrap around. STOKER_ERR_ARGUMENT for any other type or op.
 */

/**
 * Replaces the element by `element op *operand`, and sets *result to what it was. operand may be NULL for MPI_NO_OP.
 */
int stoker_fetch_and_op(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operand,
                        void* result);

/** Replaces the element by *desired if it equals *expected, and sets *result to what it was. Integers only. */
int stoker_compare_and_swap(stoker_global global, stoker_gptr target, MPI_Datatype type, const void* expected,
                            const void* desired, void* result);

/**
 * Combines `count` consecutive elements with as many operands, each atomically; the whole is not atomic. operands may
 * be NULL if count is 0 or op is MPI_NO_OP, which both do nothing.
 */
int stoker_accumulate(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operands,
                      size_t count);

/**
 * Begins a fetch-and-op. Nonblocking atomics to other nodes set out together: when the caller waits for one, tests it
 * or flushes, when there are many of them, or when the helper next looks for itself, whichever is first. So many updates
 * travel in few messages. Handles, and a null `transfer`, are as in stoker_put_nb. Two nonblocking operations are in no order until
 * the first is complete, not even on the same element.
 *
 * Operands are read before the call returns, but for those of stoker_accumulate_nb, which belong to stoker until the
 * transfer is complete. *result is set when the transfer is completed by its handle or a flush, and must not be touched
 * before.
 */
int stoker_fetch_and_op_nb(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operand,
                           void* result, stoker_transfer* transfer);

/** Begins a compare-and-swap. Otherwise as stoker_fetch_and_op_nb. */
int stoker_compare_and_swap_nb(stoker_global global, stoker_gptr target, MPI_Datatype type, const void* expected,
                               const void* desired, void* result, stoker_transfer* transfer);

/** Begins an accumulate of `count` elements. Otherwise as stoker_fetch_and_op_nb. */
int stoker_accumulate_nb(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operands,
                         size_t count, stoker_transfer* transfer);

/**
 * Many accumulates in one call: element targets[i] by operands[i], for i from 0 to count - 1, in no order. Blocking. All
 * targets are checked before the first is updated; the error of one names its index.
 *
 * targets: elements of any units, also equal ones.
 * operands: may be NULL for MPI_NO_OP.
 */
int stoker_accumulate_many(stoker_global global, const stoker_gptr targets[], MPI_Datatype type, MPI_Op op,
                           const void* operands, size_t count);

/**
 * Many fetch-and-ops in one call: as stoker_accumulate_many, and sets results[i] to what element targets[i] was before
 * its update.
 */
int stoker_fetch_and_op_many(stoker_global global, const stoker_gptr targets[], MPI_Datatype type, MPI_Op op,
                             const void* operands, void* results, size_t count);

/**
 * What the calling unit has transferred so far. The caller sets `size` to sizeof(stoker_global_statistics) before the
 * call.
 */
typedef struct stoker_global_statistics {
  size_t size;
  uint64_t node_transfers, node_bytes; /**< puts and gets within the node, and their bytes */
  uint64_t wire_transfers, wire_bytes; /**< puts and gets between nodes, and their bytes */
  uint64_t node_atomics, wire_atomics; /**< atomic operations, one for each element */
} stoker_global_statistics;

/** Fills *statistics. Errors: STOKER_ERR_ARGUMENT (a null pointer, too small a size). */
int stoker_global_get_statistics(stoker_global global, stoker_global_statistics* statistics);

#ifdef __cplusplus
}
#endif

#endif
