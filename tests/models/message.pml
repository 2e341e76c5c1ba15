// SPDX-License-Identifier: BSD-3-Clause
// A message within a node (try_send and try_recv in engine/execute/node_messages.cpp). As soon as the message is taken
// the receiver's request may be freed, and its memory become another request's block, which the same or another thread
// initialises. The sender's executor may see only later that the message is taken. The next request's receiver must not
// find a message ready before its own sender says so.
//
// Compiled with this the proof must fail:
//   SENDER_LOOKS   the sender learns from the receiver's block whether it has said that the message is ready
#define EPOCH 1            // of either request: both have just been started for the first time

byte slot;                 // in the receiver's block
byte taken;                // in the sender's block
bool next_said;            // by the next request's sender

proctype sender() {
  byte announced;          // in its own block
  do
  :: taken == EPOCH -> break
  :: taken != EPOCH ->
#ifdef SENDER_LOOKS
     if
     :: slot != EPOCH -> slot = EPOCH
     :: slot == EPOCH
     fi
#else
     if
     :: announced != EPOCH -> announced = EPOCH; slot = EPOCH
     :: announced == EPOCH
     fi
#endif
  od
}

proctype next_sender() {
  next_said = true;
  slot = EPOCH
}

proctype receiver() {
  slot == EPOCH;
  taken = EPOCH;           // its last access to the sender's block
  slot = 0;                // the block is initialised anew
  run next_sender();       // which cannot start before that: init is collective
  slot == EPOCH;
  assert(next_said)
}

init {
  atomic { run sender(); run receiver() }
}
