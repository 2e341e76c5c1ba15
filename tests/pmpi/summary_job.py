# SPDX-License-Identifier: BSD-3-Clause
"""Tests that look into the drop-in library's summary of a job, besides what the job's program checks itself."""
import subprocess
import sys
import tempfile


def check(arguments, mistakes_in, *settings):
    """Runs `MPIRUN MPI RANKS LIBRARY PROGRAM SECTION [SETTING=VALUE...]`. mistakes_in(section, lines of the summary, settings) returns
    texts. Ends the test."""
    mpirun, mpi, ranks, library, program, section, *more = arguments
    settings = [*settings, *more]
    with tempfile.NamedTemporaryFile(mode='r', suffix='.summary') as summary:
        job = subprocess.run([mpirun, mpi, ranks, 'env', f'LD_PRELOAD={library}', f'STOKER_PMPI_SUMMARY={summary.name}', *settings,
                              program, section], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        text = summary.read()
    print(job.stdout, text, sep='\n')
    if job.returncode != 0:
        sys.exit(job.returncode)
    mistakes = mistakes_in(section, text.splitlines(), settings)
    for mistake in mistakes:
        print('FAILED:', mistake)
    sys.exit(1 if mistakes else 0)
