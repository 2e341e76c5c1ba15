/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * stoker, an asynchronous progress engine for MPI collectives: the C interface.
 *
 * An engine is created collectively over a communicator. Persistent collective requests are initialised on it, and then
 * started, tested and waited for like MPI's own. They make progress while the application computes, because each NUMA
 * domain has a progress thread, its helper, that executes them. Without helpers each rank executes its requests itself,
 * inside the functions below ("inline"). docs/glossary.md explains the words, docs/how-it-works.md the machinery.
 *
 * The rules that follow hold for every function. The comment of a function says what it does beyond them.
 *
 * States of a request (after MPI-4.1 section 3.9, persistent communication requests):
 *
 *   state     begins when                           the application may touch   legal calls
 *   inactive  init returns; test or wait completes  every buffer                start, free; test and wait return at
 *             the request                                                       once
 *   active    start returns                         send buffers, to read       test, wait, wait_on
 *   complete  the last step of the epoch is done    send buffers, to read       test, wait: these make it inactive
 *   broken    a process that the request depends    send buffers, to read       free; test and wait, which return
 *             on is found gone, or its shared                                   STOKER_ERR_PEER_LOST
 *             memory overwritten; or one of its messages was refused by the MPI library
 *   freed     stoker_request_free returns           every buffer                none: STOKER_ERR_REQUEST
 *
 * Every call that the table does not name returns STOKER_ERR_STATE and changes nothing. stoker_request_statistics is
 * legal in every state but freed. One start with the completion that belongs to it is called an epoch. The receive
 * buffer of a broken request stays undefined, also after free: a process that is still alive may write to it.
 *
 * Return values. Every function but the two that return text returns STOKER_SUCCESS or one of the codes below. A
 * function that fails leaves a message, which stoker_error_message() returns: it names the rank, the argument and what
 * was expected.
 *
 * Collective functions say so; all others are local: they never wait for a call of another rank, except where their
 * comment says so. All ranks of the communicator call a collective function, in the same order on every rank, as MPI
 * demands. It returns an error on all ranks if it fails on one, with two exceptions, which a rank finds before it
 * speaks to the others, so that these wait: a null output pointer or dead handle, and a communicator that MPI would
 * refuse.
 *
 * Threads. Different threads may use different requests at the same time, as far as the thread level of MPI allows
 * calls of MPI there. One request may be used by one thread at a time. So may one engine in create, destroy, pause and
 * resume. Collective functions on one communicator are called by one thread at a time.
 */
#ifndef STOKER_STOKER_H
#define STOKER_STOKER_H

#include <mpi.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STOKER_VERSION_MAJOR 0
#define STOKER_VERSION_MINOR 1
#define STOKER_VERSION_PATCH 0

enum {
  STOKER_SUCCESS = 0,
  STOKER_ERR_ARGUMENT = 1,     /**< an argument is null, negative, overlapping, ... */
  STOKER_ERR_REQUEST = 2,      /**< not a live handle: null, freed, foreign, or of a destroyed engine */
  STOKER_ERR_STATE = 3,        /**< not legal in this state: start or free of an active request, MPI not initialised */
  STOKER_ERR_UNSUPPORTED = 4,  /**< an intercommunicator; a setting that this build or machine cannot serve at all */
  STOKER_ERR_MISMATCH = 5,     /**< ranks disagree: counts, the choice of algorithm, the settings of an engine */
  STOKER_ERR_RESOURCE = 6,     /**< memory, shared memory, cores or tags are exhausted */
  STOKER_ERR_SETTING = 7,      /**< unknown key or bad value in the settings or in an info object */
  STOKER_ERR_THREAD_LEVEL = 8, /**< helpers were demanded, but MPI does not provide MPI_THREAD_MULTIPLE */
  STOKER_ERR_MPI = 9,          /**< an MPI call failed, in this call or earlier in a helper */
  STOKER_ERR_ACCESS = 10,      /**< a rank's memory cannot be reached: cross-memory attach is refused, ... */
  STOKER_ERR_PEER_LOST = 11 /**< a process that the request depends on is gone, or its shared memory was overwritten */
};

