// SPDX-License-Identifier: BSD-3-Clause
// The pieces of long messages within a node (engine/execute/piece_messages.cpp). Whatever the two ranks do in which
// order, the receiver gets each piece of each epoch once, with what the sender's buffer holds in that epoch. A sender is
// done only when nobody reads its buffer any more, and it is at most one epoch ahead. The sender may cease to help, and
// the receiver to fetch, at any time, as long as one of them goes on.
//
// Compiled with one of these the proof must fail:
//   LEAVES       the sender is done when all pieces have been claimed, by whomever
//   OVERTAKES    it fills slots that may not be empty
//   UNDIVIDED    the receiver fetches what it has not claimed
//   FEW_PIECES   there are half as many pieces as slots
#define EPOCHS 3
#define SLOTS 2
#ifdef FEW_PIECES
#define PIECES 1
#else
#define PIECES 3
#endif

#ifdef OVERTAKES
#define has_room true
#else
#define has_room (filled - emptied < SLOTS)
#endif

byte source;               // the epoch whose data are in the sender's buffer
byte ready;                // in the receiver's block
byte slot_filled[SLOTS];   // likewise: which filling,
byte slot_piece[SLOTS];    // of which piece,
byte slot_data[SLOTS];     // of which epoch
byte taken;                // in the sender's block
byte claimed;              // likewise
byte emptied;              // likewise

// The sender's part of a piece, if there is one and a slot for it.
inline fill() {
  if
  :: claimed < PIECES * epoch && has_room ->
     piece = claimed;
     atomic {                                          // compare_exchange_strong
       if
       :: claimed == piece && piece < PIECES * epoch -> claimed++; won = true
       :: else -> won = false
       fi
     }
     if
     :: won ->
        slot_data[filled % SLOTS] = source;
        slot_piece[filled % SLOTS] = piece;
        filled++;
        slot_filled[(filled - 1) % SLOTS] = filled
     :: else
     fi
  :: else
  fi
}

proctype sender() {
  byte epoch = 1, filled, filled_before, piece;
  bool won;
  do
  :: epoch <= EPOCHS ->
     source = epoch;
     filled_before = filled;
     if
     :: fill()
     :: skip                                           // its rank computes
     fi;
     ready = epoch;
     do
     :: taken == epoch -> break
     :: filled - filled_before == PIECES -> break      // it has claimed all of them
#ifdef LEAVES
     :: claimed == PIECES * epoch -> break
#endif
     :: claimed < PIECES * epoch && has_room -> fill()
     od;
     epoch++
  :: epoch > EPOCHS -> break
  od
}

proctype receiver() {
  byte epoch = 1, received, emptied_here, piece, count, i;
  bool got[PIECES];
  bool won;
  do
  :: epoch <= EPOCHS ->
     ready >= epoch;
     assert(ready <= epoch + 1);
     do
     :: received == PIECES * epoch -> break
     :: received < PIECES * epoch && slot_filled[emptied_here % SLOTS] == emptied_here + 1 ->
        piece = slot_piece[emptied_here % SLOTS];
        assert(piece >= PIECES * (epoch - 1) && piece < PIECES * epoch);
        assert(!got[piece % PIECES]);
        got[piece % PIECES] = true;
        assert(slot_data[emptied_here % SLOTS] == epoch);
        assert(slot_piece[emptied_here % SLOTS] == piece); // nobody has filled it meanwhile
        received++;
        emptied_here++;
        emptied = emptied_here
     :: received < PIECES * epoch && claimed < PIECES * epoch -> // it goes on by itself
        piece = claimed;
        if
        :: piece < PIECES * epoch ->
           count = (PIECES * epoch - piece + 1) / 2;
           atomic {                                    // compare_exchange_strong
             if
#ifdef UNDIVIDED
             :: won = true
#else
             :: claimed == piece -> claimed = piece + count; won = true
             :: else -> won = false
#endif
             fi
           }
           i = 0;
           do
           :: won && i < count ->
              assert(!got[(piece + i) % PIECES]);
              got[(piece + i) % PIECES] = true;
              assert(source == epoch);
              received++;
              i++
           :: else -> break
           od
        :: else
        fi
     od;
     i = 0;
     do
     :: i < PIECES -> assert(got[i]); got[i] = false; i++
     :: i == PIECES -> break
     od;
     taken = epoch;
     epoch++
  :: epoch > EPOCHS -> break
  od
}

init {
  atomic { run sender(); run receiver() }
}
