/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * stoker: an asynchronous progress engine for MPI collectives. The C door.
 *
 * An engine is created collectively over a communicator. Persistent collective requests are initialised on it and then
 * started, tested and waited for like MPI's own, but they run while the application computes, because a progress thread
 * (helper) per NUMA domain executes them.
 *
 * States of a request, after MPI-4.1 section 3.9 (persistent communication):
 *
 *   state     buffers may be touched by   legal calls
 *   inactive  the application             start, free, test and wait (complete at once)
 *   active    stoker only                 test, wait
 *   complete  stoker only                 test, wait (turn it inactive); free and start are refused
 *   freed     the application             none; every call answers STOKER_ERR_REQUEST
 *
 * Return values. Every function that can fail returns STOKER_SUCCESS or one of the codes below, and leaves a message that
 * names the rank, the argument and what was expected in stoker_error_message(). Collective functions (create, destroy,
 * *_init) return an error on all ranks of the communicator when they fail on one.
 *
 * Thread safety. Different threads may use different requests at the same time. One request, and one engine's create,
 * destroy, pause and resume, may be used by one thread at a time. Collective functions follow MPI's rule: same order on
 * every rank, per communicator.
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
  STOKER_ERR_REQUEST = 2,      /**< not a live request: freed, foreign, or of a destroyed engine */
  STOKER_ERR_STATE = 3,        /**< not legal in this state: start or free of an active request, MPI not initialised */
  STOKER_ERR_UNSUPPORTED = 4,  /**< intercommunicators; a setting that this build or machine cannot serve at all */
  STOKER_ERR_MISMATCH = 5,     /**< ranks disagree: counts, the choice of algorithm, the setting of an engine */
  STOKER_ERR_RESOURCE = 6,     /**< memory, shared memory, cores or tags exhausted */
  STOKER_ERR_SETTING = 7,      /**< unknown key or bad value in the settings */
  STOKER_ERR_THREAD_LEVEL = 8, /**< helpers were demanded but MPI does not provide MPI_THREAD_MULTIPLE */
  STOKER_ERR_MPI = 9,          /**< an MPI call failed, in this call or earlier in a helper */
  STOKER_ERR_ACCESS = 10,      /**< a rank's memory could not be reached: cross-memory attach refused, ... */
  STOKER_ERR_PEER_LOST = 11    /**< a process that the request depends on is gone */
};

/** Opaque handles. A handle keeps its value from creation to release; it is checked at every use. */
typedef struct stoker_engine_s* stoker_engine;
typedef struct stoker_request_s* stoker_request;
#define STOKER_ENGINE_NULL ((stoker_engine)0)
#define STOKER_REQUEST_NULL ((stoker_request)0)

/**
 * One setting, by the name that the environment (STOKER_<KEY> in capitals), the settings file and `stoker info` use too.
 * Precedence: settings passed here, then environment, then the TOML file named by STOKER_SETTINGS_FILE, then the default.
 */
typedef struct stoker_setting {
  const char* key;   /**< e.g. "executor" */
  const char* value; /**< e.g. "inline" */
} stoker_setting;

/** Short text for an error code. Static storage. */
const char* stoker_error_string(int code);
/** The message of this thread's last failed call. Valid until this thread's next stoker call; never NULL. */
const char* stoker_error_message(void);

/**
 * Creates an engine. Collective over `comm`, an intracommunicator; MPI must be initialised. `settings` (may be NULL when
 * `count` is 0) must be equal on all ranks.
 * Without MPI_THREAD_MULTIPLE the engine runs requests inline and says so in one line, or fails with
 * STOKER_ERR_THREAD_LEVEL where executor=engine was demanded.
 */
int stoker_engine_create(MPI_Comm comm, const stoker_setting* settings, size_t count, stoker_engine* engine);

/**
 * Destroys an engine and sets *engine to STOKER_ENGINE_NULL. Collective over the engine's communicator. Requests that are
 * still active are completed first. Requests and memory that outlive the engine may still be freed, in any order; any
 * other use of them answers STOKER_ERR_REQUEST. An engine that is left over is destroyed inside MPI_Finalize.
 */
int stoker_engine_destroy(stoker_engine* engine);

/**
 * pause: the helpers of this rank's domain stop working and cost nothing, until resume. Started requests still complete: a
 * waiting rank makes the progress that it needs itself. Local, takes effect before the call returns.
 */
