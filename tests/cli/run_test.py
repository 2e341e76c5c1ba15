# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `stoker run`: what it sets, what it refuses and with which words, and programs that it starts.

usage: run_test.py STOKER DROP_IN LIBRARY_FOLDER MPIRUN MPI
  DROP_IN: libstoker-pmpi.so; LIBRARY_FOLDER: of a prefix; MPIRUN: tests/rig/mpirun; MPI: mpich or openmpi
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

STOKER, DROP_IN = (os.path.abspath(path) for path in sys.argv[1:3])
LIBRARY_FOLDER, MPIRUN, MPI = sys.argv[3:6]
HERE = pathlib.Path(__file__).resolve().parent
PMPI = HERE.parent / "pmpi"
OTHER_MPI = {"mpich": "openmpi", "openmpi": "mpich"}[MPI]
NAMES = {"mpich": "MPICH", "openmpi": "Open MPI"}
RANK = {"mpich": "PMI_RANK", "openmpi": "OMPI_COMM_WORLD_SIZE"}
PYTHON = "/usr/bin/python3"  # Debian's, whose mpi4py is a package
HAS_MPI4PY = subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True, check=False).returncode == 0


def clean_environment(**extra):
    launchers = ("STOKER_", "PMI_", "PMIX_", "OMPI_", "MPI_", "SLURM_")
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(launchers) and k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    environment.update({key: str(value) for key, value in extra.items()})
    return environment


