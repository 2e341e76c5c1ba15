// SPDX-License-Identifier: BSD-3-Clause
// CompletionWord (engine/shared/doorbell.hpp): an executor publishes epochs of two requests; two threads of the rank
// wait for one each, on the rank's only bell, without a time limit. To be proved: nobody sleeps on a completed epoch
// (invalid end state), and whoever sees the epoch sees the result written before it (assertion).
//
// The executor's stores linger in its store buffer and reach memory in order (see doorbell.pml); `sleepers` is counted
// by read-modify-writes of two threads, which act on memory.
//
// Compiled with one of these the proof must fail:
//   NO_RING_FENCE     the publisher loads `sleepers` while its store may still linger
//   NO_RECHECK        the waiter does not look again after its announcement
//   WAKE_ONE          only one of the sleepers is woken
//   PUBLISH_TOO_EARLY the epoch is stored before the result
#define REQUESTS 2
#define EPOCHS 2

mtype = { result_of, completed_of };

byte started[REQUESTS];    // by the rank, through the submission ring; ordered, see doorbell.pml
byte result[REQUESTS];     // in memory
byte completed[REQUESTS];  // in memory
byte sleepers;
byte rings;
bool waiting[REQUESTS];    // thread is in the kernel's queue
chan buffer = [2] of { mtype, byte, byte };

active proctype memory() {
  byte request;
  byte value;
end:
  do
  :: atomic { buffer ? result_of(request, value) -> result[request] = value; request = 0; value = 0 }
  :: atomic { buffer ? completed_of(request, value) -> completed[request] = value; request = 0; value = 0 }
  od
}

proctype executor() {
  byte done[REQUESTS];
  byte request;
  do
  :: done[0] == EPOCHS && done[1] == EPOCHS -> break
  :: else ->
     if
     :: started[0] > done[0] -> request = 0
     :: started[1] > done[1] -> request = 1
     fi;
     done[request]++;
#ifndef PUBLISH_TOO_EARLY
     buffer ! result_of(request, done[request]);
     buffer ! completed_of(request, done[request]);   // CompletionWord::publish
#else
     buffer ! completed_of(request, done[request]);
     buffer ! result_of(request, done[request]);
#endif
#ifndef NO_RING_FENCE
     empty(buffer);                                   // Doorbell::ring
#endif
     if
     :: sleepers != 0 ->
        empty(buffer);
        rings++;
#ifndef WAKE_ONE
        atomic { waiting[0] = false; waiting[1] = false }
#else
        if
        :: waiting[0] -> waiting[0] = false
        :: else -> waiting[1] = false
        fi
#endif
     :: else
     fi
  od
}

proctype waiter(byte request) {
  byte epoch;
  byte seen;
  do
  :: epoch < EPOCHS ->
     epoch++;
     started[request] = epoch;                        // Start
     do                                               // CompletionWord::wait_for
     :: completed[request] >= epoch -> break
     :: completed[request] < epoch ->
        sleepers++;                                   // Doorbell::sleep
        seen = rings;
        if
#ifndef NO_RECHECK
        :: completed[request] >= epoch -> skip
        :: completed[request] < epoch ->
#else
        :: true ->
#endif
           atomic {
             if
             :: rings == seen -> waiting[request] = true
             :: else
             fi
           }
           !waiting[request]
        fi;
        sleepers--
     od;
     assert(result[request] == epoch)
  :: else -> break
  od
}

init {
  atomic { run executor(); run waiter(0); run waiter(1) }
}
