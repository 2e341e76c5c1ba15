// SPDX-License-Identifier: BSD-3-Clause
// The threads in the background (engine/calls/initialisations.cpp and put_off_starts.hpp). An initialisation is over
// when all ranks have come to it; a start that was put off needs no other rank. Two ranks make their first calls on two
// communicators, in different orders, as MPI allows. Rank 0 has put off a start before, and then waits for a message
// that rank 1 sends once that start has been made. A deadlock is an invalid end state.
//
// Compiled with one of these the proof must fail:
//   ONE_THREAD    a rank has one thread for the initialisations on all communicators, in the order of the calls
//   SHARED        put-off starts are made by the thread that initialises
#define RANKS 2
#define COMMS 2

byte arrived[COMMS]; // ranks that have come to the initialisation
bool put_off, started, message;

// The calls that a thread takes; one for each rank and communicator, or for each rank.
#ifdef ONE_THREAD
#define THREAD(rank, comm) ((rank) * COMMS)
#else
#define THREAD(rank, comm) ((rank) * COMMS + (comm))
#endif
chan asked[RANKS * COMMS] = [COMMS] of { byte };

proctype initialiser(byte thread) {
  byte comm;
end:
  do
  :: asked[thread]?comm ->
     arrived[comm]++;
     arrived[comm] == RANKS
#ifdef SHARED
  :: thread / COMMS == 0 && put_off -> put_off = false; started = true
#endif
  od
}

#ifndef SHARED
proctype starter() {
end:
  do
  :: put_off -> put_off = false; started = true
  od
}
#endif

proctype rank_0() {
  put_off = true;
  asked[THREAD(0, 0)]!0;
  asked[THREAD(0, 1)]!1;
  message;
  arrived[0] == RANKS && arrived[1] == RANKS
}

proctype rank_1() {
  started;
  message = true;
  asked[THREAD(1, 1)]!1;
  asked[THREAD(1, 0)]!0;
  arrived[0] == RANKS && arrived[1] == RANKS
}

init {
  byte thread;
  atomic {
    for (thread : 0 .. RANKS * COMMS - 1) {
      run initialiser(thread)
    }
#ifndef SHARED
    run starter();
#endif
    run rank_0();
    run rank_1()
  }
}