int stoker_pause(stoker_engine engine);
int stoker_resume(stoker_engine engine);

/**
 * Memory that every rank of the node, and so the helper, can reach directly: buffers in it are never copied on the way.
 * `bytes` of it, aligned to a page, placed on this rank's NUMA node. Local. To be given back with stoker_dealloc before or after
 * the engine is destroyed. STOKER_ERR_RESOURCE when shared memory is exhausted.
 */
int stoker_alloc(stoker_engine engine, size_t bytes, void** memory);
int stoker_dealloc(void* memory);

/**
 * Persistent all-to-all, the semantics of MPI_Alltoall_init (MPI-4.1 section 6.13.5). Collective over `comm`, whose ranks
 * must all be ranks of the engine's communicator. sendbuf: comm size * sendcount elements; recvbuf: comm size * recvcount
 * elements; sendbuf may be MPI_IN_PLACE on all ranks, sendcount and sendtype are then ignored. The buffers belong to the
 * caller and must live until the request is freed. Datatypes are committed and may be freed right after the call.
 * `info` (may be MPI_INFO_NULL) may hold "stoker_algorithm" (as in "radix:r=4"; see `stoker info`) and "stoker_executor".
 * STOKER_ERR_MISMATCH when what a rank sends is not what its peer expects.
 */
int stoker_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                         stoker_request* request);
int stoker_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           stoker_engine engine, stoker_request* request);

/**
 * Persistent all-to-all with counts, the semantics of MPI_Alltoallv_init. The four arrays hold comm size entries; counts in
 * elements, displacements in extents of the datatype; they are copied. With MPI_IN_PLACE, sendcounts, sdispls and sendtype
 * are ignored and recvcounts describe both directions.
 */
int stoker_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                          void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            stoker_engine engine, stoker_request* request);

/**
 * Persistent neighborhood all-to-all, the semantics of MPI_Neighbor_alltoall_init (MPI-4.1 section 8.8.2) on a communicator
 * with a Cartesian, graph or distributed graph topology; STOKER_ERR_ARGUMENT without one. sendbuf: a block of sendcount
 * elements for each destination; recvbuf: a block of recvcount elements for each source; in MPI's order. Blocks for and from
 * MPI_PROC_NULL are left alone. In a grid, what is sent in one direction arrives from the opposite one, also where both are
 * the same rank. MPI_IN_PLACE is refused. Otherwise as alltoall. STOKER_ERR_MISMATCH when an edge is not known at both ends,
 * or its two ends differ in size.
 */
int stoker_neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  stoker_engine engine, stoker_request* request);
int stoker_neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                    stoker_engine engine, stoker_request* request);

/**
 * Persistent neighborhood all-to-all with counts, the semantics of MPI_Neighbor_alltoallv_init. One entry for each
 * destination in sendcounts and sdispls, for each source in recvcounts and rdispls. Blocks to send may overlap, or be the
 * same: with the algorithm locality-aware, what several ranks of one node need is sent there once.
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
 * Persistent reductions, broadcasts, gathers, scatters, scans and barriers: the semantics of MPI_Allreduce_init and the others of
 * MPI-4.1 section 6.13. Collective over `comm`, whose ranks must all be ranks of the engine's communicator. Counts are elements,
 * displacements extents of the datatype. The buffers belong to the caller and must live until the request is freed; arrays of
 * counts are copied; datatypes are committed and may be freed right after the call. The buffers of one rank must not overlap.
 * `info` (may be MPI_INFO_NULL) may hold "stoker_algorithm" (see `stoker info`), "stoker_executor" and
 * "stoker_deterministic" (1: only algorithms that combine in an order that depends on nothing but the number of ranks; stands
 * before the setting `deterministic`).
 *
 * `op` is one of MPI's operations for the datatype, or one of MPI_Op_create, which must live until the request is freed: it is
 * called in start, test and wait of its own process, since such requests are executed inline. Datatypes of MPI_Type_create_* are
 * for operations of MPI_Op_create; elements with gaps are handed to them in copies, and gaps of recvbuf stay as they are.
 *
 * Errors, on all ranks of `comm`. STOKER_ERR_ARGUMENT: a null buffer where there is data, a negative count, a root that is no
 * rank of comm, MPI_IN_PLACE where it is not allowed, an operation that is not for the datatype. STOKER_ERR_MISMATCH: ranks
 * disagree on root, op, datatype, counts or in place. STOKER_ERR_SETTING: an algorithm that combines in any order, with an
 * operation that is not commutative; or without a fixed order in a deterministic request. STOKER_ERR_UNSUPPORTED:
 * stoker_executor=engine with an operation of MPI_Op_create.
 */

