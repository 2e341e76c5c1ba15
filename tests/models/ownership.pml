// SPDX-License-Identifier: BSD-3-Clause
// Life of a block between its rank and the helper (engine/shared/ownership.hpp, engine/execute/progress.cpp). The rank
// starts epochs and waits for each, passively or by assisting; after some epochs it frees the request and uses the
// memory for the next one. The entries that it pushed may be popped long after: one entry stands for all epochs that are
// started before it is popped. To be proved:
//   every step of every epoch is executed, and once only (assertions at the end of Wait);
//   what only the executor may touch is touched by one at a time (assertion in `touch`);
//   nobody accesses a block after its memory has been used for another request (assertion in `valid`);
//   no deadlock (invalid end states), and everything ends under a fair scheduler (ltl everything_ends).
// Sequentially consistent memory is enough here: every hand-over is a release store or a full queue that the other side
// acquires, and no step depends on a store being seen before an own later load (that is the doorbell's business).
//
// Compiled with one of these the proof must fail:
//   NO_OWNERSHIP           both execute without asking
//   NO_EPOCH_CHECK         the helper executes what an entry announces without looking whether it is complete
//   REUSE_AT_COMPLETION    the rank uses the memory anew as soon as its last epoch is complete
//   RETIRE_BEFORE_RELEASE  the helper's last access is the release of the ownership
//   LOOK_BEFORE_CLEAR      the helper learns which epoch an entry stands for before it says that the entry is out
//   DROP_WHEN_BUSY         the helper drops an entry when the rank holds the ownership, trusting it to finish
#define REQUESTS 3
#define EPOCHS 3
#define STEPS 2
#define NOBODY 0
#define HELPER 1
#define RANK 2

chan ring = [2] of { byte };        // request (for the proof only: an entry really names the block's offset)

// The block.
byte request;                       // whose memory it is now
byte owner;
byte steps_left;                    // plain memory
byte completed;
byte submitted;                     // the newest epoch that the entry in the ring stands for; 0: there is none
byte retired;

byte executed;                      // steps executed in this epoch
byte touching;                      // executors and Start within the plain memory
bool finished;

inline valid(mine) {
  assert(mine == request)
}

// The plain memory is used for a while, not in one instant.
inline touch_begin() {
  atomic { assert(touching == 0); touching++ }
}
inline touch_end() {
  touching--
}

inline try_acquire(me, mine, got) {
  atomic {
    valid(mine);
#ifndef NO_OWNERSHIP
    if
    :: owner == NOBODY -> owner = me; got = true
    :: else -> got = false
    fi
#else
    got = true
#endif
  }
}
inline release(mine) {
  atomic { valid(mine); owner = NOBODY }
}

// By the holder, in an epoch that is not complete: one step.
inline advance(mine, epoch) {
  touch_begin();
  valid(mine);
  assert(steps_left > 0);
  steps_left--;
  executed++;
  touch_end();
  if
  :: steps_left == 0 -> atomic { valid(mine); completed = epoch }
  :: else
  fi
}

active proctype rank() {
  byte mine;
  byte epoch;
  bool has_entry;
  bool got;
  for (mine : 1 .. REQUESTS) {
    // The memory of the former request, if any, is free to use.
#ifndef REUSE_AT_COMPLETION
    retired == epoch;
#endif
    atomic {
      assert(submitted == 0);
      request = mine; completed = 0; retired = 0; owner = NOBODY; epoch = 0
    }
    do
    :: epoch < EPOCHS ->
       epoch++;
       executed = 0;
       // Start
       touch_begin();
       steps_left = STEPS;
       touch_end();
       atomic { has_entry = submitted != 0; submitted = epoch };
       if
       :: !has_entry -> ring ! mine
       :: else
       fi;
       // Wait
       do
       :: true -> completed >= epoch; break           // asleep until then, whatever was begun
       :: completed < epoch ->                        // assist
          try_acquire(RANK, mine, got);
          if
          :: got ->
             if
             :: completed < epoch -> advance(mine, epoch)
             :: else
             fi;
             release(mine)
          :: else
          fi
       od;
       assert(executed == STEPS && steps_left == 0)
    :: epoch > 0 -> break                             // free
    od
  };
  finished = true
}

active proctype helper() {
  byte latest;
  byte mine;
  byte epoch;
  byte popped;
  bool listed;
  bool got;
  bool over;
end:
  do
  :: ring ? popped ->
     assert(!listed || popped == mine);               // else the memory was used anew while it was listed
     valid(popped);
#ifndef LOOK_BEFORE_CLEAR
     atomic { epoch = submitted; submitted = 0 };
#else
     epoch = submitted;
     submitted = 0;
#endif
     atomic { latest = epoch; mine = popped; listed = true; epoch = 0; popped = 0 }
  :: listed ->
     try_acquire(HELPER, mine, got);
     if
     :: got ->
#ifndef NO_EPOCH_CHECK
        over = completed >= latest;
#else
        over = false;
#endif
        if
        :: !over -> advance(mine, latest)
        :: else
        fi;
        over = completed >= latest;
#ifdef RETIRE_BEFORE_RELEASE
        if
        :: over -> atomic { valid(mine); retired = latest }
        :: else
        fi;
        release(mine);
#else
        release(mine);
        if
        :: over -> atomic { valid(mine); retired = latest }
        :: else
        fi;
#endif
        if
        :: over -> listed = false
        :: else
        fi
     :: else ->
#ifdef DROP_WHEN_BUSY
        atomic { valid(mine); retired = latest; listed = false }
#else
        skip
#endif
     fi;
     got = false
  od
}

ltl everything_ends { <> finished }