/**
 * Opaque handles. A handle keeps its value from creation to release. Every function checks it, and refuses a null,
 * freed or foreign one with STOKER_ERR_REQUEST.
 */
typedef struct stoker_engine_s* stoker_engine;
typedef struct stoker_request_s* stoker_request;
#define STOKER_ENGINE_NULL ((stoker_engine)0)
#define STOKER_REQUEST_NULL ((stoker_request)0)

/**
 * One setting. The same keys name settings everywhere: here, in the environment (STOKER_ and the key in capitals), in
 * the settings file, and in the output of `stoker info`. The strongest source counts: the call that creates the engine,
 * then the environment, then the TOML file that STOKER_SETTINGS_FILE names, then the default. docs/settings.md lists
 * all keys.
 */
typedef struct stoker_setting {
  const char* key;   /**< e.g. "executor" */
  const char* value; /**< e.g. "inline" */
} stoker_setting;

/**
 * A short text for an error code, in static storage. Any thread may call it at any time, also without MPI. Never NULL.
 */
const char* stoker_error_string(int code);

/**
 * The message of the calling thread's last failed call; empty before the first failure. The storage belongs to stoker
 * and is valid until this thread's next stoker call. May be called at any time, also without MPI. Never NULL.
 */
const char* stoker_error_message(void);

/**
 * Creates an engine, and starts the helpers where there are to be any. Collective over `comm`.
 *
 * comm: an intracommunicator. The engine duplicates it; the caller may free it afterwards.
 * settings: `count` pairs of key and value, equal on all ranks; may be NULL when count is 0. They are copied.
 * engine: set to the new engine, which the caller releases with stoker_engine_destroy.
 *
 * MPI must be initialised. If a rank's MPI provides less than MPI_THREAD_MULTIPLE the engine has no helpers, and rank 0
 * says so in one line on standard error.
 *
 * Errors: STOKER_ERR_ARGUMENT (a null pointer, or MPI_COMM_NULL), STOKER_ERR_UNSUPPORTED (an intercommunicator),
 * STOKER_ERR_STATE (MPI is not initialised, or finalised), STOKER_ERR_SETTING, STOKER_ERR_MISMATCH (settings differ
 * between ranks), STOKER_ERR_THREAD_LEVEL (executor=engine without MPI_THREAD_MULTIPLE), STOKER_ERR_RESOURCE (shared
 * memory, or the cores that `reserve` names), STOKER_ERR_ACCESS (access=cma where it is refused), STOKER_ERR_MPI.
 */
int stoker_engine_create(MPI_Comm comm, const stoker_setting* settings, size_t count, stoker_engine* engine);

/**
 * Destroys an engine and sets *engine to STOKER_ENGINE_NULL. Collective over the engine's communicator.
 *
 * Requests that are still active are completed first, and global memories are closed. Requests and memory may outlive
 * their engine: they may still be freed, in any order, and any other use of them returns STOKER_ERR_REQUEST. An engine
 * that is left over is destroyed inside MPI_Finalize.
 *
 * Errors: STOKER_ERR_REQUEST, or the error with which a request or transfer completed. The engine is destroyed in the
 * second case, too.
 */
int stoker_engine_destroy(stoker_engine* engine);

/**
 * Pauses, and resumes, the helper of the calling rank's domain. Local; either call holds for all ranks of the domain,
 * and takes effect before it returns, except that a helper finishes the round of work that it is in.
 *
 * A paused helper works for nobody and uses no processor time. Requests can be started and still complete: a rank that
 * waits makes the progress that it needs itself, or makes the helper work for as long as it waits. Without helpers both
 * calls do nothing. They do not nest. Errors: STOKER_ERR_REQUEST.
 */
int stoker_pause(stoker_engine engine);
int stoker_resume(stoker_engine engine);