class Case(unittest.TestCase):
    """Also for the tests of other commands that become a program."""
    COMMAND, SOURCE = "run", HERE / "run_program.c"

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-run."))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.program = cls.compile("program", f"mpicc.{MPI}", "-g", "-w", cls.SOURCE)

    @classmethod
    def compile(cls, name, *command):
        program = cls.folder / name
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*map(str, command), "-o", str(program)], check=True, cwd=cls.folder)
        return program

    def compile_or_skip(self, name, compiler, *arguments):
        if not shutil.which(compiler):
            self.skipTest(f"{compiler} is not installed")
        return self.compile(name, compiler, *arguments)

    def compile_fortran_or_skip(self, *options):
        if not shutil.which("gfortran"):
            self.skipTest("gfortran is not installed")
        return self.compile_or_skip("fortran", f"mpifort.{MPI}", *options, HERE / "run_program.f90")

    def need_mpi4py(self):
        if not HAS_MPI4PY:
            self.skipTest("python3-mpi4py is not installed")
        if MPI != "openmpi":
            self.skipTest("Debian's mpi4py is Open MPI's")

    def script(self, name, *lines):
        file = self.folder / name
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o755)
        return file

    def stoker_run(self, *words, stoker=STOKER, ranks=0, **extra):
        launch = [MPIRUN, MPI, str(ranks)] if ranks else []
        return subprocess.run([*launch, stoker, self.COMMAND, *map(str, words)], capture_output=True, text=True, timeout=150,
                              cwd=self.folder, env=clean_environment(**extra), check=False)

    def succeed(self, *words, **options):
        result = self.stoker_run(*words, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def would_set(self, *words, **options):
        """Variables of a dry run, and what it says of them."""
        lines = self.succeed("--dry-run", *words, **options).splitlines()
        return dict(line.split("=", 1) for line in lines[:-1] if not line.startswith("# ")), "\n".join(lines)

    def takes(self, drop_in, *words, **options):
        variables, text = self.would_set(*words, **options)
        self.assertEqual(variables["LD_PRELOAD"], str(drop_in), text)
        return text

    def refuses(self, *parts, words, code=125, **options):
        result = self.stoker_run("--", *words, **options)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("stoker run: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(str(part), lines[0])


class DryRun(Case):
    def test_says_what_and_why(self):
        text = self.takes(DROP_IN, "--", "./program", "7")
        self.assertRegex(text, rf"(?m)^# \./program loads lib\S+ => /\S+ \({NAMES[MPI]}\)$")
        self.assertRegex(text, rf"(?m)^# {DROP_IN} was built for lib\S+ => /\S+ \({NAMES[MPI]}\)$")
        self.assertTrue(text.endswith("\n./program 7"), text)

    def test_options_are_variables(self):
        variables, _ = self.would_set("--blocking", "--p2p", "--summary", "report.txt", "--", self.program)
        self.assertEqual(variables, {"LD_PRELOAD": DROP_IN, "STOKER_PMPI_BLOCKING": "1", "STOKER_PMPI_P2P": "1",
                                     "STOKER_PMPI_SUMMARY": str(self.folder / "report.txt")})
        variables, _ = self.would_set("--summary", "-", "--", self.program)
        self.assertEqual(variables["STOKER_PMPI_SUMMARY"], "1")

    def test_mapped_is_a_library_and_two_variables(self):
        heap = os.path.join(os.path.dirname(DROP_IN), "libstoker-heap.so")
        variables, _ = self.would_set("--mapped", "--", self.program)
        self.assertEqual(variables, {"LD_PRELOAD": f"{DROP_IN}:{heap}", "STOKER_PMPI_ALLOC_MEM": "1", "STOKER_PMPI_HEAP": "64K"})
        variables, _ = self.would_set("--mapped", "--", self.program, STOKER_PMPI_HEAP="1M", LD_PRELOAD=heap)
        self.assertEqual(variables, {"LD_PRELOAD": f"{heap}:{DROP_IN}", "STOKER_PMPI_ALLOC_MEM": "1"})

    def test_mapped_needs_the_library_beside(self):
        alone = self.folder / "alone" / "libstoker-pmpi.so"
        alone.parent.mkdir()
        shutil.copy(DROP_IN, alone)
        result = self.stoker_run("--dry-run", "--mapped", "--drop-in", alone, "--", self.program)
        self.assertEqual(result.returncode, 125, result.stdout)
        self.assertIn(f"there is no {alone.parent}/libstoker-heap.so", result.stderr)

    def test_what_is_preloaded_already_stays(self):
        for before, after in (("libm.so.6", f"libm.so.6:{DROP_IN}"), ("", DROP_IN), (f"libm.so.6 {DROP_IN}", f"libm.so.6 {DROP_IN}"),
                              ("libstoker-pmpi.so", "libstoker-pmpi.so")):
            variables, _ = self.would_set("--", self.program, LD_PRELOAD=before)
            self.assertEqual(variables["LD_PRELOAD"], after)

    def test_another_build_makes_way(self):
        for other in ("/opt/other/libstoker-pmpi.so", "/opt/other/libstoker-pmpi_abi.so", f"{DROP_IN}.old"):
            variables, _ = self.would_set("--", self.program, LD_PRELOAD=f"libm.so.6:{other}:libc.so.6")
            self.assertEqual(variables["LD_PRELOAD"], f"libm.so.6:libc.so.6:{DROP_IN}")

    def test_through_wrappers_and_scripts(self):
        wrapper = self.script("wrapper", "#!/bin/sh -e", 'exec "$@"')
        without_line = self.script("without-line", 'exec "$@"')
        for words in (("env", "A=1", self.program), ("nice", "-n", "1", self.program), ("taskset", "-c", "0", "env", self.program),
                      (wrapper, self.program), (without_line, wrapper, self.program)):
            text = self.takes(DROP_IN, "--", *words)
            self.assertIn(f"# {self.program} loads ", text)

    def test_program_is_the_interpreter_of_a_script(self):
        self.assertIn(f"# {self.program} loads ", self.takes(DROP_IN, "--", self.script("input", f"#!{self.program}")))
        self.assertIn("# program loads ", self.takes(DROP_IN, "--", self.script("input", "#!/usr/bin/env -S program 3"),
                                                     PATH=f"{self.folder}:{os.environ['PATH']}"))

    def test_launcher_tells_where_a_program_does_not(self):
        script = self.script("job", "#!/bin/sh", "./program")
        for words in ((script,), ("sh", "-c", "./program 3"), (PYTHON, "script.py"), ("sleep", "0"), (script, "mount"),
                      (script, "mpiexec.hydra")):
            self.assertIn(f"{RANK[MPI]} is set", self.takes(DROP_IN, "--", *words, **{RANK[MPI]: "0"}))

    def test_named_drop_in_needs_no_guess(self):
        tool = self.script("mpiexec.hydra", "#!/bin/sh")
        for words in (("sleep", "0"), ("env", tool, "-n", "2"), ("env", tool, self.program)):
            self.refuses("", words=words)
            self.takes(DROP_IN, "--drop-in", DROP_IN, "--", *words)

    def test_only_rank_0_says_it(self):
        text = self.succeed("--dry-run", "--", self.program, ranks=3)
        self.assertEqual(text.count("LD_PRELOAD="), 1)

    @unittest.skipUnless(HAS_MPI4PY, "python3-mpi4py is not installed")
    def test_mpi4py_tells_where_no_launcher_does(self):
        library = "openmpi"  # Debian's
        for words in ((PYTHON, HERE / "run_program.py"), (HERE / "run_program.py",), ("env", PYTHON, "-m", "mpi4py")):
            result = self.stoker_run("--dry-run", "--", *words)
            self.assertIn("mpi4py of /usr/bin/python3 loads libmpi.so.40", result.stdout + result.stderr)
            if MPI == library:
                self.assertEqual(result.returncode, 0, result.stderr)


class Refusals(Case):
    def test_program_that_is_not_there(self):
        self.refuses("./nowhere", "No such file", words=("./nowhere",), code=127)
        self.refuses("no-such-program", "PATH", words=("no-such-program",), code=127)

    def test_program_that_cannot_be_executed(self):
        (self.folder / "data").write_text("data")
        self.refuses("./data", "not executable", "chmod +x", words=("./data",), code=126)
        self.refuses(self.folder, "folder", words=(self.folder,), code=126)

    def test_program_without_mpi(self):
        self.refuses("sleep", "loads no MPI library", "no launcher", "--drop-in FILE", words=("sleep", "0"))
        python = self.script("python3", "#!/bin/sh", "exit 1")
        self.refuses("script.py", "no mpi4py", python, words=(self.script("script.py", f"#!{python}"),))

    def test_statically_linked(self):
        (self.folder / "static.c").write_text("int main(void) { return 0; }\n")
        try:
            program = self.compile("static", "cc", "-static", self.folder / "static.c")
        except subprocess.CalledProcessError:
            self.skipTest("no static C library is installed")
        self.refuses(program, "statically linked", words=(program,))
        self.takes(DROP_IN, "--", program, self.program)  # may be a wrapper
        self.takes(DROP_IN, "--", program, "program.jl", **{RANK[MPI]: "0"})
        program = self.compile("static-mpi", "cc", "-static", PMPI / "own_mpi.c")
        self.refuses(program, "statically linked", words=(program,), **{RANK[MPI]: "0"})

    def test_mpi_linked_into_the_program(self):
        for name, flags in (("own", ()), ("own-exported", ("-rdynamic",))):
            program = self.compile(name, "cc", *flags, PMPI / "own_mpi.c")
            self.refuses(program, "MPI library linked into itself", words=(program,), **{RANK[MPI]: "0"})

    def test_made_for_other_processors(self):
        program = self.folder / "foreign"
        head = bytearray(self.program.read_bytes())
        head[18:20] = b"\x15\x00"  # e_machine: PowerPC
        program.write_bytes(head)
        program.chmod(0o755)
        self.refuses(program, "other processors", words=(program,))

    def test_rights_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user's")
        program = self.folder / "setuid"
        shutil.copy(self.program, program)
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.refuses(program, "setuid", "LD_PRELOAD", "-lstoker-pmpi", words=(program,))
        self.refuses(program, "setuid", words=("env", program))

    def test_launchers_and_containers_stand_before_it(self):
        for name, part in (("mpiexec.hydra", "launcher"), ("srun", "launcher"), ("apptainer", "container"), ("docker", "container")):
            tool = self.script(name, "#!/bin/sh")
            self.refuses(f"{tool} and its options come before stoker", part, words=(tool, "exec", self.program))
            self.refuses(f"{tool} and its options come before stoker", part, words=("env", tool, "exec", self.program))

    def test_program_that_is_called_like_a_launcher(self):
        program = self.folder / "flux"
        shutil.copy(self.program, program)
        self.takes(DROP_IN, "--", program)

    def test_no_program(self):
        for words in ((), ("--",), ("--blocking",), (self.program,)):
            result = self.stoker_run(*words)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("stoker run -- ./program", result.stderr)
        self.assertIn("--blockng", self.stoker_run("--blockng", "--", self.program).stderr)

    def test_once_for_a_job(self):
        result = self.stoker_run("--", "./nowhere", ranks=3)
        self.assertEqual(result.stderr.count("stoker run: ./nowhere"), 1, result.stderr)

    def test_rank_that_is_alone_with_it(self):
        result = self.stoker_run("--", "./nowhere", **{"PMI_RANK": "3"})
        self.assertEqual(result.returncode, 127)
        self.assertIn("stoker run, rank 3: ./nowhere: No such file", result.stderr)

    def test_interpreter_that_is_not_there(self):
        script = self.script("no-interpreter", "#!/no/such/interpreter")
        self.assertEqual(self.stoker_run("--drop-in", DROP_IN, "--", script).returncode, 127)

    def test_summary_without_a_file(self):
        for words in (("--summary", "", "--", self.program), ("--summary=", "--blocking", "--", self.program)):
            result = self.stoker_run(*words)
            self.assertGreater(result.returncode, 0, result.stderr)
            self.assertIn("expected a file, or -", result.stderr)


class Places(Case):
    """Where drop-in libraries are looked for, from a prefix of its own."""

    def setUp(self):
        self.prefix = self.folder / "opt" / MPI
        self.other_prefix = self.folder / "opt" / OTHER_MPI
        self.stoker = self.prefix / "bin/stoker"
        self.own = self.prefix / LIBRARY_FOLDER / "libstoker-pmpi.so"
        for folder in (self.stoker.parent, self.own.parent):
            folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(STOKER, self.stoker)
        self.own.unlink(missing_ok=True)
        self.own.symlink_to(DROP_IN)
        self.addCleanup(shutil.rmtree, self.folder / "opt")

    def like_a_drop_in(self, folder, mpi):
        """A library that loads this MPI library, and has no more in it."""
        (self.folder / "empty.c").touch()
        return self.compile_or_skip(folder / "libstoker-pmpi.so", f"mpicc.{mpi}", "-shared", "-Wl,--no-as-needed", self.folder / "empty.c")

    def test_own_prefix_comes_first(self):
        elsewhere = self.like_a_drop_in(self.folder / "opt/elsewhere", MPI)
        self.takes(self.own, "--", self.program, stoker=self.stoker, LD_LIBRARY_PATH=elsewhere.parent)
        self.own.unlink()
        self.takes(elsewhere, "--", self.program, stoker=self.stoker, LD_LIBRARY_PATH=f"/nowhere::{elsewhere.parent}")

    def test_of_the_other_mpi(self):
        program = self.compile_or_skip("other-program", f"mpicc.{OTHER_MPI}", HERE / "run_program.c")
        other = self.other_prefix / LIBRARY_FOLDER / "libstoker-pmpi.so"
        self.refuses(f"{program} loads lib", f"({NAMES[OTHER_MPI]})", f"only {self.own} for lib", f"({NAMES[MPI]})", other,
                     "--drop-in FILE", words=(program,), stoker=self.stoker)
        self.like_a_drop_in(other.parent, OTHER_MPI)
        self.takes(other, "--", program, stoker=self.stoker)
        self.takes(self.own, "--", self.program, stoker=self.stoker)

    def test_both_below_one_prefix(self):
        program = self.compile_or_skip("other-program", f"mpicc.{OTHER_MPI}", HERE / "run_program.c")
        self.own.unlink()
        below = self.own.parent / "stoker"
        for mpi, some in ((MPI, self.program), (OTHER_MPI, program)):
            self.takes(self.like_a_drop_in(below / mpi, mpi), "--", some, stoker=self.stoker)

    def test_of_the_standard_abi(self):
        """With a library that has no more than the name: whose it is, is not to be seen from that."""
        library = self.compile("libmpi_abi.so.1", "cc", "-shared", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "/dev/null")
        linked = [library, "-Wl,--no-as-needed", f"-Wl,-rpath,{library.parent}"]
        source = self.folder / "no-mpi.c"
        source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        program = self.compile("abi-program", "cc", source, *reversed(linked))
        places = [self.own.parent, self.folder / "opt/abi" / LIBRARY_FOLDER, self.own.parent / "stoker/abi"]
        self.refuses("libmpi_abi.so.1", "(the standard ABI)", f"only {self.own} for lib",
                     *(place / "libstoker-pmpi_abi.so" for place in places[1:]), words=(program,), stoker=self.stoker)
        for place in reversed(places):
            place.mkdir(parents=True, exist_ok=True)
            drop_in = self.compile(place / "libstoker-pmpi_abi.so", "cc", "-shared", "-x", "c", "/dev/null", "-x", "none", *reversed(linked))
            self.takes(drop_in, "--", program, stoker=self.stoker)
            self.takes(self.own, "--", self.program, stoker=self.stoker)

    def test_named(self):
        named = self.like_a_drop_in(self.folder / "opt/named", MPI)
        self.takes(named, "--drop-in", named, "--", self.program, stoker=self.stoker)
        self.takes(named, "--drop-in", "opt/named/libstoker-pmpi.so", "--", "sleep", "0", stoker=self.stoker)
        wrong = self.like_a_drop_in(self.folder / "opt/wrong", OTHER_MPI)
        for file, part in ((wrong, "was built for lib"), ("/nowhere", "no library"), (self.folder / "empty.c", "no library")):
            result = self.stoker_run("--drop-in", file, "--", self.program, stoker=self.stoker)
            self.assertEqual(result.returncode, 125)
            self.assertIn(part, result.stderr)

    def test_path_that_cannot_be_preloaded(self):
        spaced = self.like_a_drop_in(self.folder / "opt/with space", MPI)
        result = self.stoker_run("--drop-in", spaced, "--", self.program)
        self.assertEqual(result.returncode, 125)
        self.assertIn("a space or a colon", result.stderr)


class Runs(Case):
    def summary_of(self, *words, options=(), **settings):
        file = self.folder / "summary.txt"
        file.unlink(missing_ok=True)
        self.succeed("--summary", "summary.txt", *options, "--", *words, ranks=2, **settings)
        text = file.read_text()
        self.assertRegex(text, r"(?m)^alltoall +nonblocking ")
        return text

    def test_c(self):
        self.assertNotRegex(self.summary_of("./program"), r"(?m)^allreduce +blocking +MPI_COMM_WORLD")
        self.assertRegex(self.summary_of("./program", options=["--blocking"]), r"(?m)^allreduce +blocking +MPI_COMM_WORLD")

    def test_summary_as_json(self):
        self.succeed("--summary", "summary.json", "--", "./program", ranks=2)
        report = json.loads((self.folder / "summary.json").read_text())
        self.assertIn(("alltoall", "nonblocking"), {(row["collective"], row["form"]) for row in report["calls"]})

    def test_mapped(self):
        self.assertRegex(self.summary_of("./program", options=["--blocking", "--mapped"]), r"(?m)^allreduce +blocking")
        result = self.stoker_run("--", "./program", ranks=2, STOKER_PMPI_HEAP="64K")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("STOKER_PMPI_HEAP needs libstoker-heap.so"), 1, result.stderr)

    def test_fortran(self):
        self.summary_of(self.compile_fortran_or_skip())

    def test_shell_script(self):
        self.summary_of(self.script("job", "#!/bin/sh", "echo before", "./program"))
        self.summary_of("sh", "-c", "./program 0")

    def test_python(self):
        self.need_mpi4py()
        self.summary_of(PYTHON, HERE / "run_program.py")
        self.summary_of(HERE / "run_program.py", options=["--mapped"])

    def test_settings_of_the_environment_are_kept(self):
        text = self.summary_of("./program", STOKER_PMPI_NONBLOCKING="0")
        self.assertIn("calls of this form are not asked for", text)

    def test_exit_code_is_the_programs(self):
        self.assertEqual(self.stoker_run("--", self.program, "3").returncode, 3)

    def test_words_arrive_as_they_are(self):
        words = ["[a,b]", "", "--", "--help", "run", "a b", "{}", "-x=1"]
        text = self.succeed("--drop-in", DROP_IN, "--", "printf", "%s\\n", *words)
        self.assertEqual(text.split("\n")[:-1], words)

    def test_only_the_program_has_it(self):
        text = self.succeed("--drop-in", DROP_IN, "--blocking", "--", "sh", "-c", "echo $LD_PRELOAD $STOKER_PMPI_BLOCKING $PPID")
        preload, blocking, parent = text.split()
        self.assertEqual((preload, blocking, int(parent)), (DROP_IN, "1", os.getpid()))  # stoker has become the program


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
