#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Injures MPI jobs and checks how they end: in bounded time, with a clear message, with nothing left behind.

  faults.py MPI PROGRAMS SCENARIO [DROP_IN SOAK]
      MPI: mpich | openmpi; PROGRAMS: folder with exchange_loop, transfer_loop and deny_syscalls
      DROP_IN, SOAK: for the scenarios `moments` and `moments_on_hosts`, the library and tests/soak's program

From the environment, for those two: FAULT_MOMENTS (8), FAULT_SEED (each run prints its own).

Exit: 0 passed, 1 failed, 77 skipped.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 200  # seconds that any job may take to end once it should
MARK = 'FAULT_TEST_JOB'  # not STOKER_*: those are settings
# Files that the MPI libraries themselves leave in /dev/shm when a process is killed: not ours to judge.
FOREIGN_SHM = re.compile(r'^(vader_segment|mpich_shar_tmp|ucx_shm|osc_|sm_segment|psm|sem\.|__KMP)')


class Failed(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Job:
    """One MPI job in a session and a folder of its own."""

    def __init__(self, mpi, programs, ranks, arguments, wrap=None, wrapped_ranks=None, extra=(), program='exchange_loop',
                 command=None, launch=None):
        self.shm_before = set(os.listdir('/dev/shm'))
        self.folder = Path(tempfile.mkdtemp(prefix='fault.'))
        self.ranks = ranks
        # Where cross-memory attach is refused UCX turns to TCP, over which MPICH 4.0's MPI_Finalize hangs at times: keep it
        # on its shared memory transports.
        environment = dict(os.environ, TMPDIR=str(self.folder), UCX_TLS='self,posix,sysv')
        environment[MARK] = str(self.folder)
        program = command or [str(programs / program), '--folder', str(self.folder), *arguments]
        if not launch:
            shim = f'{programs.parent}/rig/libnap_shim.so'  # ranks that wait leave the core to others
            program = [re.sub('^LD_PRELOAD=', f'LD_PRELOAD={shim}:', word) for word in program]
        wrapped = [str(programs / 'deny_syscalls'), wrap, *program] if wrap else program
        if launch:
            line = [*launch]
        elif mpi == 'mpich':
            line = ['mpiexec.mpich', '-launcher', 'fork', '-genv', 'LD_PRELOAD', shim, *extra]
        else:
            line = ['mpirun.openmpi', '--oversubscribe', '--bind-to', 'none', '--mca', 'mpi_yield_when_idle', '1',
                    '--mca', 'orte_tmpdir_base', str(self.folder),
                    '--mca', 'btl_vader_single_copy_mechanism', 'none', '-x', f'LD_PRELOAD={shim}', *extra]
            if os.geteuid() == 0:
                line.append('--allow-run-as-root')
        if wrapped_ranks is not None:  # by the ranks themselves: Open MPI 5.0.7's launcher crashes where there are two programs
            plain_ranks = ranks - wrapped_ranks
            wrapped = ['sh', '-c', 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" -lt "$0" ]; then shift 2; fi; exec "$@"',
                       str(plain_ranks), *wrapped]
        line += wrapped if launch else ['-n', str(ranks), *wrapped]
        self.output = tempfile.TemporaryFile(mode='w+')
        self.process = subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print('--- output of the job\n' + self.text() + '---', file=sys.stderr)
        for pid in self.processes() + [self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def text(self):
        # Without a change of the offset, which the job shares.
        return os.pread(self.output.fileno(), 1 << 24, 0).decode(errors='replace')

    def processes(self):
        """Everything that carries this job's mark in its environment."""
        mark = f'{MARK}={self.folder}'.encode()
        found = []
        for entry in Path('/proc').iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / 'environ').read_bytes().split(b'\0'):
                        found.append(int(entry.name))
                except OSError:
                    pass
        return found

    def pid_of(self, rank):
        """Waits until every rank has run some epochs."""
        deadline = time.monotonic() + LIMIT
        while not all((self.folder / str(r)).exists() for r in range(self.ranks)):
            expect(self.process.poll() is None, 'the job ended before it was injured')
            expect(time.monotonic() < deadline, 'the job does not get going')
            time.sleep(0.05)
        return int((self.folder / str(rank)).read_text())

    def stop(self):
        (self.folder / 'stop').touch()

    def end(self, limit=LIMIT):
        """Waits for the job to end by itself; returns its exit status."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise Failed(f'the job has not ended within {limit} s') from None

    def expect_clean(self):
        deadline = time.monotonic() + LIMIT
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        expect(not self.processes(), f'processes are left over: {self.processes()}')
        ours = [name for name in set(os.listdir('/dev/shm')) - self.shm_before if not FOREIGN_SHM.match(name)]
        expect(not ours, f'left in /dev/shm: {ours}')
        ours = [str(path) for path in self.folder.rglob('*') if 'stoker' in path.name.lower()]
        expect(not ours, f'left in the temporary folder: {ours}')

    def expect_right(self):
        status = self.end()
        text = self.text()
        expect(status == 0, f'exit status {status}')
        for rank in range(self.ranks):
            expect(f'rank {rank}: ok' in text, f'rank {rank} reports no success')
        return text

    def expect_error_on_all(self, code, *words):
        status = self.end()
        text = self.text()
        expect(status != 0, 'the job succeeded')
        for rank in range(self.ranks):
            line = next((line for line in text.splitlines() if f'rank {rank}: code ' in line), '')
            expect(f'rank {rank}: code {code},' in line, f'rank {rank} does not report code {code}: "{line}"')
            for word in words:
                expect(word in line, f'the error of rank {rank} does not mention "{word}": {line}')


ERR_RESOURCE, ERR_ACCESS, ERR_PEER_LOST = 6, 10, 11
NO_CMA = 'process_vm_readv,process_vm_writev'


def kill(mpi, programs):
    """A rank dies by kill -9: the launcher ends the job."""
    for victim, settings in ((0, ['executor=engine']), (3, ['executor=engine']),
                             (1, ['executor=engine', 'ranks_per_node=2']), (2, ['executor=inline'])):
        with Job(mpi, programs, 4, ['--block', '20000', *settings]) as job:
            os.kill(job.pid_of(victim), signal.SIGKILL)
            expect(job.end() != 0, 'the job reports success although a rank was killed')
            job.expect_clean()


def launcher_ends_survivors(mpi):
    if mpi != 'mpich':
        print('skipped: Open MPI 4 has no launcher option that keeps the other ranks of a job alive', file=sys.stderr)
    return mpi != 'mpich'


def errors_of_survivors(job, victim, afterwards=lambda: None):
    """What the other ranks report when one dies by kill -9; nothing when the launcher ended them first."""
    os.kill(job.pid_of(victim), signal.SIGKILL)
    afterwards()
    expect(job.end() != 0, 'the job reports success although a rank was killed')
    # The launcher may end one in the middle of its report.
    errors = [text for path in job.folder.glob('error.*') if (text := path.read_text())]
    if not errors:
        print('skipped: Hydra ended the other ranks with the killed one, before any could report', file=sys.stderr)
        return []
    return errors


def kill_survivors(mpi, programs):
    """A rank dies by kill -9 and the launcher lets the others live: each is told that a peer is lost."""
    if launcher_ends_survivors(mpi):
        return 77
    for victim in (3, 0):
        with Job(mpi, programs, 4, ['executor=engine'], extra=['-disable-auto-cleanup']) as job:
            errors = errors_of_survivors(job, victim)
            if not errors:
                return 77
            expect(any(f'code {ERR_PEER_LOST},' in error for error in errors), f'no rank reports a lost peer: {errors}')
            job.expect_clean()
    return 0


def kill_carrier(mpi, programs):
    """The carrier dies while units of its node have transfers with its helper, and the launcher lets them live."""
    if launcher_ends_survivors(mpi):
        return 77
    with Job(mpi, programs, 3, [], extra=['-disable-auto-cleanup'], program='transfer_loop') as job:
        errors = errors_of_survivors(job, 0)
        if not errors:
            return 77
        expect(all(f'code {ERR_PEER_LOST},' in error for error in errors), f'not only lost peers are reported: {errors}')
        job.expect_clean()
    return 0


def full_ring(mpi, programs):
    """The carrier dies, and units of its node then submit more than the ring to its helper holds."""
    if launcher_ends_survivors(mpi):
        return 77
    with Job(mpi, programs, 3, ['--fill'], extra=['-disable-auto-cleanup'], program='transfer_loop') as job:
        errors = errors_of_survivors(job, 0, job.stop)
        if not errors:
            return 77
        expect(all(f'code {ERR_PEER_LOST},' in error and 'whose helper takes what this rank starts' in error
                   for error in errors), f'not what a full ring says: {errors}')
        job.expect_clean()
    return 0


def injured_at(moment, draw, job):
    """Waits for that moment of the job's life, and kills a rank of it then. Whether there was one."""
    time.sleep(max(0.0, moment))
    found = all_but_launchers(job)
    if not found or job.process.poll() is not None:
        return False
    try:
        os.kill(draw.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_at_random_moments(jobs, check):
    """Runs each job unharmed, then kills ranks of jobs at moments between their begin and their end."""
    seed = int(os.environ.get('FAULT_SEED') or time.time_ns() % 1000000)
    count = int(os.environ.get('FAULT_MOMENTS') or 8)
    print(f'FAULT_SEED={seed} FAULT_MOMENTS={count}', file=sys.stderr)
    draw = random.Random(seed)
    lives = []
    for make in jobs:
        with make() as job:
            begin = time.monotonic()
            expect(job.end() == 0, 'the job fails although nobody injures it')
            lives.append(time.monotonic() - begin)
            print(f'job {len(lives) - 1} lives {lives[-1]:.2f} s', file=sys.stderr)
            job.expect_clean()
    killed, longest = 0, 0.0
    for number in range(count):
        which = draw.randrange(len(jobs))
        moment = draw.random() * lives[which]
        hit = False
        while not hit and moment > 0.001:
            with jobs[which]() as job:
                try:
                    hit = injured_at(moment, draw, job)
                    begin = time.monotonic()
                    job.end()
                    longest = max(longest, time.monotonic() - begin) if hit else longest
                    job.expect_clean()
                    check()
                except Failed as failure:
                    raise Failed(f'moment {number}, {moment:.3f} s of {lives[which]:.3f} s, job {which}: {failure}') from None
            moment /= 2  # if nobody was hit, the job lived less long than the one that was measured
        killed += hit
    print(f'{killed} of {count} jobs injured; the slowest took {longest:.2f} s to end', file=sys.stderr)
    expect(killed > 0, 'no rank was found to kill')


def all_but_launchers(job):
    """The ranks, from their first moment on. Hydra does not end when its own proxy is killed, whatever it runs."""
    found = []
    for pid in job.processes():
        try:
            name = Path(f'/proc/{pid}/comm').read_text().strip()
        except OSError:
            continue
        if not re.match(r'mpi(exec|run)|hydra_|orte|cluster|timeout|setpriv|nsenter|bash|sh$', name):
            found.append(pid)
    return found


def stray_stores(mpi, programs):
    """A rank writes random words to its own shared memory: it may crash, and no other rank may, nor wait for ever."""
    seed = int(os.environ.get('FAULT_SEED') or time.time_ns() % 1000000)
    count = max(3, int(os.environ.get('FAULT_MOMENTS') or 3) // 4)
    print(f'FAULT_SEED={seed}', file=sys.stderr)
    ways = (['wake=always'], ['access=staged'], [], ['access=cma', 'wake=always'])
    ends = {'the rank crashed': 0, 'errors': 0, 'no errors': 0}
    for number in range(seed, seed + count):
        victim, settings = number % 3 + 1, ways[number % len(ways)]
        with Job(mpi, programs, 4, ['--seed', str(number), '--victim', str(victim), *settings],
                 program='stray_stores') as job:
            try:
                job.end()
                told = {path.name: path.read_text() for path in job.folder.glob('[ciw]*.[0-3]')}
                others = [str(rank) for rank in range(4) if rank != victim]
                expect(not [name for name in told if name.startswith('wrong')], f'wrong data: {told}')
                expect(not [r for r in others if f'crash.{r}' in told], f'another rank crashed: {told}')
                expect(f'crash.{victim}' in told or all(f'intact.{r}' in told for r in others), f'it broke off: {told}')
                errors = ''.join(told.get(f'intact.{r}', '') for r in others).strip()
                expect('OTHERS' not in errors, f'an exchange without the rank failed: {errors}')
                expect(all(line.startswith(f'{ERR_PEER_LOST}:') for line in errors.splitlines() if line), errors)
                end = 'the rank crashed' if f'crash.{victim}' in told else 'errors' if errors else 'no errors'
                ends[end] += 1
                job.expect_clean()
            except Failed as failure:
                raise Failed(f'FAULT_SEED={number}, rank {victim}, {settings}: {failure}') from None
    print(f'ends: {ends}', file=sys.stderr)


def moments(mpi, programs, drop_in, soak):
    """A rank of a job dies by kill -9 at a random moment."""
    def exchange(*settings):
        return lambda: Job(mpi, programs, 4, ['--epochs', '100', '--block', '20000', *settings])

    def dropped_in(*settings):
        return lambda: Job(mpi, programs, 2, [], command=['env', f'LD_PRELOAD={drop_in}', *settings, soak, '--strict'])

    os.environ['SOAK_SECONDS'] = '0'
    kill_at_random_moments([exchange('executor=engine'), exchange('executor=engine', 'ranks_per_node=2'),
                            exchange('executor=inline'), dropped_in(), dropped_in('STOKER_RANKS_PER_NODE=1'),
                            dropped_in('STOKER_PMPI_BLOCKING=1', 'STOKER_PMPI_LEAST_BYTES=0')], lambda: None)


def moments_on_hosts(mpi, programs, drop_in, soak):
    """The same on emulated hosts, whose launcher (scripts/cluster run) ends what is left of a job itself."""
    cluster = str(Path(__file__).resolve().parents[2] / 'scripts' / 'cluster')
    os.environ.update(STOKER_CLUSTER=f'faults-{os.getpid()}', SOAK_SECONDS='0', SOAK_THREADS='1')
    up = subprocess.run([cluster, 'up', '2', '--rate', '10gbit'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if up.returncode == 77:
        print(f'skipped: {up.stdout}', file=sys.stderr)
        return 77
    expect(up.returncode == 0, up.stdout)
    launch = [cluster, 'run', '--mpi', mpi, '--ppn', '2', '--nap', '--']
    preloaded = ['env', f'LD_PRELOAD={drop_in}', soak, '--strict']  # behind the launcher's own libraries
    loop = [str(programs / 'exchange_loop'), '--epochs', '100', '--block', '20000']

    def expect_nothing_shared():
        for host in ('1', '2'):
            left = subprocess.run([cluster, 'shell', host, 'ls', '/dev/shm'], stdout=subprocess.PIPE, text=True, check=True)
            ours = [name for name in left.stdout.split() if not FOREIGN_SHM.match(name)]
            expect(not ours, f'left in /dev/shm of host {host}: {ours}')

    try:
        kill_at_random_moments([lambda: Job(mpi, programs, 4, [], command=loop, launch=launch),
                                lambda: Job(mpi, programs, 4, [], command=preloaded, launch=launch)], expect_nothing_shared)
    finally:
        subprocess.run([cluster, 'down'], check=False)
    return 0


def stall(mpi, programs):
    """A rank stops for a while: the others wait, name it, and the job completes."""
    for victim, settings in ((1, ['ranks_per_node=0']), (3, ['ranks_per_node=0']), (2, ['ranks_per_node=2'])):
        with Job(mpi, programs, 4, ['stall_seconds=1', *settings]) as job:
            pid = job.pid_of(victim)
            os.kill(pid, signal.SIGSTOP)
            named = re.compile(rf'^(?!rank \d+: ok).*\brank(\(s\))? (\d+, )*{victim}\b', re.MULTILINE)
            deadline = time.monotonic() + LIMIT
            while not named.search(job.text()) and time.monotonic() < deadline:
                time.sleep(0.1)
            os.kill(pid, signal.SIGCONT)
            job.stop()
            text = job.expect_right()
            expect(named.search(text), f'no message names rank {victim}')
            job.expect_clean()


def stalled_transfers(mpi, programs):
    """A unit of another node stops for a while: whoever puts into its memory says what it waits for."""
    os.environ.update(STOKER_STALL_SECONDS='1', STOKER_RANKS_PER_NODE='1')
    with Job(mpi, programs, 3, [], program='transfer_loop') as job:
        pid = job.pid_of(1)
        os.kill(pid, signal.SIGSTOP)
        report = re.compile(r'rank 0 has waited \d+ s for an operation on 100000 bytes of unit 1: '
                            r'messages with engine rank 1, which carries unit 1, are outstanding')
        deadline = time.monotonic() + LIMIT
        while not report.search(job.text()) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(pid, signal.SIGCONT)
        expect(report.search(job.text()), 'no message says what rank 0 waits for')


def cma_denied(mpi, programs):
    """Cross-memory attach refused, to all ranks or to some: staging takes over; demanded, it is a clear error."""
    for wrapped in (None, 1, 2):
        with Job(mpi, programs, 4, ['--epochs', '50', '--block', '100000', 'access=auto'], NO_CMA, wrapped) as job:
            text = job.expect_right()
            if wrapped is None:
                expect('cma' not in ''.join(re.findall(r'access \S+', text)), 'cma is reported although it is refused')
                expect('staged' in text, 'no rank reports staging')
            job.expect_clean()
        with Job(mpi, programs, 4, ['--epochs', '50', 'access=cma'], NO_CMA, wrapped) as job:
            job.expect_error_on_all(ERR_ACCESS, 'cma')
            job.expect_clean()
    with Job(mpi, programs, 4, ['--epochs', '50', '--block', '100000', 'access=cma', 'ranks_per_node=1'], NO_CMA) as job:
        job.end()  # no pair of ranks shares a node: working and refusing are both sound, hanging is not
        job.expect_clean()


def memfd_denied(mpi, programs):
    """No shared memory from memfd_create, on all ranks or on some: it works another way, or says why not."""
    for wrapped in (None, 1):
        with Job(mpi, programs, 4, ['--epochs', '50'], 'memfd_create', wrapped) as job:
            if job.end() == 0:
                job.expect_right()
            else:
                job.expect_error_on_all(ERR_RESOURCE, 'memfd_create')
            job.expect_clean()


def no_other_means(mpi, programs):
    """Calls that only make things better may be refused: binding, memory placement, scheduling classes."""
    names = 'sched_setaffinity,sched_setscheduler,sched_setattr,mbind,set_mempolicy,pidfd_open'
    with Job(mpi, programs, 4, ['--epochs', '50', '--block', '50000', 'reserve=none'], names) as job:
        job.expect_right()
        job.expect_clean()


def main():
    scenarios = {f.__name__: f for f in (kill, kill_survivors, kill_carrier, full_ring, stray_stores, moments, moments_on_hosts, stall, stalled_transfers,
                                           cma_denied, memfd_denied, no_other_means)}
    if len(sys.argv) not in (4, 6) or sys.argv[3] not in scenarios:
        print(__doc__ + 'Scenarios: ' + ', '.join(scenarios), file=sys.stderr)
        return 64
    try:
        return scenarios[sys.argv[3]](sys.argv[1], Path(sys.argv[2]).resolve(), *sys.argv[4:]) or 0
    except Failed as failure:
        print(f'{sys.argv[3]}: FAILED: {failure}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())