/**
 * Allocates memory that all processes of the node, and so all its helpers, reach directly: contiguous data in it are
 * not copied on the way to a helper. Local; any thread.
 *
 * bytes: size; 0 is allowed, and is released like any other.
 * memory: set to the address, a multiple of the page size, on this rank's NUMA node where the system allows. The
 * contents are undefined. The caller owns the memory until stoker_dealloc, which may come after the engine is
 * destroyed.
 *
 * Errors: STOKER_ERR_ARGUMENT, STOKER_ERR_REQUEST, STOKER_ERR_RESOURCE (the rank's segment, whose size is the setting
 * arena_bytes, or the machine's shared memory is exhausted).
 */
int stoker_alloc(stoker_engine engine, size_t bytes, void** memory);

/**
 * Gives memory from stoker_alloc back. Local; any thread. No request that has not been freed may use it. NULL is
 * allowed and does nothing. Errors: STOKER_ERR_ARGUMENT (memory is not, or no longer, from stoker_alloc).
 */
int stoker_dealloc(void* memory);

/**
 * Init functions: what all of them have in common
 *
 * stoker_<name>_init creates an inactive request for the collective of MPI's function MPI_<Name>_init, and takes its
 * arguments in the same order and meaning (MPI-4.1 section 6.13; neighborhoods: chapter 8). The form with _c has counts
 * of type MPI_Count and displacements of type MPI_Aint, and is the same otherwise. All are collective over `comm`.
 *
 * comm: an intracommunicator whose ranks are all ranks of the engine's communicator, in any order.
 * info: MPI_INFO_NULL, or an info object that holds any of these keys, with equal values on all ranks:
 *         stoker_algorithm      name with parameters, as in "radix:r=4"; `stoker info` lists them
 *         stoker_executor       "auto", "engine" (helpers), "inline", or "device": kernels of the devices that all
 *                               buffers of all ranks are on (docs/devices.md), which auto takes where it can
 *         stoker_deterministic  "1" or "0": whether only algorithms are allowed that combine operands in an order which
 *                               depends on nothing but the number of ranks; overrides the setting `deterministic`
 *         stoker_starts         how often the request will be started, a number from 1. Where the algorithm is the cost
 *                               model's choice, init and so many starts together are to take the least time
 *       This key is MPI-4.1's (section 11.4.3), and ranks may differ in it:
 *         mpi_assert_memory_alloc_kinds  kinds of memory that the buffers have. If all of them are "system" or
 *                               "mpi", no driver of a device is asked where the buffers are, and a
 *                               buffer on a device is an error that nobody sees
 * engine: a live engine.
 * request: set to the new request, which the caller releases with stoker_request_free.
 *
 * Buffers belong to the caller, and must stay where they are until the request is freed. They may be in the memory of
 * a CUDA device, whose work on them must be complete before start (docs/devices.md), and NULL where there are no data.
 * Send buffers are only read. The send and receive blocks of one rank must not overlap, nor must its receive blocks;
 * this is checked where the datatypes have no gaps. Counts are in elements of the datatype beside them, displacements
 * in extents of it. Arrays of them are copied. Datatypes must be committed, and may be freed as soon as init returns.
 * sendbuf may be MPI_IN_PLACE only where the function says so; sendcount(s), sdispls and sendtype are then ignored.
 * Arguments that are significant at the root only are ignored on the other ranks.
 *
 * Errors, on all ranks of `comm` but for the two exceptions above:
 *   STOKER_ERR_ARGUMENT     a null buffer where there are data, a null array, a negative count, overlapping blocks, a
 *                           root that is no rank of comm, MPI_IN_PLACE where it is not allowed, an operation that MPI
 *                           does not define for the datatype, a rank of comm that is none of the engine's
 *   STOKER_ERR_MISMATCH     ranks disagree on the collective, root, operation, kind of elements, sizes, MPI_IN_PLACE or
 *                           an info value
 *   STOKER_ERR_SETTING      an info key has a bad value; a setting's list of factors does not fit the number of ranks;
 *                           the algorithm does not fit the operation or a deterministic request
 *   STOKER_ERR_UNSUPPORTED  an intercommunicator; stoker_executor=engine without helpers or with an operation of
 *                           MPI_Op_create, or on a device with such an operation on a datatype with gaps;
 *                           stoker_executor=device where the kernel cannot carry the request out (also
 *                           STOKER_ERR_ACCESS, where its buffers are the reason); Fortran's 16-byte numbers;
 *                           rma=window where MPI has no such windows
 *   STOKER_ERR_ACCESS       the setting `access` demands a way to reach a buffer that does not exist
 *   STOKER_ERR_RESOURCE     memory or message tags are exhausted
 *   STOKER_ERR_REQUEST      the engine is not a live one
 *   STOKER_ERR_MPI          an MPI call failed
 */

