// SPDX-License-Identifier: BSD-3-Clause
// A start that is put off until the ranks have agreed (engine/calls/persistent_call.cpp, put_off_starts.hpp): its own
// thread and the one in the background both try to start it, and it is the owner's alone as soon as it sees the flag
// cleared, to be completed and started again at once.
//
// Compiled with one of these the proof must fail:
//   NO_THREAD     the owner waits for another rank, which waits for this start: nobody makes it
//   NO_LOCK       the owner tries without the mutex
//   FLAG_LATER    the flag is set once the mutex is given back
#define ROUNDS 3

byte decided;              // the latest round whose decision is there
byte started;              // starts made
bool put_off;
bool waiting;              // in the list
bool mutex;
byte round;
bool done;

#define LOCK atomic { !mutex -> mutex = true }
#define UNLOCK mutex = false

// Two steps, so that two who do it at once are seen.
inline make_start() {
  byte before = started;
  started = before + 1;
  assert(started == round)
}

proctype ranks() {
  do
  :: done -> break
  :: !done && decided < round -> decided = round
  od
}

proctype background() {
  do
  :: done -> break
  :: !done ->
     LOCK;
     if
     :: waiting && decided >= round -> make_start(); put_off = false; waiting = false
     :: !(waiting && decided >= round)
     fi;
     UNLOCK
  od
}

inline try_once() {
#ifdef NO_LOCK
  if
  :: put_off && decided >= round -> make_start(); put_off = false; waiting = false
  :: !(put_off && decided >= round)
  fi
#else
  LOCK;
  if
  :: put_off && decided >= round -> make_start(); put_off = false; waiting = false
  :: !(put_off && decided >= round)
  fi;
  UNLOCK
#endif
}

proctype owner() {
  do
  :: round == ROUNDS -> break
  :: round < ROUNDS ->
     round++;
     LOCK;
     assert(!waiting);
     waiting = true;
#ifdef FLAG_LATER
     UNLOCK;
     put_off = true;
#else
     put_off = true;
     UNLOCK;
#endif
     if
     :: true -> started == round          // in MPI_Recv, of a message that comes after this start
     :: true -> skip
     fi;
     do                                   // MPI_Wait
     :: !put_off -> break
     :: put_off -> try_once()
     od;
     assert(started == round)
  od;
  done = true
}

init {
  atomic {
    run ranks();
#ifndef NO_THREAD
    run background();
#endif
    run owner()
  }
}
