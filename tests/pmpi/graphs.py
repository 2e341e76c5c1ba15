#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who carries out calls on communicators with a graph, for those sections of graphs.c in which that is certain. Answers are checked by
the program.

  graphs.py MPIRUN MPI RANKS LIBRARY PROGRAM SECTION [SETTING=VALUE...]
"""
import re
import sys

import summary_job

ROW = re.compile(r'^neighbor_\w+ +nonblocking +\S+ +(\d+) .* (\d+)%  ')
LEFT = re.compile(r'^neighbor_\w+ +nonblocking +(\d+)  (.*)')


def mistakes_in(section, lines, settings):
    rows = [(int(calls), int(percent)) for calls, percent in (match.groups() for match in map(ROW.match, lines) if match)]
    left = [match[2] for match in map(LEFT.match, lines) if match]
    wrong = []
    if section != 'absent' and not rows:
        wrong.append('no call was looked after')
    if section in ('often', 'many', 'other-calls') and all(percent == 100 for _, percent in rows):
        wrong.append('the engine carried out none')
    if 'STOKER_PMPI_TRIALS=0' in settings and any(percent != 0 for _, percent in rows):
        wrong.append('the MPI library carried out a call, without trials')
    if section == 'few' and 'STOKER_PMPI_TRIALS=0' not in settings and any(percent != 100 for _, percent in rows):
        wrong.append('the engine carried out calls on a graph with few')
    if section == 'many' and 'STOKER_PMPI_TRIALS=0' not in settings and not any('hardly called' in reason for reason in left):
        wrong.append('graphs that are hardly called were served')
    if section == 'absent' and not any('no neighbors' in reason for reason in left):
        wrong.append('a graph was served in which a rank has no neighbors')
    return wrong


if __name__ == '__main__':
    summary_job.check(sys.argv[1:], mistakes_in)