/**
 * All-to-all (MPI_Alltoall_init). sendbuf: comm size blocks of sendcount elements, block i for rank i. recvbuf: comm
 * size blocks of recvcount elements, block i from rank i. sendbuf may be MPI_IN_PLACE, on all ranks or none: the blocks
 * to send then lie in recvbuf, and are replaced by those that arrive.
 */
int stoker_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                         stoker_request* request);
int stoker_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           stoker_engine engine, stoker_request* request);

/**
 * All-to-all with counts (MPI_Alltoallv_init). The four arrays hold comm size entries. sendbuf may be MPI_IN_PLACE, on
 * all ranks or none: recvcounts and rdispls then describe both directions.
 */
int stoker_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                          void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            stoker_engine engine, stoker_request* request);

/**
 * Neighborhood all-to-all (MPI_Neighbor_alltoall_init) on a communicator with a Cartesian, graph or distributed graph
 * topology. sendbuf: a block of sendcount elements for each destination; recvbuf: a block of recvcount elements for
 * each source; both in MPI's order. Blocks for and from MPI_PROC_NULL are left alone. In a grid, what is sent in one
 * direction arrives from the opposite one, also where both neighbors are the same rank. MPI_IN_PLACE is not allowed.
 * Errors beyond the common ones: STOKER_ERR_ARGUMENT if comm has no topology; STOKER_ERR_MISMATCH if only one end knows
 * of an edge, or its two ends differ in size.
 */
int stoker_neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  stoker_engine engine, stoker_request* request);
int stoker_neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                    stoker_engine engine, stoker_request* request);

/**
 * Neighborhood all-to-all with counts (MPI_Neighbor_alltoallv_init). sendcounts and sdispls hold an entry for each
 * destination, recvcounts and rdispls for each source. Blocks to send may overlap, or be the same: with the algorithm
 * locality-aware, data that several ranks of one node need are sent to that node once. Otherwise as neighbor_alltoall.
 */
int stoker_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                   stoker_request* request);
int stoker_neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                     MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                     const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                     stoker_engine engine, stoker_request* request);

/**
 * Operations and their datatypes, in the functions that combine
 *
 * `op` is one of MPI's operations, on a datatype for which MPI defines it; or one from MPI_Op_create, which must live
 * until the request is freed. The latter is called in start, test and wait of its own process, by the threads that call
 * these, since such requests are executed inline. It may be used with datatypes of MPI_Type_create_*; elements with
 * gaps are handed to it in copies, and the gaps of recvbuf keep their contents.
 */

/**
 * Reduction to all ranks (MPI_Allreduce_init). sendbuf: `count` elements, the operand. recvbuf: `count` elements, the
 * result. sendbuf may be MPI_IN_PLACE, on all ranks or none: recvbuf then holds the operand.
 */
int stoker_allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_allreduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Reduction to one rank (MPI_Reduce_init). As allreduce, but recvbuf is significant at the root only. sendbuf may be
 * MPI_IN_PLACE at the root: recvbuf then holds its operand. root: a rank of comm, equal on all ranks.
 */
int stoker_reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                       MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_reduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         int root, MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Broadcast (MPI_Bcast_init). buffer: `count` elements, read at the root and written on the other ranks. Counts and
 * datatypes may differ between ranks if they describe the same number of bytes. root: a rank of comm, equal on all
 * ranks.
 */
int stoker_bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                      stoker_engine engine, stoker_request* request);
int stoker_bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                        stoker_engine engine, stoker_request* request);

