// SPDX-License-Identifier: BSD-3-Clause
// Doorbell (engine/shared/doorbell.hpp): ranks push and ring, a helper drains and sleeps without a time limit. A
// wake-up is lost if the helper sleeps while a ring holds work and no rank has anything left to do: an invalid end
// state. For such a sleeper nudge() does the same as ring().
//
// Stores linger: a plain store goes to its thread's store buffer, from where it reaches memory at any later time, while
// the thread's loads go to memory at once (TSO; an atomic read-modify-write without an order may linger like that on
// weaker machines, so the sleeper's counting is modelled as a plain store, too). A full fence waits until the buffer is
// empty. A futex call is a full fence and, in the kernel, atomic against the other.
//
// Compiled with one of these the proof must fail:
//   NO_RING_FENCE    the ringer loads `sleepers` while its push may still linger
//   NO_SLEEP_FENCE   the sleeper looks for work while its announcement may still linger
//   NO_RECHECK       the sleeper does not look again after the announcement
//   NO_MOVE          the ringer wakes without moving `rings` on: lost between the look and the futex call
#define RANKS 2
#define PUSHES 2

byte index[RANKS];         // write index of each ring, in memory
byte sleepers;             // in memory
byte rings;
bool waiting;              // in the kernel's queue
chan index_buffer[RANKS] = [2] of { byte };
chan sleepers_buffer = [2] of { byte };

// Store buffers reach memory at any time, in order.
active proctype memory() {
  byte value;
end:
  do
  :: atomic { index_buffer[0] ? value -> index[0] = value; value = 0 }
  :: atomic { index_buffer[1] ? value -> index[1] = value; value = 0 }
  :: atomic { sleepers_buffer ? value -> sleepers = value; value = 0 }
  od
}

proctype rank(byte me) {
  byte pushed;
  do
  :: pushed < PUSHES ->
     pushed++;
     index_buffer[me] ! pushed;                       // SubmissionRing::push
#ifndef NO_RING_FENCE
     empty(index_buffer[me]);                         // Doorbell::ring
#endif
     if
     :: sleepers != 0 ->
        empty(index_buffer[me]);                      // a read-modify-write and a system call
#ifndef NO_MOVE
        rings++;
#endif
        waiting = false                               // FUTEX_WAKE
     :: else
     fi
  :: else -> break
  od
}

proctype helper() {
  byte taken[RANKS];
  byte seen;
  byte r;
  do
  :: taken[0] == PUSHES && taken[1] == PUSHES -> break
  :: else ->
     // SubmissionRing::drain
     for (r : 0 .. RANKS - 1) {
       taken[r] = index[r]
     }
     if
     :: taken[0] == PUSHES && taken[1] == PUSHES -> break
     :: else
     fi;
     // Doorbell::sleep
     sleepers_buffer ! 1;
     seen = rings;
#ifndef NO_SLEEP_FENCE
     empty(sleepers_buffer);
#endif
     if
#ifndef NO_RECHECK
     :: index[0] != taken[0] -> skip
     :: index[0] == taken[0] && index[1] != taken[1] -> skip
     :: index[0] == taken[0] && index[1] == taken[1] ->
#else
     :: true ->
#endif
        atomic {                                      // FUTEX_WAIT compares and queues
          if
          :: rings == seen -> waiting = true
          :: else
          fi
        }
        // The call orders nothing before it compares: a lingering store may reach memory later than the comparison.
        !waiting
     fi;
     sleepers_buffer ! 0
  od;
  assert(index[0] == PUSHES && index[1] == PUSHES)
}

init {
  atomic { run rank(0); run rank(1); run helper() }
}
