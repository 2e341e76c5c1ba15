// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks have the library (api/pmpi/presence.cpp): four ranks, 0 above 1 and 2, and 2 above 3. Any of them may
// lack it, and any time limit may end at any time. Those that have it must end, and agree.
//
// Compiled with one of these the proof must fail:
//   ONE_ROUND     "all are here" is the decision: a rank that has given up goes on without the others
//   SILENT        a rank that gives up does not tell: its parent waits for it for ever
#define ALL 1
#define MISSING 2
#define YES 3
#define NO 4

chan up[4] = [2] of { byte };
chan down[4] = [2] of { byte };
bool lacks[4];
byte decision[4];
byte ended;
byte have;

inline end_with(answer) {
  decision[rank] = answer;
  ended++
}

// The word of a child, or that it was waited for too long.
inline hear(child, word) {
  word = MISSING;
  if
  :: child == 0
     -> word = ALL
  :: child != 0 && nempty(up[child])
     -> up[child]?word
  :: child != 0 // the limit
  fi
}

inline tell(answer) {
  if
  :: first != 0 && said_first == ALL -> down[first]!answer
  :: else
  fi;
  if
  :: second != 0 && said_second == ALL -> down[second]!answer
  :: else
  fi
}

proctype member(byte rank; byte first; byte second) {
  byte said_first, said_second, word, answer;
  hear(first, said_first);
  hear(second, said_second);
  if
  :: rank != 0 && (said_first != ALL || said_second != ALL) -> up[rank]!MISSING
  :: rank != 0 && said_first == ALL && said_second == ALL -> up[rank]!ALL
  :: rank == 0
  fi;
  if
  :: said_first != ALL || said_second != ALL ->
     tell(NO);
     end_with(NO);
     goto over
  :: else
  fi;
  if
  :: rank != 0 ->
     word = NO;
     if
     :: down[rank]?word
     :: true -> // the limit
#ifndef SILENT
        up[rank]!NO
#endif
     fi;
     if
     :: word == NO ->
        tell(NO);
        end_with(NO);
        goto over
     :: else
     fi
  :: else
  fi;
  tell(YES);
#ifdef ONE_ROUND
  end_with(YES);
#else
  answer = YES;
  if
  :: first != 0 -> up[first]?word; if :: word == NO -> answer = NO :: else fi
  :: else
  fi;
  if
  :: second != 0 -> up[second]?word; if :: word == NO -> answer = NO :: else fi
  :: else
  fi;
  if
  :: rank != 0 -> up[rank]!answer; down[rank]?answer
  :: else
  fi;
  tell(answer);
  end_with(answer);
#endif
over: skip
}

init {
  byte rank;
  for (rank : 0 .. 3) {
    if
    :: lacks[rank] = true
    :: have++
    fi
  }
  atomic {
    if :: !lacks[0] -> run member(0, 1, 2) :: else fi;
    if :: !lacks[1] -> run member(1, 0, 0) :: else fi;
    if :: !lacks[2] -> run member(2, 3, 0) :: else fi;
    if :: !lacks[3] -> run member(3, 0, 0) :: else fi
  }
  ended == have;
  for (rank : 0 .. 3) {
    assert(have < 4 -> decision[rank] != YES : decision[rank] == decision[0])
  }
}