/**
 * Reduction whose result is dealt out in blocks (MPI_Reduce_scatter_init). recvcounts: comm size entries, equal on all
 * ranks.
 * sendbuf: the operand, the blocks for ranks 0, 1, ... one behind the other. recvbuf: this rank's block of the result,
 * recvcounts[rank] elements. sendbuf may be MPI_IN_PLACE, on all ranks or none: recvbuf then has room for all blocks
 * and holds the operand; afterwards its first recvcounts[rank] elements are the result and the rest is undefined.
 */
int stoker_reduce_scatter_init(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                               MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_reduce_scatter_init_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                 stoker_request* request);

/** The same with equal blocks of recvcount elements (MPI_Reduce_scatter_block_init). */
int stoker_reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                     MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                     stoker_request* request);
int stoker_reduce_scatter_block_init_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                       MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                       stoker_request* request);

/**
 * Gathers a block of each rank on all ranks (MPI_Allgather_init). sendbuf: this rank's block, sendcount elements.
 * recvbuf:
 * comm size blocks of recvcount elements, block i from rank i. sendbuf may be MPI_IN_PLACE, on all ranks or none: this
 * rank's block then lies in its place in recvbuf.
 */
int stoker_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                          stoker_request* request);
int stoker_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            stoker_engine engine, stoker_request* request);

/**
 * The same with blocks of different sizes (MPI_Allgatherv_init). recvcounts and displs hold comm size entries. The
 * block sizes in bytes that recvcounts and recvtype describe must be equal on all ranks; displs may differ.
 */
int stoker_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                           MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Gathers a block of each rank at the root (MPI_Gather_init). sendbuf: this rank's block, sendcount elements. recvbuf:
 * comm size blocks of recvcount elements, block i from rank i; recvbuf, recvcount and recvtype are significant at the
 * root only. sendbuf may be MPI_IN_PLACE at the root: its block then lies in its place in recvbuf. root: equal on all
 * ranks.
 */
int stoker_gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                       MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                       stoker_request* request);
int stoker_gather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         stoker_engine engine, stoker_request* request);

/**
 * The same with blocks of different sizes (MPI_Gatherv_init). recvcounts and displs hold comm size entries; both,
 * recvbuf and recvtype are significant at the root only.
 */
int stoker_gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
                        MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_gatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Deals the root's blocks out (MPI_Scatter_init). sendbuf: comm size blocks of sendcount elements, block i for rank i;
 * sendbuf, sendcount and sendtype are significant at the root only. recvbuf: this rank's block, recvcount elements.
 * recvbuf, not sendbuf, may be MPI_IN_PLACE at the root: its block then stays where it is, and recvcount and recvtype
 * are ignored.
 * root: equal on all ranks.
 */
int stoker_scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                        MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                        stoker_request* request);
int stoker_scatter_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                          stoker_engine engine, stoker_request* request);

/**
 * The same with blocks of different sizes (MPI_Scatterv_init). sendcounts and displs hold comm size entries; both,
 * sendbuf and sendtype are significant at the root only.
 */
