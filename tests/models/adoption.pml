// SPDX-License-Identifier: BSD-3-Clause
// The sender's block, as those read it who may execute the receiver's steps (engine/execute/program.hpp). The ranks are
// of different domains, so each has a helper of its own. The helper of the receiver may find the epoch long after the
// rank has begun or even completed it by itself. By then the sender may have freed its request and used the memory for
// another one: it waits until its message is taken and until its own helper has retired the epoch, for nothing else.
// To be proved: whoever reads the sender's block reads that of this request (assertions), and nobody waits for ever.
//
// Compiled with one of these the proof must fail:
//   LOOK_AT_ADOPTION   the helper reads the blocks of all peers when it adopts the epoch
//   LOOK_IF_INCOMPLETE it does so then unless the epoch is complete
#define THIS_REQUEST 1
#define NEXT_REQUEST 2
#define EPOCH 1            // the first one
#define NOBODY 0
#define HELPER 1
#define RANK 2

chan senders_ring = [1] of { byte };
chan receivers_ring = [1] of { byte };

byte senders_block = THIS_REQUEST;
byte taken;                // in it
byte senders_retired;

// The receiver's block: it takes the message, and then a second step has to be done.
byte slot;
byte owner;
byte steps_left = 2;       // plain memory, as `completed` is read by the holder only
bool completed;
byte retired;

inline look() {
  assert(senders_block == THIS_REQUEST)
}

// By the holder, if the epoch is not complete: one step, if there is one that can be done.
inline advance() {
  if
  :: steps_left == 2 && slot == EPOCH ->
     look();               // the message is ready, and not taken
     taken = EPOCH;
     steps_left = 1
  :: steps_left == 2 && slot != EPOCH
  :: steps_left == 1 ->
     steps_left = 0;
     completed = true
  :: steps_left == 0
  fi
}

active proctype sender() {
  senders_ring ! EPOCH;
  slot = EPOCH;
  taken == EPOCH;
  senders_retired == EPOCH;
  senders_block = NEXT_REQUEST
}

active proctype senders_helper() {
  byte epoch;
  senders_ring ? epoch;
  taken == EPOCH;
  senders_retired = epoch
}

active proctype receiver() {
  receivers_ring ! EPOCH;
  do
  :: completed -> break
  :: !completed ->
     if
     :: atomic { owner == NOBODY -> owner = RANK };
        advance();
        owner = NOBODY
     :: owner != NOBODY
     fi
  od;
  retired == EPOCH
}

active proctype receivers_helper() {
  byte epoch;
  receivers_ring ? epoch;
#ifdef LOOK_AT_ADOPTION
  look();
#endif
#ifdef LOOK_IF_INCOMPLETE
  if
  :: !completed -> look()
  :: completed
  fi;
#endif
  do
  :: atomic { owner == NOBODY -> owner = HELPER };
     if
     :: completed -> owner = NOBODY; break
     :: !completed -> advance(); owner = NOBODY
     fi
  od;
  retired = epoch
}
