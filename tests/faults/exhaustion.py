#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lets resources of MPI jobs run out at random moments, on one rank or on all, and in half of the jobs come back later.

  exhaustion.py MPI PROGRAMS DROP_IN SOAK
      MPI: mpich | openmpi; PROGRAMS: folder with exchange_loop and libexhaust_shim.so
      DROP_IN, SOAK: the library and tests/soak's program

From the environment: FAULT_MOMENTS (7; so many jobs), FAULT_SEED (each run prints its own; job N of seed S is the
first job of seed S + N), EXHAUSTION (one kind alone).

A job may end well: then its results are right. Or it ends with an error, of the engine or of the MPI library, and with
a word about it. No wrong results, nothing left behind, and these two, where the MPI library may be to blame:
  A crash is stoker's if its code is the first in the list of callers that is not the system's (exhaust_shim.c).
  A job that does not end is stoker's if the MPI library has not reported an error of its own (UCX's "shmat failed", after
  which MPICH's messages are lost), and the program ends without stoker in the same plight, three times.

Exit: 0 passed, 1 failed.
"""
import collections
import os
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from faults import Failed, Job, all_but_launchers, expect

RANKS = 4
FOR_EVER = 10 ** 9  # ms
# Seconds. An unharmed job takes one or two.
LONGEST = 30
# What the MPI library, or what is below it, says of itself; launchers say something of every end.
LIBRARY_ERROR = re.compile(r'UCX\s+(ERROR|FATAL)|Fatal error in|An error occurred|A system call failed|PML add procs failed|'
                           r'PMIX ERROR|It looks like|[Oo]ut of (dynamic )?memory|Too many open files|[Cc]annot allocate|error while loading')
ENGINE_ERROR = re.compile(r'rank \d+: code \d+, ')
PROGRAM_ERROR = re.compile(r'FAILED rank \d+: .*: MPI_Comm_dup: ')
WRONG = re.compile(r'wrong element|int \d+ of \d+ in the .* buffer is|is not as it must be|beside the calls is wrong')


class ControlGroup:
    """A control group for memory, of either version, or None in `folder` where none can be made."""

    def __init__(self):
        self.folder, self.limit_file = None, ''
        for base, limit in (('/sys/fs/cgroup/memory', 'memory.limit_in_bytes'), ('/sys/fs/cgroup', 'memory.max')):
            folder = Path(base) / f'stoker-faults-{os.getpid()}'
            try:
                folder.mkdir()
            except OSError:
                continue
            if (folder / limit).exists():
                self.folder, self.limit_file = folder, limit
                return
            folder.rmdir()

    def limit(self, pids, number):
        for pid in pids:
            (self.folder / 'cgroup.procs').write_text(str(pid))
        (self.folder / self.limit_file).write_text(str(number))

    def lift(self):
        (self.folder / self.limit_file).write_text('-1' if self.limit_file != 'memory.max' else 'max')

    def remove(self):
        for _ in range(50):
            try:
                return self.folder.rmdir()
            except OSError:  # its processes are about to end
                time.sleep(0.1)
        return print(f'{self.folder} cannot be removed', file=sys.stderr)


class Plight:
    """What runs out, where and when. `by_shim`: inside the processes; else somebody has to do it from outside."""

    def __init__(self, draw, kind, life):
        self.kind = kind
        self.victim = draw.choice([-1, *range(RANKS)])
        self.moment = draw.random() * life
        self.comes_back = draw.random() < 0.5
        self.duration = draw.random() * life if self.comes_back else FOR_EVER
        self.room = draw.choice([0, 1, 3, 8]) if kind == 'descriptors' else int(2 ** draw.uniform(16, 27))
        self.tags = draw.randrange(2, 300)
        self.which = draw.random()
        self.group = None

    def __str__(self):
        where = 'all ranks' if self.victim < 0 else 'one rank'
        back = f', back {self.duration:.3f} s later' if self.comes_back else ''
        if self.kind == 'tags':
            return f'{self.tags} tags'
        return f'{self.kind} of {where} at {self.moment:.3f} s{back}, room {self.room}'

    def environment(self):
        kind = self.kind if self.kind in ('threads', 'segments', 'communicators') else 'nothing'
        return [f'EXHAUST_WHAT={kind}', f'EXHAUST_RANK={self.victim}', f'EXHAUST_FROM={1e3 * self.moment}',
                f'EXHAUST_UNTIL={1e3 * (self.moment + self.duration)}',
                f'EXHAUST_TAGS={self.tags if self.kind == "tags" else 0}']

    def come(self, job):
        """From outside, at its moment; and goes again."""
        if self.kind not in ('address space', 'descriptors', 'control group'):
            return
        time.sleep(self.moment)
        pids = sorted(all_but_launchers(job))
        if self.victim >= 0 and pids:
            pids = [pids[int(self.which * len(pids))]]
        limits = [pair for pair in map(self.narrow, pids) if pair]
        if self.kind == 'control group' and pids:
            self.group = ControlGroup()
            try:
                self.group.limit(pids, sum(resident(pid) for pid in pids) + self.room)
            except OSError:
                pass  # they have ended
        if self.comes_back:
            try:
                job.process.wait(self.duration)
            except subprocess.TimeoutExpired:
                pass
            for pid, which, before in limits:
                set_limit(pid, which, before)
            if self.group:
                self.group.lift()

    def narrow(self, pid):
        try:
            if self.kind == 'address space':
                pages = int(Path(f'/proc/{pid}/statm').read_text().split()[0])
                which, most = resource.RLIMIT_AS, pages * resource.getpagesize() + self.room
            elif self.kind == 'descriptors':
                which, most = resource.RLIMIT_NOFILE, len(os.listdir(f'/proc/{pid}/fd')) + self.room
            else:
                return None
        except OSError:
            return None
        before = set_limit(pid, which, most)
        return before and (pid, which, before)

    def end(self):
        if self.group:
            self.group.remove()


def resident(pid):
    try:
        return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def set_limit(pid, which, soft):
    try:
        before, hard = resource.prlimit(pid, which)
        resource.prlimit(pid, which, (soft if hard < 0 else min(soft, hard), hard))
        return before
    except (OSError, ValueError):
        return None


def end_of(job, plight, is_ours, without_stoker):
    """How a job ended, in a word. Throws Failed."""
    try:
        status = job.end(LONGEST)
    except Failed:
        if LIBRARY_ERROR.search(job.text()):
            return 'the MPI library reports an error, and does not end'
        expect(without_stoker(), 'it does not end, and without stoker it does')
        return 'it does not end, nor without stoker'
    text = job.text()
    crashes = [path.read_text() for path in job.folder.glob('crash.*')]
    ours = [crash for crash in crashes if is_ours(crash.splitlines()[0])]
    expect(not ours, f'stoker crashed: {ours}')
    wrong = WRONG.search(text)
    expect(not wrong, f'wrong results: {wrong and wrong.group()}')
    job.expect_clean()
    if status == 0:
        expect(not re.search('FAILED', text), 'it reports a failure, and success')
        return 'right'
    if crashes:
        return 'the MPI library or the program crashed'
    if plight.kind == 'control group' and re.search(r'signal[: ]+9|SIGKILL|EXIT CODE: 9', text):
        return 'killed by the system'
    said = [error.search(text) for error in (ENGINE_ERROR, PROGRAM_ERROR, LIBRARY_ERROR)]
    expect(any(said), f'it ended with status {status}, and without a word of its own: {text[-2000:]!r}')
    return 'an error'


def programs(mpi, folder, drop_in, soak):
    """What runs: by name, a function from environment to Job, and whether there is stoker in it."""
    shim = str(folder / 'libexhaust_shim.so')

    def exchange(*settings):
        return lambda environment: Job(mpi, folder, RANKS, [], command=[
            'env', f'LD_PRELOAD={shim}', *environment, str(folder / 'exchange_loop'), '--epochs', '100', '--block', '20000',
            *settings])

    def calls(library, *settings):  # not --strict: any call may be left to the MPI library, with its defects
        return lambda environment: Job(mpi, folder, RANKS, [], command=[
            'env', 'LD_PRELOAD=' + ':'.join([*library, shim]), *environment, *settings, soak])

    return {
        'exchange': exchange('executor=engine'),
        'exchange, two nodes': exchange('executor=auto', 'ranks_per_node=2'),
        'exchange, inline': exchange('executor=inline'),
        'calls': calls([drop_in]),
        'calls, two nodes': calls([drop_in], 'STOKER_RANKS_PER_NODE=2', 'STOKER_PMPI_LEAST_BYTES=0'),
        'calls, all': calls([drop_in], 'STOKER_PMPI_BLOCKING=1', 'STOKER_PMPI_LEAST_BYTES=0', 'STOKER_PMPI_TRIALS=0'),
        'library alone': calls([]),
    }


def run_one(seed, number, kinds, jobs, lives):
    draw = random.Random(seed)
    kind = kinds[number % len(kinds)]
    name = draw.choice([name for name in jobs if name != 'library alone'])
    # The program itself must get on without new threads, and with a communicator that it is refused. Other errors are to
    # be seen, so they end it.
    one_thread = kind == 'threads' or sys.argv[1] == 'openmpi' or draw.random() < 0.5
    os.environ.update(SOAK_SECONDS='0', SOAK_SEED=str(seed), SOAK_THREADS='1' if one_thread else '2',
                      SOAK_ERRORS_ARE_FATAL='0' if kind == 'communicators' else '1')
    if name not in lives:
        with jobs[name]([]) as job:
            begin = time.monotonic()
            expect(job.end() == 0, f'{name}: the job fails although nothing runs out')
            lives[name] = time.monotonic() - begin
            job.expect_clean()
    plight = Plight(draw, kind, lives[name])

    def without_stoker():
        for _ in range(3):
            with jobs['library alone'](plight.environment()) as job:
                plight.come(job)
                try:
                    job.end(LONGEST)
                except Failed:
                    return True
                finally:
                    plight.end()
        return False

    with jobs[name](plight.environment()) as job:
        try:
            plight.come(job)
            end = end_of(job, plight, lambda line: 'stoker' in Path(line).name or 'exchange_loop' in line, without_stoker)
        except Failed as failure:
            raise Failed(f'FAULT_SEED={seed} EXHAUSTION={kind!r}, {name}, {plight}: {failure}') from None
        finally:
            plight.end()
    print(f'{seed}: {name}, {plight}: {end}', file=sys.stderr, flush=True)
    return kind, end


def main():
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 64
    mpi, folder, drop_in, soak = sys.argv[1:]
    seed = int(os.environ.get('FAULT_SEED') or time.time_ns() % 1000000)
    count = int(os.environ.get('FAULT_MOMENTS') or 7)
    print(f'FAULT_SEED={seed} FAULT_MOMENTS={count}', file=sys.stderr)
    os.environ['UCX_HANDLE_ERRORS'] = 'none'  # the shim does
    kinds = ['threads', 'segments', 'address space', 'descriptors', 'communicators', 'tags', 'control group']
    group = ControlGroup()
    if group.folder:
        group.remove()
    else:
        print('skipped: no control group for memory can be made here', file=sys.stderr)
        kinds.remove('control group')
    kinds = [os.environ['EXHAUSTION']] if os.environ.get('EXHAUSTION') else kinds
    jobs, lives, ends = programs(mpi, Path(folder).resolve(), drop_in, soak), {}, collections.Counter()
    failures = []
    for number in range(count):
        try:
            ends[run_one(seed + number, number, kinds, jobs, lives)] += 1
        except Failed as failure:
            print(f'FAILED: {failure}', file=sys.stderr, flush=True)
            failures.append(str(failure))
    for (kind, end), times in sorted(ends.items()):
        print(f'{kind}: {end}: {times}', file=sys.stderr)
    print(''.join(f'FAILED: {failure}\n' for failure in failures), file=sys.stderr, end='')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
