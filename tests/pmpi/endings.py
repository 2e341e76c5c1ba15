#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that leave without MPI_Finalize while calls are under way end as they do without the drop-in library.

  endings.py MPIRUN MPI RANKS LIBRARY GUEST

MPIRUN: tests/rig/mpirun, which fails with 124 when a job hangs.
"""
import os
import subprocess
import sys


def run(mpirun, mpi, ranks, guest, section, settings):
    """Whether the job reports success, and what it printed."""
    line = [mpirun, mpi, ranks, 'env', *settings, guest, section]
    job = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env=dict(os.environ, RIG_TIMEOUT='40'))
    if job.returncode == 124 and 'stopped after' in job.stdout:
        return 'hangs', job.stdout
    return 'succeeds' if job.returncode == 0 else 'fails', job.stdout


def best(mpirun, mpi, ranks, guest, section, settings):
    """The same, of several runs until the job reports success where all ranks leave with success: Hydra kills those that
    are still there when it learns that the first has left, so that one run says little, with the library and without."""
    for _ in range(20 if mpi != 'openmpi' and section == 'exit-everywhere' else 1):
        ends, output = run(mpirun, mpi, ranks, guest, section, settings)
        if ends != 'fails' or 'terminate called' in output:  # an exception of ours
            break
    return ends, output


def main():
    mpirun, mpi, ranks, library, guest = sys.argv[1:]
    wrong = 0
    for section in ('exit-everywhere', 'exit-of-one', 'sudden-exit-of-one'):
        alone, _ = best(mpirun, mpi, ranks, guest, section, [])
        for settings in ([], ['STOKER_RANKS_PER_NODE=1'], ['STOKER_EXECUTOR=inline']):
            ends, output = best(mpirun, mpi, ranks, guest, section, [f'LD_PRELOAD={library}', *settings])
            if ends != alone or 'terminate called' in output:
                print(f'{section} {" ".join(settings)}: the job {ends}, and without the library it {alone}\n{output}',
                      file=sys.stderr)
                wrong += 1
            print(f'{section} {" ".join(settings)}: the job {ends}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
