#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who carries out small nonblocking collectives between nodes: those that are waited for at once never leave the MPI library, those
that are computed beside are tried with the engine. Answers are checked by the program.

  small_calls.py MPIRUN MPI RANKS LIBRARY PROGRAM SECTION [SETTING=VALUE...]
"""
import re
import sys

import summary_job

LEFT = re.compile(r'nonblocking +(\d+)  shorter than')
ROW = re.compile(r'^(\w+) +nonblocking .* (\d+)%  ')


def mistakes_in(section, lines, _settings):
    by_mpi = {match[1]: int(match[2]) for match in map(ROW.match, lines) if match}
    left = sum(int(count) for count in LEFT.findall('\n'.join(lines)))
    wrong = []
    if section == 'at-once' and set(by_mpi.values()) != {100}:
        wrong.append('a call that is waited for at once was the engine\'s')
    if section in ('at-once', 'mixed') and left == 0:
        wrong.append('no call passed')
    if section in ('overlapped', 'one-sleeps') and by_mpi.get('allreduce', 100) == 100:
        wrong.append('the engine was not tried')
    return wrong


if __name__ == '__main__':
    summary_job.check(sys.argv[1:], mistakes_in, 'STOKER_RANKS_PER_NODE=1')
