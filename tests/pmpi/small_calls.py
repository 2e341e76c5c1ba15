#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who carries out small nonblocking collectives between nodes: those that are waited for at once never leave the MPI library, those
that are computed beside are tried with the engine. Answers are checked by the program.

  small_calls.py MPIRUN MPI RANKS LIBRARY PROGRAM SECTION [SETTING=VALUE...]
"""
import os
import re
import subprocess
import sys
import tempfile

LEFT = re.compile(r'nonblocking +(\d+)  shorter than')
ROW = re.compile(r'^(\w+) +nonblocking .* (\d+)%  ')


def main():
    mpirun, mpi, ranks, library, program, section, *settings = sys.argv[1:]
    with tempfile.NamedTemporaryFile(mode='r', suffix='.summary') as summary:
        job = subprocess.run([mpirun, mpi, ranks, 'env', f'LD_PRELOAD={library}', 'STOKER_RANKS_PER_NODE=1',
                              f'STOKER_PMPI_SUMMARY={summary.name}', *settings, program, section],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        text = summary.read()
    print(job.stdout, text, sep='\n')
    if job.returncode != 0:
        return job.returncode
    by_mpi = {match[1]: int(match[2]) for match in map(ROW.match, text.splitlines()) if match}
    left = sum(int(count) for count in LEFT.findall(text))
    wrong = []
    if section == 'at-once' and set(by_mpi.values()) != {100}:
        wrong.append('a call that is waited for at once was the engine\'s')
    if section in ('at-once', 'mixed') and left == 0:
        wrong.append('no call passed')
    if section in ('overlapped', 'one-sleeps') and by_mpi.get('allreduce', 100) == 100:
        wrong.append('the engine was not tried')
    for line in wrong:
        print('FAILED:', line)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
