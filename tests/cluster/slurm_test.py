# SPDX-License-Identifier: BSD-3-Clause
"""Slurm on two emulated hosts: the lines of `stoker plan`, `srun --stoker`, and the TaskProlog.

usage: slurm_test.py MPI STOKER DROP_IN SPANK_PLUGIN TASK_PROLOG [SHIM]
  TASK_PROLOG: one that asks STOKER; SHIM: a library that the launcher preloads. Exit: 77 if Slurm cannot run here
"""

import atexit
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MPI = sys.argv[1]
STOKER, DROP_IN, SPANK_PLUGIN, TASK_PROLOG, *SHIM = (os.path.abspath(path) for path in sys.argv[2:])
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME = {"mpich": "MPICH", "openmpi": "Open MPI"}[MPI]
INTERFACE = {"mpich": "pmi2", "openmpi": "pmix"}[MPI]
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if not name.startswith(("STOKER_", "SLURM_"))},
               "STOKER_CLUSTER": f"slurm-test-{os.getpid()}"}


def slurm(*words, **variables):
    """`scripts/slurm WORDS`, with these variables."""
    return subprocess.run([ROOT / "scripts/slurm", *map(str, words)], capture_output=True, text=True, timeout=240, check=False,
                          cwd=Case.folder, stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **variables})


def take_down():
    subprocess.run([ROOT / "scripts/slurm", "down"], env=ENVIRONMENT, check=True)


def with_mark(mark):
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                yield process
        except OSError:
            pass  # it has ended


class Case(unittest.TestCase):
    """Each class has a cluster of its own."""
    OPTIONS = ()
    folder = ROOT

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="stoker-slurm.")
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(take_down)
        Case.folder = pathlib.Path(folder.name)
        (Case.folder / "task-prolog").write_text(pathlib.Path(TASK_PROLOG).read_text())
        (Case.folder / "task-prolog").chmod(0o755)
        up = slurm("up", 2, "--rate", "10gbit", *(option.format(folder=Case.folder) for option in cls.OPTIONS))
        if up.returncode == 77:
            raise unittest.SkipTest(up.stdout + up.stderr)
        assert up.returncode == 0, up.stdout + up.stderr

    @classmethod
    def tearDownClass(cls):
        take_down()
        mark = f"STOKER_CLUSTER={ENVIRONMENT['STOKER_CLUSTER']}".encode()
        for _ in range(100):
            left = [*with_mark(mark), *(pathlib.Path("/sys/fs/cgroup").glob("*/slurm_node*") if "--confine" in cls.OPTIONS else ())]
            if not left:
                return
            time.sleep(0.1)
        raise AssertionError(f"left behind: {left}")

    def on_head(self, *words, **variables):
        preload = {"LD_PRELOAD": ":".join(SHIM)} if SHIM else {}
        return slurm("run", *words, **preload, **variables)

    def succeed(self, *words, **variables):
        result = self.on_head(*words, **variables)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def fail_with(self, part, *words, **variables):
        result = self.on_head(*words, **variables)
        said = result.stdout + result.stderr
        self.assertNotEqual(result.returncode, 0, said[:2000])
        self.assertIn(part, said)
        return result.returncode, said

    def in_allocation(self, line, *options):
        return ("salloc", "--nodes=2", "--exclusive", *options, "sh", "-c", line)


