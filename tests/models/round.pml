// SPDX-License-Identifier: BSD-3-Clause
// A thread of the carrier's makes rounds in Test (Helper::try_round) while the helper's own thread looks for work and
// goes to sleep (Helper::run). A round takes a rank's call and only later says that there is work (Helper::work,
// note_state). The helper sleeps without a time limit. A wake-up is lost if it sleeps although there is work or a call,
// while nobody has anything left to do: an invalid end state.
//
// Stores linger as in doorbell.pml. The call is taken by a read-modify-write, which does not linger.
//
// Compiled with one of these the proof must fail:
//   NO_NUDGE         the round wakes nobody, as if the helper had seen the call
//   NO_ROUND_FENCE   the round loads `sleepers` while its word may still linger
//   NO_SLEEP_FENCE   the helper looks again while its announcement may still linger
#define ROUNDS 2

bool called;               // in memory
bool busy;                 // in memory
byte sleepers;             // in memory
byte rings;
bool waiting;              // in the kernel's queue
chan called_buffer = [2] of { bool };
chan busy_buffer = [2] of { bool };
chan sleepers_buffer = [2] of { byte };

// Store buffers reach memory at any time, in order.
active proctype memory() {
  byte number;
  bool value;
end:
  do
  :: atomic { called_buffer ? value -> called = value; value = 0 }
  :: atomic { busy_buffer ? value -> busy = value; value = 0 }
  :: atomic { sleepers_buffer ? number -> sleepers = number; number = 0 }
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

proctype rank() {
  called_buffer ! true;                               // SubmissionRing::call
  empty(called_buffer);                               // Doorbell::ring
  wake(called_buffer)
}

proctype carrier() {
  byte done;
  bool took;
  do
  :: done < ROUNDS ->
     done++;
     atomic { took = called; called = false }         // SubmissionRing::take_call
     if
     :: took -> busy_buffer ! true                    // Helper::note_state
     :: else
     fi;
#ifndef NO_ROUND_FENCE
     empty(busy_buffer);
#endif
#ifndef NO_NUDGE
     if
     :: took -> wake(busy_buffer)                     // Helper::hand_over, Doorbell::ring or nudge
     :: else
     fi
#endif
  :: else -> break
  od
}

bool has_work;
// In Helper::run: not at one moment.
inline look() {
  has_work = busy;
  has_work = has_work || called
}

proctype helper() {
  byte seen;
  do
  :: look();
     if
     :: has_work -> break
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
     :: has_work
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
  atomic { run rank(); run carrier(); run helper() }
}
