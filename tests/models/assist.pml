// SPDX-License-Identifier: BSD-3-Clause
// A thread of the carrier's takes the place of a paused helper (Helper::Assist, Plea in engine/helper/waiting.hpp). The
// helper has work in its lists, and may do it once a rank pleads and no assistant is in its place. It sleeps without a
// time limit. A wake-up is lost if the helper sleeps although both hold, while nobody has anything left to do: an
// invalid end state.
//
// Stores linger as in doorbell.pml.
//
// Compiled with one of these the proof must fail:
//   NO_ASSIST_FENCE  the assistant loads `pleas` while its departure may still linger
//   NO_PLEA_FENCE    the rank that pleads loads `sleepers` while its plea may still linger
//   NO_SLEEP_FENCE   the helper looks again while its announcement may still linger
//   NO_NUDGE         the assistant wakes nobody, as if the helper napped
#define ASSISTS 2

byte assistants;           // in memory
byte pleas;                // in memory
byte sleepers;             // in memory
byte rings;
bool waiting;              // in the kernel's queue
chan assistants_buffer = [2] of { byte };
chan pleas_buffer = [2] of { byte };
chan sleepers_buffer = [2] of { byte };

// Store buffers reach memory at any time, in order.
active proctype memory() {
  byte value;
end:
  do
  :: atomic { assistants_buffer ? value -> assistants = value; value = 0 }
  :: atomic { pleas_buffer ? value -> pleas = value; value = 0 }
  :: atomic { sleepers_buffer ? value -> sleepers = value; value = 0 }
  od
}

inline wake(buffer) {
  if
  :: sleepers != 0 ->
     empty(buffer);                                   // a read-modify-write and a system call
     rings++;
     waiting = false                                  // FUTEX_WAKE
  :: else
  fi
}

proctype carrier() {
  byte done;
  do
  :: done < ASSISTS ->
     done++;
     assistants_buffer ! 1;                           // Assist::Assist
     assistants_buffer ! 0;                           // Assist::~Assist
#ifndef NO_ASSIST_FENCE
     empty(assistants_buffer);
#endif
#ifndef NO_NUDGE
     if
     :: pleas != 0 -> wake(assistants_buffer)         // Doorbell::nudge, whose own fence is left out
     :: else
     fi
#endif
  :: else -> break
  od
}

proctype rank() {
  pleas_buffer ! 1;                                   // Plea::make
#ifndef NO_PLEA_FENCE
  empty(pleas_buffer);                                // Doorbell::ring
#endif
  wake(pleas_buffer)
}

bool may_work;
// Helper::may_work: not at one moment.
inline look() {
  may_work = (assistants == 0);
  may_work = may_work && pleas != 0
}

proctype helper() {
  byte seen;
  do
  :: look();
     if
     :: may_work -> break
     :: else
     fi;
     // Doorbell::sleep
     sleepers_buffer ! 1;
     seen = rings;
#ifndef NO_SLEEP_FENCE
     empty(sleepers_buffer);
#endif
     look();
     if
     :: may_work
     :: else ->
        atomic {                                      // FUTEX_WAIT compares and queues
          if
          :: rings == seen -> waiting = true
          :: else
          fi
        }
        !waiting
     fi;
     sleepers_buffer ! 0
  od
}

init {
  atomic { run carrier(); run rank(); run helper() }
}
