# SPDX-License-Identifier: BSD-3-Clause
"""Points of `stoker simulate`, kept in a folder so that none is simulated twice."""
import hashlib
import json
import os
import re
import subprocess
import tempfile
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARIES = ("mpich", "openmpi")


def machine_file(machine):
    """The file of a machine that is given by its name, or by a path."""
    return machine if os.path.isabs(machine) else os.path.join(ROOT, "docs", "machines", machine + ".toml")


def read_machine(machine):
    with open(machine_file(machine), "rb") as file:
        return tomllib.load(file)


def named(algorithm):
    return ["--library", algorithm] if algorithm in LIBRARIES else [algorithm]


class Simulator:
    """`smoke`: only the first of sizes, numbers of ranks and so on, and few nodes."""

    def __init__(self, build, folder, smoke=False):
        self.build, self.folder, self.smoke = build, folder, smoke
        self.kept = {}  # every answer that was asked for, by what was run
        os.makedirs(folder, exist_ok=True)

    def some(self, values):
        return values[:1] if self.smoke else values

    def nodes(self, nodes):
        return min(nodes, 2) if self.smoke else nodes

    def changed(self, machine, **figures):
        """The file of a machine with other figures, each of a key that the file has once."""
        with open(machine_file(machine), encoding="utf-8") as file:
            text = file.read()
        for key, figure in figures.items():
            text, places = re.subn(rf"^{key} = .*$", f"{key} = {figure}", text, flags=re.MULTILINE)
            assert places == 1, key
        name = ",".join([machine, *(f"{key}={figure}" for key, figure in figures.items())])
        path = os.path.join(os.path.abspath(self.folder), name + ".toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def point(self, collective, algorithm, machine, nodes, size, **options):
        """What --json says about one algorithm, or a library's rules, and one size. options: ppn=..., progress=..."""
        arguments = [*named(algorithm), "--nodes", nodes, "--bytes", size]
        for name, value in options.items():
            arguments += ["--" + name.replace("_", "-"), value]
        return self.simulation(collective, machine, *arguments)["rows"][0]["sizes"][0]

    def simulation(self, collective, machine, *arguments):
        return self.answer("api/cli/stoker", "simulate", collective, *arguments, "--no-default", "--json", "--machine",
                           machine_file(machine))

    def seconds(self, *where, **options):
        return self.point(*where, **options)["seconds"]

    def answer(self, program, *arguments):
        """The JSON that a program of the build folder prints."""
        arguments = [str(argument) for argument in arguments]
        name = " ".join(os.path.basename(argument) for argument in (program, *arguments))
        file_name = re.sub(r"[^\w.=-]+", "_", name)
        if len(file_name) > 200:  # file systems take 255
            file_name = file_name[:150] + hashlib.sha256(name.encode()).hexdigest()[:16]
        path = os.path.join(self.folder, file_name + ".json")
        if not os.path.exists(path):
            print(name, flush=True)
            kept = run_and_weigh([os.path.join(self.build, program), *arguments])
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(path + ".new", path)
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        self.kept[name] = kept
        return kept["answer"]


def run_and_weigh(command):
    """Its answer, processor time and memory."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors)  # pylint: disable=consider-using-with
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"bench/figures: {' '.join(command)}: {errors.read().strip()}")
        return {"processor_seconds": used.ru_utime + used.ru_stime, "memory_bytes": used.ru_maxrss * 1024,
                "answer": json.load(out)}