@unittest.skipIf(os.cpu_count() < 2, "a helper has no core of its own here")
class Planned(Case):
    def plan(self, *options):
        """The plan, and its line for srun."""
        done = subprocess.run([STOKER, "plan", "--nodes", "2", "--launcher", "slurm", "--json", "--program", f"{STOKER} info --json",
                               *options], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(done.stdout)
        return plan, next(command["command"] for command in plan["commands"] if command["launcher"] == f"Slurm ({NAME})")

    def check_cores(self, *options, allocation=()):
        """Ranks and helpers say themselves where they are."""
        plan, line = self.plan(*options)
        info = json.loads(self.succeed(*self.in_allocation(line, *allocation)))
        self.assertEqual([node["host"] for node in info["nodes"]], ["node1", "node2"])
        for node in info["nodes"]:
            ranks = sorted((rank["rank"], rank["cpus"]) for domain in node["domains"] for rank in domain["ranks"])
            self.assertEqual([cpus for _, cpus in ranks], plan["rank_cpus"])
            self.assertEqual([domain["helper"]["cpus"] for domain in node["domains"]], [str(one["cpu"]) for one in plan["helpers"]])
            self.assertTrue(all(domain["helper"]["reserved"] for domain in node["domains"]), node)



class Plan(Planned):
    def test_bound(self):
        self.check_cores("--ppn", "1")

    def test_oversubscribed(self):
        self.check_cores("--ppn", str(os.cpu_count()), "--oversubscribe")


class ConfinedPlan(Plan):
    OPTIONS = ("--confine",)

    def with_option(self, option):
        _, line = self.plan("--ppn", "1")
        return self.in_allocation(line.replace("srun", f"srun {option}"))

    def test_options_that_confine_a_step_to_its_ranks(self):
        for option in ("--exact", "--cpus-per-task=1"):
            self.fail_with("outside this job's allocation", *self.with_option(option))

    def test_options_that_do_not(self):
        for option in ("--hint=nomultithread", "--threads-per-core=1"):
            self.succeed(*self.with_option(option))


class SpecialisedCores(Planned):
    OPTIONS = ("--confine", "--node", "CoreSpecCount=1", "--line", "AllowSpecResourcesUsage=yes")

    def test_outside_unless_asked_for(self):
        cores = [self.succeed("salloc", "--nodes=1", "--exclusive", *options, "srun", "--cpu-bind=none", "grep", "Cpus_allowed_list",
                              "/proc/self/status") for options in ((), ("--core-spec=0",))]
        self.assertNotEqual(*cores)
        self.check_cores("--ppn", "1", allocation=["--core-spec=0"])

    def test_helper_has_no_core(self):
        if os.cpu_count() != 2:
            self.skipTest("with more than two cores the specialised one may be another than the helper's")
        _, line = self.plan("--ppn", "1")
        self.fail_with("outside this job's allocation", *self.in_allocation(line))


class Program(Case):
    OPTIONS = ("--spank", f"optional {SPANK_PLUGIN} stoker={STOKER}")
    RUN = ("--mapped --p2p --summary a.json", "--blocking", "")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run([f"mpicc.{MPI}", "-g", "-w", "-o", cls.folder / "program", ROOT / "tests/cli/run_program.c"], check=True)

    def srun(self, *words, interface=INTERFACE):
        return ("srun", f"--mpi={interface}", "--nodes=2", "--ntasks=2", *words)

    def settings(self, *words, **variables):
        """What the two tasks have of what `stoker run` sets, one a line."""
        lines = self.succeed(*self.srun(*words), **variables).splitlines()
        return sorted(line for line in lines if line.startswith(("LD_PRELOAD=", "STOKER_PMPI_", "STOKER_RUN")))

    def settings_of_stoker_run(self, options):
        lines = self.settings(STOKER, "run", *options.split(), "--", "sh", "-c", "env")
        self.assertEqual(sum(line.startswith("LD_PRELOAD=") and DROP_IN in line for line in lines), 2, lines)
        return lines

    def check_summary(self, text):
        self.assertRegex(text, r"(?m)^alltoall +nonblocking ")
        self.assertRegex(text, r"(?m)^allreduce +blocking ")


class Spank(Program):
    def test_sets_what_stoker_run_sets(self):
        for options in self.RUN:
            words = options.replace("--summary ", "--summary=").replace("--", "").split()
            self.assertEqual(self.settings("--stoker" + ("=" + ",".join(words) if words else ""), "sh", "-c", "env"),
                             self.settings_of_stoker_run(options))

    def test_program(self):
        self.succeed(*self.srun("--stoker=blocking,summary=spank.txt", "./program"))
        self.check_summary((self.folder / "spank.txt").read_text())

    def test_nothing_unless_asked_for(self):
        self.assertEqual([line for line in self.settings("sh", "-c", "env") if "stoker-pmpi" in line or "STOKER_" in line], [])

    def test_refusals_are_those_of_stoker_run(self):
        code, said = self.fail_with("./nowhere: No such file", *self.srun("--stoker", "./nowhere"))
        self.assertEqual((code, said.count("stoker run: ")), (127, 1), said)
        code, said = self.fail_with("no launcher", *self.srun("--stoker", "sleep", "0", interface="none"))
        self.assertEqual((code, said.count("stoker run: ")), (125, 1), said)
        self.fail_with("--blockng", *self.srun("--stoker=mapped,blockng", "./program"))
        self.fail_with("Runs a program", *self.srun("--stoker=help", "./program"))

    def test_steps_of_a_job(self):
        script = self.folder / "job"
        script.write_text(f'#!/bin/sh\necho "script: $LD_PRELOAD"\nsrun --mpi={INTERFACE} sh -c \'echo "step: $LD_PRELOAD $STOKER_PMPI_P2P"\'\n')
        for option, p2p in (("--stoker", ""), ("--stoker=p2p", "1")):
            self.succeed("sbatch", "--wait", "--nodes=1", "--output=job.txt", option, script)
            first, second = (self.folder / "job.txt").read_text().splitlines()
            self.assertNotIn(DROP_IN, first)
            self.assertRegex(second, rf"^step: .*{DROP_IN} {p2p}$")


class TaskProlog(Program):
    OPTIONS = ("--line", "TaskProlog={folder}/task-prolog")

    def test_sets_what_stoker_run_sets(self):
        for options in self.RUN:
            self.assertEqual(self.settings("sh", "-c", "env", STOKER_RUN=options), self.settings_of_stoker_run(options))

    def test_program(self):
        self.succeed(*self.srun("./program"), STOKER_RUN="--blocking --summary prolog.txt")
        self.check_summary((self.folder / "prolog.txt").read_text())

    def test_refusals_are_those_of_stoker_run(self):
        self.fail_with("--blockng", *self.srun("./program"), STOKER_RUN="--blockng")
        code, said = self.fail_with("no launcher", *self.srun("sleep", "0", interface="none"), STOKER_RUN="")
        self.assertEqual((code, said.count("stoker run: ")), (125, 1), said)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # of meson, when it takes too long
    atexit.register(take_down)
    program = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if program.result.testsRun == 0 else 0)
