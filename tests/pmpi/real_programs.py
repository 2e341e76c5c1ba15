#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs from Debian's packages, alone and with a library preloaded: both runs give the same results.

  real_programs.py MPIRUN MPI LIBRARY PROGRAM    MPIRUN: tests/rig/mpirun; MPI: mpich | openmpi

Debian builds all of them with Open MPI. Exit: 0 passed, 1 failed, 77 what is needed is not installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 4
# Every collective that there is in them, on one node and on two that are pretended, and as a user who sets nothing has it.
EVERYTHING = {"STOKER_PMPI_BLOCKING": "1", "STOKER_PMPI_LEAST_BYTES": "0"}
VARIANTS = {
    "as it comes": {},
    "all calls": EVERYTHING,
    "all calls, two nodes": {**EVERYTHING, "STOKER_RANKS_PER_NODE": "2"},
}
ADVISED = {"STOKER_PMPI_ADVISE": "1"}


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


class Runner:
    def __init__(self, mpirun, mpi, library):
        self.mpirun, self.mpi, self.library = mpirun, mpi, pathlib.Path(library).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-real."))
        self.summary = self.folder / "summary"
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("STOKER_") and key != "LD_PRELOAD"}
        self.environment.update(RIG_TIMEOUT="200", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

    def build(self, source, *flags):
        program = self.folder / source.removesuffix(".c")
        result = subprocess.run([f"mpicc.{self.mpi}", "-O2", "-w", "-o", program, HERE / source, *flags],
                                capture_output=True, text=True)
        if result.returncode != 0:
            raise Failed(f"{source} does not compile:\n{result.stderr}")
        return str(program)

    def run(self, *command, ranks=RANKS, preload=None, **options):
        """Output of a job, which must end well. `preload`: settings of the preloaded library; None: run it alone."""
        before = []
        if preload is not None:
            before = ["env", f"LD_PRELOAD={self.library}", f"STOKER_PMPI_SUMMARY={self.summary}", *(f"{key}={value}" for key, value in preload.items())]
        result = subprocess.run([self.mpirun, self.mpi, str(ranks), *before, *command], env=self.environment,
                                cwd=self.folder, capture_output=True, text=True, **options)
        if result.returncode != 0:
            raise Failed(f"{' '.join([*before, *command])}: exit code {result.returncode}\n{result.stdout[-3000:]}"
                         f"{result.stderr[-3000:]}")
        return result.stdout

    def carried_out(self):
        """Whether the last job's summary has calls that were the engine's."""
        text = self.summary.read_text()
        self.summary.unlink()
        return "called from" in text

    def must_advise(self):
        text = self.summary.read_text()
        self.summary.unlink()
        if not text.startswith(f"stoker: advice for {RANKS} ranks"):
            raise Failed(f"no advice:\n{text}")

    def compare(self, results, *command):
        """`results(output)`: what must be the same."""
        alone = results(self.run(*command))
        if not alone:
            raise Failed(f"no results in the output of {' '.join(command)}")
        for name, settings in VARIANTS.items():
            preloaded = results(self.run(*command, preload=settings))
            if not same(alone, preloaded):
                raise Failed(f"{name}: {preloaded}\nalone: {alone}")
            carried_out = self.carried_out()
            print(f"{name}: as alone; {'with' if carried_out else 'without'} calls carried out by the engine")
            if settings and not carried_out:
                raise Failed(f"{name}: the engine had nothing to do")
        advised = results(self.run(*command, preload=ADVISED))
        if not same(alone, advised):
            raise Failed(f"advised: {advised}\nalone: {alone}")
        self.must_advise()


def same(a, b):
    """Exactly, but for floating-point numbers that sums of another order explain."""
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-3)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def fftw(runner):
    if not pathlib.Path("/usr/include/fftw3-mpi.h").exists():
        raise Skipped("libfftw3-mpi-dev is not installed")
    program = runner.build("fftw_transform.c", "-lfftw3_mpi", "-lfftw3", "-lm")
    # To the last bit: a transform sums nothing across ranks.
    runner.compare(lambda output: sorted(line for line in output.splitlines() if line.startswith("rank ")), program)


def petsc(runner):
    found = sorted(pathlib.Path("/usr/lib/petscdir").glob("petsc*/*-real/lib/pkgconfig/PETSc.pc"))
    if not found:
        raise Skipped("libpetsc-real-dev is not installed")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", found[0]], capture_output=True, text=True, check=True)
    program = runner.build("petsc_pipecg.c", *flags.stdout.split())

    def results(output):
        match = re.search(r"iterations (\d+) ", output)
        return match and [int(match[1])]  # the program itself checks the error

    for solver in ("pipecg", "groppcg", "cg"):
        runner.compare(results, program, "-ksp_type", solver, "-pc_type", "jacobi")


MELT = """# Atoms of a Lennard-Jones crystal that melts.
units lj
atom_style atomic
lattice fcc 0.8
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.5 4711 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 10 check yes
fix 1 all nve
thermo_style custom step temp pe ke etotal press
thermo_modify format float %.10g
thermo 20
run 100
"""


def lammps(runner):
    if shutil.which("lmp") is None:
        raise Skipped("lammps is not installed")
    (runner.folder / "in.melt").write_text(MELT)

    def results(output):
        rows = [line.split() for line in output.splitlines() if re.fullmatch(r"\s*\d+(\s+[-+.\de]+){5}\s*", line)]
        return [[float(value) for value in row] for row in rows]

    runner.compare(results, "lmp", "-in", "in.melt", "-log", "none")


def mpi4py(runner):
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py, numpy"], capture_output=True).returncode != 0:
        raise Skipped("python3-mpi4py or python3-numpy is not installed")
    for settings in (None, *VARIANTS.values()):
        runner.run("/usr/bin/python3", str(HERE / "mpi4py_program.py"), preload=settings)
        if settings and not runner.carried_out():
            raise Failed(f"{settings}: the engine had nothing to do")
    runner.run("/usr/bin/python3", str(HERE / "mpi4py_program.py"), preload=ADVISED)
    runner.must_advise()


def mpi4py_tests(runner):
    """mpi4py's own tests, where the package brings them."""
    listed = subprocess.run(["dpkg", "-L", "python3-mpi4py", "python-mpi4py-doc"], capture_output=True, text=True)
    runners = [line for line in listed.stdout.splitlines() if line.endswith("/runtests.py")]
    if not runners:
        raise Skipped("the package python3-mpi4py brings no tests")
    for settings in (None, EVERYTHING, ADVISED):
        runner.run("/usr/bin/python3", runners[0], "-i", "test_cco", preload=settings)


PROGRAMS = {function.__name__: function for function in (fftw, petsc, lammps, mpi4py, mpi4py_tests)}


def main():
    mpirun, mpi, library, program = sys.argv[1:]
    runner = Runner(mpirun, mpi, library)
    try:
        if mpi != "openmpi":
            raise Skipped("Debian builds it with Open MPI")
        PROGRAMS[program](runner)
    except Skipped as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return 77
    except Failed as reason:
        print(f"FAILED {program}: {reason}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(runner.folder, ignore_errors=True)
    return 0


sys.exit(main())