/** sendbuf and recvbuf: `count` elements. sendbuf may be MPI_IN_PLACE on all ranks: recvbuf holds the operand. */
int stoker_allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_allreduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** recvbuf is significant at the root only. sendbuf may be MPI_IN_PLACE at the root. */
int stoker_reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                       MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_reduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         int root, MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** buffer: `count` elements, read at the root and written on the others. Datatypes may differ where their data do not. */
int stoker_bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                      stoker_engine engine, stoker_request* request);
int stoker_bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                        stoker_engine engine, stoker_request* request);

/** sendbuf: a block of recvcounts[i] elements for each rank i, one behind the other; recvbuf: this rank's block. recvcounts holds comm
 * size entries, equal on all ranks. sendbuf may be MPI_IN_PLACE on all ranks: recvbuf then has room for all blocks and holds the
 * operand; of it only the first recvcounts[rank] elements, the result, are defined afterwards. */
int stoker_reduce_scatter_init(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                               MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_reduce_scatter_init_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                 stoker_request* request);

/** The same with blocks of recvcount elements. */
int stoker_reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                     MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                     stoker_request* request);
int stoker_reduce_scatter_block_init_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                       MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                       stoker_request* request);

/** sendbuf: this rank's block; recvbuf: a block of recvcount elements from each rank. sendbuf may be MPI_IN_PLACE on all ranks: this
 * rank's block lies in its place in recvbuf; sendcount and sendtype are then ignored. */
int stoker_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                          stoker_request* request);
int stoker_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            stoker_engine engine, stoker_request* request);

/** recvcounts and displs hold comm size entries; the sizes of the blocks are equal on all ranks. */
int stoker_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                           MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** recvbuf, recvcount and recvtype are significant at the root only. sendbuf may be MPI_IN_PLACE at the root. */
int stoker_gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                       MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                       stoker_request* request);
int stoker_gather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         stoker_engine engine, stoker_request* request);

/** recvbuf, recvcounts, displs and recvtype are significant at the root only. */
int stoker_gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
                        MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_gatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** sendbuf, sendcount and sendtype are significant at the root only. recvbuf may be MPI_IN_PLACE at the root, whose block then stays
 * where it is; recvcount and recvtype are then ignored. */
int stoker_scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                        MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                        stoker_request* request);
int stoker_scatter_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                          stoker_engine engine, stoker_request* request);

/** sendbuf, sendcounts, displs and sendtype are significant at the root only. */
int stoker_scatterv_init(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                         void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         stoker_engine engine, stoker_request* request);
int stoker_scatterv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                           MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                           MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** Complete on no rank before it is started on every rank. */
int stoker_barrier_init(MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** recvbuf: what ranks 0 to this one combine to. sendbuf may be MPI_IN_PLACE on all ranks. */
int stoker_scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_scan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/** recvbuf: what ranks 0 to the one before this combine to; rank 0's stays as it is. Otherwise as scan. */
int stoker_exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, stoker_engine engine, stoker_request* request);
int stoker_exscan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request);

/**
 * Starts an inactive request. An inline request makes progress inside start, test and wait of this engine's requests only: a
 * rank that blocks elsewhere in between may keep its peers waiting, even inside MPI. Local, no MPI call in the engine executor, no lock, no allocation. Requests may be started in
 * any order, a different one on each rank. Waits while this rank's submission ring is full; never drops. A request for which
 * waking a sleeping helper was seen not to pay leaves its work to Test and Wait, or to the helper's next look at most 20 ms
 * later; the setting wake=always wakes it every time.
 */
int stoker_start(stoker_request request);
int stoker_startall(int count, const stoker_request requests[]);

