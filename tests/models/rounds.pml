// SPDX-License-Identifier: BSD-3-Clause
// Requests for graphs (engine/calls/graph_family.cpp). Each of two ranks asks for those of each graph once, in any
// order. Its thread makes them in rounds, while it has asked for any that are not made. In a round the ranks meet, each
// with the first graph that it has asked for; all make the requests of the first of those, for which they meet again. A
// deadlock is an invalid end state. The assertion fails if ranks make requests of different graphs at the same time.
//
// Compiled with one of these the proof must fail:
//   OWN_ORDER     each rank makes what it has asked for itself
//   ASKED_ONLY    a rank leaves out what it has not asked for yet
#define GRAPHS 3

bool asked[2 * GRAPHS], made[2 * GRAPHS];
#define OF(rank, graph) ((rank) * GRAPHS + (graph))

// Collective calls of the MPI library, each with a graph: the agreement, which returns the first one, and the making.
chan agreement[2] = [0] of { byte };
chan first[2] = [0] of { byte };
chan making[2] = [0] of { byte };
chan complete[2] = [0] of { byte };

proctype agreements() {
  byte a, b;
end:
  do
  :: agreement[0]?a;
     agreement[1]?b;
     a = (a < b -> a : b);
     first[0]!a;
     first[1]!a
  od
}

proctype makings() {
  byte a, b;
end:
  do
  :: making[0]?a;
     making[1]?b;
     assert(a == b);
     complete[0]!a;
     complete[1]!a
  od
}

proctype thread(byte rank) {
  byte graph;
end:
  do
  :: d_step {
       graph = 0;
       do
       :: graph < GRAPHS && (!asked[OF(rank, graph)] || made[OF(rank, graph)]) -> graph++
       :: else -> break
       od
     }
     if
     :: graph == GRAPHS -> // it sleeps until there is something
end_idle:
        (asked[OF(rank, 0)] && !made[OF(rank, 0)]) || (asked[OF(rank, 1)] && !made[OF(rank, 1)]) ||
        (asked[OF(rank, 2)] && !made[OF(rank, 2)])
     :: else ->
#ifndef OWN_ORDER
        agreement[rank]!graph;
        first[rank]?graph;
#endif
#ifdef ASKED_ONLY
        if
        :: asked[OF(rank, graph)] ->
#endif
        making[rank]!graph;
        complete[rank]?graph;
        made[OF(rank, graph)] = true
#ifdef ASKED_ONLY
        :: else
        fi
#endif
     fi
  od
}

proctype application(byte rank) {
  do
  :: asked[OF(rank, 0)] && asked[OF(rank, 1)] && asked[OF(rank, 2)] -> break
  :: !asked[OF(rank, 0)] -> asked[OF(rank, 0)] = true
  :: !asked[OF(rank, 1)] -> asked[OF(rank, 1)] = true
  :: !asked[OF(rank, 2)] -> asked[OF(rank, 2)] = true
  od;
  made[OF(rank, 0)] && made[OF(rank, 1)] && made[OF(rank, 2)]
}

init {
  atomic {
    run agreements();
    run makings();
    run thread(0);
    run thread(1);
    run application(0);
    run application(1)
  }
}