int stoker_scatterv_init(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                         void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         stoker_engine engine, stoker_request* request);
int stoker_scatterv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                           MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                           MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** Barrier (MPI_Barrier_init). An epoch is complete on no rank before every rank has started it. */
int stoker_barrier_init(MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Inclusive prefix reduction (MPI_Scan_init). sendbuf: `count` elements, the operand. recvbuf: `count` elements, the
 * operands of ranks 0 to this one combined. sendbuf may be MPI_IN_PLACE, on all ranks or none: recvbuf then holds the
 * operand.
 */
int stoker_scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_scan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Exclusive prefix reduction (MPI_Exscan_init). As scan, but recvbuf gets the operands of ranks 0 to the one before
 * this. On rank 0 recvbuf keeps its contents.
 */
int stoker_exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_exscan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Starts an epoch of an inactive request. Local. Requests may be started in any order, a different one on each rank.
 *
 * With helpers: pushes an entry into this rank's submission queue. It first packs or copies send buffers that the
 * helper cannot reach (stoker_statistics::send_access "staged"); data of a derived datatype are packed by MPI_Pack. It
 * takes a lock that only starts of other threads of this process contend for, and makes at most one system call, to
 * wake a helper that sleeps. While the application's tests keep this process's helper asleep (see stoker_test) it does
 * a round of the helper's work instead. While the queue is full it waits for the helper, or does the helper's work
 * where this process hosts it; no start is ever dropped. If waking the helper was seen not to pay for this request, the
 * work is left to test and wait, or to the helper's next look, at most 20 ms later; the setting wake=always wakes it
 * every time.
 *
 * Inline: executes the steps that can run at once, with calls of MPI. The request then makes progress only inside
 * start, test and wait of any inline request of this engine: a rank that blocks elsewhere in between, even inside MPI,
 * may keep its peers waiting.
 *
 * Errors: STOKER_ERR_REQUEST, STOKER_ERR_STATE (not inactive), STOKER_ERR_MPI (packing failed), STOKER_ERR_ACCESS (a
 * device refuses the copy), STOKER_ERR_PEER_LOST (shared memory was overwritten).
 */
int stoker_start(stoker_request request);

/**
 * Starts an epoch in the order of a stream of a device: `stream` is a CUstream or cudaStream_t. Local. The epoch begins
 * on this rank when the stream gets there, so nothing that fills the send buffers there need be waited for. The function
 * returns at once where the kernel of the device carries the request out (stoker_statistics::executor "device") and
 * streams of the device can write words; elsewhere it waits for the stream, and starts the request.
 *
 * It also takes a request whose latest epoch a stream waits for (stoker_wait_on): the new epoch begins after that one.
 *
 * Errors: those of start; STOKER_ERR_STATE (the process has loaded no driver of devices), STOKER_ERR_ACCESS (the device
 * refuses), STOKER_ERR_UNSUPPORTED (the stream is being captured into a graph).
 */
int stoker_start_on(stoker_request request, void* stream);

/**
 * Starts `count` inactive requests in the order of the array. requests may be NULL if count is 0; none of its entries
 * may be null. At the first error the function returns: the requests before it are started, the others are not. Errors:
 * those of start; STOKER_ERR_ARGUMENT (a negative count, a null array).
 */
int stoker_startall(int count, const stoker_request requests[]);

/**
 * Tests whether a request is complete. Local; does not wait for other ranks to start. Sets *flag to 1 if the request is
 * complete, and makes it inactive; else to 0. An inactive request and STOKER_REQUEST_NULL are complete at once.
 *
 * Each call for a request that is not complete makes one attempt to progress all inline requests of the engine, if any
 * are active. For a request with a helper it reads one word of memory, and wakes the helper if that was left asleep or
 * is paused. If the request has messages between nodes, and the helper lives in this process and shares its core with
 * ranks, the call does a round of the helper's work instead; the helper stays asleep as long as such calls keep coming.
 * It does not look whether processes are gone, as wait does.
 *
 * Errors: STOKER_ERR_ARGUMENT (flag is null), STOKER_ERR_REQUEST, and the error of the epoch, which is returned once:
 * STOKER_ERR_MPI, STOKER_ERR_ACCESS or STOKER_ERR_PEER_LOST. The request is inactive or broken after it, and
 * the contents of its receive buffer are undefined. A broken request returns STOKER_ERR_PEER_LOST every time.
 */
int stoker_test(stoker_request request, int* flag);

/**
 * Tests `count` requests, of one or several engines. *flag is 1 if all are complete: all are then made inactive, and
 * the first of their errors is returned. Else *flag is 0 and no request changes its state. Null entries are complete.
 * requests may be NULL if count is 0. Errors: as test; STOKER_ERR_ARGUMENT (a negative count, a null pointer).
 */
int stoker_testall(int count, const stoker_request requests[], int* flag);

/**
 * Tests `count` requests for one that is complete. If there is one it is made inactive, *index is its index in the
 * array, *flag is 1, and its error is returned. If none of them is active *index is MPI_UNDEFINED and *flag 1; else
 * *index is MPI_UNDEFINED and *flag 0. Errors: as testall.
 */
int stoker_testany(int count, const stoker_request requests[], int* index, int* flag);

/**
 * Waits until a request is complete and makes it inactive. Returns at once for an inactive request and
 * STOKER_REQUEST_NULL.
 *
 * The calling thread helps to execute the request ("assist") before it sleeps, and lets the MPI library make progress.
 * So it may call MPI, in the place of the helper too. In a long wait it looks whether processes of its node that the
 * request depends on are gone; if one is, the request is broken and STOKER_ERR_PEER_LOST is returned. After the setting
 * stall_seconds a warning names the ranks that it waits for. Errors: as test.
 */
int stoker_wait(stoker_request request);

/**
 * What is put into a stream of a device from now on comes after the latest epoch of the request: `stream` is a CUstream
 * or cudaStream_t. Local. The function returns at once where start_on() would; elsewhere it waits as stoker_wait does.
 *
 * The request stays active until the stream could go on: then it is inactive without a further call, and may be started
 * or freed. It must not be freed before the stream has passed this place. Before that it takes start_on, test and wait.
 * A stream that waits for a rank which is gone goes on once another rank notices, in stoker_wait. The statistics have
 * no times of such epochs.
 *
 * Returns at once for an inactive request and STOKER_REQUEST_NULL. Errors: as wait; STOKER_ERR_ACCESS (the device
 * refuses), STOKER_ERR_UNSUPPORTED (the stream is being captured into a graph).
 */
int stoker_wait_on(stoker_request request, void* stream);

/**
 * Waits until all of `count` requests are complete, of one or several engines; null entries are. Every one is
 * completed, also behind one that fails, and the first error is returned. requests may be NULL if count is 0. Errors:
 * as testall.
 */
int stoker_waitall(int count, const stoker_request requests[]);

/**
 * Waits until one of `count` requests is complete, and makes that one inactive. *index is its index in the array;
 * MPI_UNDEFINED if none of them is active, in which case the function returns at once. Errors: as testall, and that of
 * the completed request.
 */
int stoker_waitany(int count, const stoker_request requests[], int* index);

/**
 * Frees an inactive or broken request and sets *request to STOKER_REQUEST_NULL. Local. The caller may use or release
 * the buffers of an inactive one afterwards. After its engine is destroyed any request may be freed.
 * Errors: STOKER_ERR_ARGUMENT (request is null), STOKER_ERR_REQUEST (*request is null or not live), STOKER_ERR_STATE
 * (it is active or complete: test or wait has to come first).
 */
int stoker_request_free(stoker_request* request);

/**
 * What one request did since init, on the calling rank. Times are in seconds, summed over epochs. Those of inline
 * requests are 0, except init_seconds, unless the setting inline_times, baseline_calls or trace asks for more. The
 * caller sets `size` to sizeof(stoker_statistics) before the call; programs built with a shorter struct still work.
 */
typedef struct stoker_statistics {
  size_t size;
  uint64_t starts;         /**< epochs started */
  double init_seconds;     /**< time spent in init */
  double exchange_seconds; /**< from start until the last step was done, by whichever thread */
  double exposed_seconds;  /**< time that the caller spent inside start, wait, and the test that completed an epoch */
  double hidden_seconds;   /**< exchange_seconds that passed outside stoker calls: overlapped with computation */
  uint64_t bytes_wire;     /**< bytes that this rank sends to other nodes in an epoch */
  uint64_t bytes_node;     /**< bytes that this rank sends within its node in an epoch */
  const char* algorithm;   /**< name with parameters, as stoker_algorithm takes it; valid until the request is freed */
  const char* executor;    /**< "engine", "inline" or "device"; static storage */
  /* How others reach the buffers in the latest epoch: "own", "mapped", "xpmem", "cma", "staged" or "device"; static
   * storage. */
  const char* send_access; /**< the send buffer */
  const char* recv_access; /**< the receive buffer */
  /* How exchange_seconds divides on a rank that sends to other nodes; 0 elsewhere. The rest of it comes after both. */
  double before_wire_seconds; /**< from start to the rank's first message to another node: gathering within the node */
  double wire_seconds;        /**< from there to the end of its last message to or from another node */
  /** How the puts of rma-* algorithms are made: "window" (MPI_Put), "messages", or "copies" by the helpers of a single
   * node. "none" for other algorithms. Static storage. */
  const char* puts;
  /* With the setting baseline_calls: after how many starts this rank has won back the time of init. */
  double mpi_seconds; /**< the MPI library's blocking call: median of its calls on the slowest rank; 0: not measured */
  /** ceil(init_seconds / (mpi_seconds - exposed_seconds / starts)), after Namugwanya, 2026. -1: never, because start,
   * test and wait take as long as the MPI call. 0: not known. */
  int64_t break_even;
  const char* program; /**< where the program came from: "compiled", or "wisdom" (setting wisdom); static storage */
} stoker_statistics;

/**
 * Fills *statistics with what the request did so far; an epoch counts once it is inactive, in `starts` at once. Local.
 * Errors: STOKER_ERR_ARGUMENT (a null pointer, a size below that of the first release), STOKER_ERR_REQUEST.
 */
int stoker_request_statistics(stoker_request request, stoker_statistics* statistics);

/**
 * What an engine is, as seen from the calling rank. The caller sets `size` to sizeof(stoker_engine_facts) before the
 * call.
 */
typedef struct stoker_engine_facts {
  size_t size;
  int ranks, nodes, domains; /**< how many the engine's communicator has */
  int node, domain;          /**< numbers of the calling rank's node and domain */
  int carrier;               /**< rank whose process hosts this domain's helper */
  int helpers;               /**< 1 when this rank's domain has a running helper, else 0 */
  int helper_core;           /**< OS index of the core that the helper is bound to, read back; -1 when unbound */
  int helper_reserved;       /**< 1 when no rank of this job is bound to that core */
  double helper_cpu_seconds; /**< CPU time that the helper has used so far if this rank is the carrier, else 0 */
} stoker_engine_facts;

/**
 * Fills *facts. Local; any thread. Errors: STOKER_ERR_ARGUMENT (a null pointer, too small a size), STOKER_ERR_REQUEST.
 */
int stoker_engine_get_facts(stoker_engine engine, stoker_engine_facts* facts);

/**
 * What the helper of the calling rank's domain has done since it was started. The caller sets `size` to sizeof(it). The
 * three times are those of the helper's thread, in seconds, and add up to its age. A round of a poller is busy if it
 * moved anything; rounds that a waiting rank ran in the helper's place are counted, too. Everything is 0 without a
 * helper.
 */
typedef struct stoker_helper_statistics {
  size_t size;
  double busy_seconds;                             /**< in rounds that moved something */
  double idle_seconds;                             /**< in rounds that moved nothing, and awake between rounds */
  double sleeping_seconds;                         /**< asleep: between rounds, with nothing to do, or paused */
  uint64_t busy_rounds, idle_rounds;               /**< of the poller that executes requests */
  uint64_t global_busy_rounds, global_idle_rounds; /**< of the poller that carries global memory's operations */
} stoker_helper_statistics;

/**
 * Fills *statistics. Local; any thread. Errors: STOKER_ERR_ARGUMENT (a null pointer, too small a size),
 * STOKER_ERR_REQUEST.
 */
int stoker_helper_get_statistics(stoker_engine engine, stoker_helper_statistics* statistics);

/**
 * Marks the beginning of a region of the caller's time, such as "fft", in the engine's trace. The setting trace=FILE
 * makes a trace: Chrome trace JSON of all ranks and helpers, which rank 0 writes when the engine is destroyed. Without
 * it the two functions do nothing. Local. Regions nest; a rank has one stack of them, so one thread at a time should
 * mark.
 *
 * name: copied.
 * Errors: STOKER_ERR_ARGUMENT (name is null), STOKER_ERR_REQUEST.
 */
int stoker_trace_begin(stoker_engine engine, const char* name);

/** Ends the region that was begun last; does nothing if none is open. Otherwise as stoker_trace_begin. */
int stoker_trace_end(stoker_engine engine);

#ifdef __cplusplus
}
#endif

#endif