/**
 * Tests complete the request and turn it inactive when *flag (or the returned index) says so. An inactive or null request is
 * complete at once. The error of a failed request is returned once, here or by wait.
 * testall: *flag is 1 when all are complete, else none is changed. testany: *index is the completed one, or
 * MPI_UNDEFINED; *flag is 1 with MPI_UNDEFINED when none is active.
 */
int stoker_test(stoker_request request, int* flag);
int stoker_testall(int count, const stoker_request requests[], int* flag);
int stoker_testany(int count, const stoker_request requests[], int* index, int* flag);

/** Waits. The caller's time is used to make progress (assist) before it sleeps; MPI is kept progressing too. */
int stoker_wait(stoker_request request);
int stoker_waitall(int count, const stoker_request requests[]);
int stoker_waitany(int count, const stoker_request requests[], int* index);

/** Frees an inactive request and sets *request to STOKER_REQUEST_NULL. Local. STOKER_ERR_STATE when it is active. */
int stoker_request_free(stoker_request* request);

/**
 * What one request did since init. Times in seconds, sums over epochs; those of inline requests are 0 except init_seconds,
 * unless the setting inline_times or trace asks for more. `size` is set by the caller to sizeof(it).
 */
typedef struct stoker_statistics {
  size_t size;
  uint64_t starts;         /**< epochs started */
  double init_seconds;     /**< time in *_init */
  double exchange_seconds; /**< from Start to completion by whoever executed it */
  double exposed_seconds;  /**< time the caller spent inside start, test and wait */
  double hidden_seconds;   /**< exchange time that passed outside stoker calls: overlapped with computation */
  uint64_t bytes_wire;     /**< bytes this rank sent to other nodes, per epoch */
  uint64_t bytes_node;     /**< bytes this rank sent within its node, per epoch */
  const char* algorithm;   /**< with its parameters, as "stoker_algorithm" takes it; until the request is freed */
  const char* executor;    /**< "engine" or "inline"; static storage */
  const char* send_access; /**< how others reach the send buffer: "own", "mapped", "cma" or "staged"; static storage */
  const char* recv_access; /**< the same for the receive buffer */
  /* How exchange_seconds divides on a rank that sends to other nodes; 0 elsewhere. The rest of it comes after both. */
  double before_wire_seconds; /**< from Start to its first message to another node: gathering within the node */
  double wire_seconds;        /**< from there to the end of its last message to or from another node */
  const char* puts; /**< of rma-* algorithms: how they go between nodes, or from rank to rank: "window", "messages", or
                                   "copies" by helpers of a single node; "none" of others; static storage */
  /* With the setting baseline_calls: after how many starts this rank has won back what init took. */
  double mpi_seconds; /**< the MPI library's own blocking call, median, on the slowest rank; 0: not measured */
  int64_t
      break_even; /**< ceil(init_seconds / (mpi_seconds - exposed_seconds / starts)) after Namugwanya, 2026; -1: never, since
                           start, test and wait take as long as the MPI call; 0: not known */
  const char*
      program; /**< where this rank's program came from: "compiled", or "wisdom" (setting wisdom); static storage */
} stoker_statistics;
int stoker_request_statistics(stoker_request request, stoker_statistics* statistics);

/** A facts sheet of the engine as seen from this rank. `size` is set by the caller. */
typedef struct stoker_engine_facts {
  size_t size;
  int ranks, nodes, domains; /**< of the engine's communicator */
  int node, domain;          /**< of this rank */
  int carrier;               /**< rank whose process hosts this domain's helper */
  int helpers;               /**< 1 when this rank's domain has a running helper, else 0 */
  int helper_core;           /**< OS index of the core that the helper is bound to, read back; -1 when unbound */
  int helper_reserved;       /**< 1 when no rank of this job is bound to that core */
  double helper_cpu_seconds; /**< CPU time that the helper has used so far, when this rank is the carrier; else 0 */
} stoker_engine_facts;
int stoker_engine_get_facts(stoker_engine engine, stoker_engine_facts* facts);

/**
 * Marks a region of the caller's time ("fft", "compute") in the engine's trace (setting trace=FILE: Chrome trace JSON of
 * all ranks and helpers, written by rank 0 when the engine is destroyed). `name` must have static storage. Cheap, and a no-op
 * without a trace.
 */
int stoker_trace_begin(stoker_engine engine, const char* name);
int stoker_trace_end(stoker_engine engine);

#ifdef __cplusplus
}
#endif

#endif
