# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `stoker simulate`, which starts no MPI.

usage: simulate_test.py STOKER
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from command import ROOT, STOKER, Case, clean_environment

# A message costs its sender 2 us, and nothing else costs anything.
HOCKNEY = """
name = "Hockney"
source = "nobody's"
[node]
ranks = 1
domains = 1
sockets = 1
[message]
eager_bytes = 1000000000
remote_reads = false
match_us = 0
post_us = 0
unexpected_GB_per_s = inf
{messages}
[memory]
copy_us = 0
copy_GB_per_s = inf
combine_GB_per_s = inf
piece_us = 0
domain_GB_per_s = inf
[helper]
submit_us = 0
notice_us = 0
poll_us = 0
wake_up_us = 0
nap_us = 10
[network]
kind = "crossbar"
ports = 1
port_us = 0
port_GB_per_s = inf
""".format(messages="".join(f"""
[message.{distance}]
latency_us = 0
send_overhead_us = 2
receive_overhead_us = 0
gap_us = 0
bandwidth_GB_per_s = inf
""" for distance in ("domain", "switch")))


class Simulate(Case):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.hockney = str(self.folder / "hockney.toml")
        pathlib.Path(self.hockney).write_text(HOCKNEY, encoding="utf-8")
        # On 3 ranks rank 0 needs one element of rank 2, rank 1 two of rank 2, and rank 2 one of rank 0.
        self.matrix = str(self.folder / "five.mtx")
        pathlib.Path(self.matrix).write_text("%%MatrixMarket matrix coordinate pattern general\n5 7 7\n"
                                             "1 1\n1 7\n2 6\n3 6\n3 6\n3 5\n5 2\n", encoding="utf-8")

    def times(self, *arguments):
        """{(algorithm or library, size): point}"""
        result = self.succeed_json("simulate", *arguments)
        return {(row.get("algorithm", row.get("library")), point["bytes"]): point
                for row in result["rows"] for point in row["sizes"]}

    def test_times_are_those_of_the_formula(self):
        points = self.times("alltoall", "pairwise", "nonblocking", "--machine", self.hockney, "--nodes", "9",
                            "--bytes", "8,1Ki")
        self.assertEqual(len(points), 4)
        for point in points.values():
            self.assertAlmostEqual(point["seconds"], 8 * 2e-6)
            self.assertEqual(point["messages"], 72)
            self.assertEqual(point["network_messages"], 72)
        self.assertAlmostEqual(self.times("barrier", "--machine", self.hockney, "--nodes", "2")["tree", 0]["seconds"], 4e-6)

    def test_table_marks_the_fastest(self):
        text = self.succeed("simulate", "alltoall", "all", "--machine", "dane", "--nodes", "2", "--ppn", "8", "--bytes",
                            "8,4Ki", "--phases", "--computation", "10", "--library", "mpich,openmpi")
        for part in ("alltoall on Dane, 16 ranks on 2 nodes, 8 on each in 8 domains", "8 B", "4 KiB", "nonblocking",
                     "locality-aware", "exposed", "between", "mpich: its rules", "openmpi: its rules", "from 8 B: "):
            self.assertIn(part, text)
        table = text.split("the fastest")[0].splitlines()[2:-2]
        width = max(map(len, table))
        for column in (0, 1):
            cells = [line.ljust(width)[width - 28:][14 * column:14 * column + 14] for line in table]
            self.assertEqual(len([cell for cell in cells if "*" in cell]), 1, text)

    def test_default_is_what_init_takes(self):
        # bcast on one node of two ranks: all is so quick that init simulates it, so that the default is within 1 % of the
        # fastest of what it may take.
        result = self.succeed_json("simulate", "bcast", "--machine", "dane", "--nodes", "1", "--ppn", "2", "--bytes", "8,1Mi")
        self.assertEqual([default["bytes"] for default in result["defaults"]], [8, 1 << 20])
        for b, default in enumerate(result["defaults"]):
            marked = [row for row in result["rows"] if row["sizes"][b]["default"]]
            self.assertEqual([row["algorithm"] for row in marked], [default["algorithm"]])
            fastest = min(row["sizes"][b]["seconds"] for row in result["rows"])
            self.assertLessEqual(marked[0]["sizes"][b]["seconds"], 1.01 * fastest)
        # The model of a machine with cheap messages takes many of them, that of one with expensive ones few.
        def default_on(machine):
            text = self.succeed("simulate", "alltoall", "bruck", "nonblocking", "--machine", machine, "--nodes", "8",
                                "--ppn", "1", "--bytes", "512")
            self.assertIn("+ the default", text)
            return text.split("+ the default")[1].splitlines()[1].split(": ")[1]
        expensive = self.folder / "expensive.toml"
        expensive.write_text(HOCKNEY.replace("send_overhead_us = 2", "send_overhead_us = 1000"), encoding="utf-8")
        cheap = self.folder / "cheap.toml"
        cheap.write_text(HOCKNEY.replace("send_overhead_us = 2", "send_overhead_us = 0").replace("copy_us = 0", "copy_us = 9"),
                         encoding="utf-8")
        self.assertEqual(default_on(str(cheap)), "nonblocking")
        self.assertNotEqual(default_on(str(expensive)), "nonblocking")
        job = ("simulate", "bcast", "--nodes", "1", "--ppn", "2", "--bytes", "8")
        self.assertNotIn("defaults", self.succeed_json(*job, "tree"))
        self.assertNotIn("defaults", self.succeed_json(*job, "--no-default"))

    def test_json_says_who_is_fastest_and_what_libraries_take(self):
        arguments = ("allreduce", "all", "--nodes", "3", "--ppn", "4", "--bytes", "8,64Ki", "--library", "mpich")
        points = self.times(*arguments)
        for size in (8, 65536):
            of_size = {name: point for (name, b), point in points.items() if b == size}
            fastest = [name for name, point in of_size.items() if point["fastest"]]
            self.assertEqual(fastest, [min(of_size, key=lambda name: of_size[name]["seconds"])])
        library = points["mpich", 8]
        self.assertIn("choice", library)
        self.assertEqual(self.times("allreduce", library["choice"], "--nodes", "3", "--ppn", "4", "--bytes", "8")
                         .popitem()[1]["messages"], library["messages"])
        self.assertEqual(self.times(*arguments, "--jobs", "3"), points)
        one = ("allreduce", "ring", "--nodes", "30", "--ppn", "4", "--bytes", "8")
        self.assertEqual(self.times(*one, "--jobs", "3"), self.times(*one))

    def test_blocks_of_a_matrix(self):
        job = ("--machine", self.hockney, "--nodes", "3", "--bytes", "8,1Ki", "--matrix", self.matrix)
        points = self.times("alltoallv", "nonblocking", "node-aware", *job)
        for (_, size), point in points.items():
            self.assertEqual(point["messages"], 3)
            self.assertEqual(point["network_bytes"], 4 * size)
            self.assertAlmostEqual(point["seconds"], 2 * 2e-6)  # rank 2 sends twice
        self.assertEqual(self.times("neighbor_alltoallv", *job)["nonblocking", 8]["network_bytes"], 4 * 8)
        file = self.folder / "counts.json"
        text = self.succeed("simulate", "alltoallv", *job, "--library", "openmpi", "--send-counts", str(file))
        self.assertIn("alltoallv for the product with five on Hockney, 3 ranks on 3 nodes", text)
        self.assertEqual(json.loads(file.read_text(encoding="utf-8"))["send_counts"], [[0, 0, 1], [0, 0, 0], [1, 2, 0]])

    def test_neighbors_on_a_grid(self):
        job = ("--machine", self.hockney, "--nodes", "12", "--bytes", "8")
        for collective in ("neighbor_alltoall", "neighbor_alltoallv"):
            point = self.times(collective, "nonblocking", *job, "--grid", "3x4")["nonblocking", 8]
            self.assertEqual(point["messages"], 12 * 4)
            self.assertAlmostEqual(point["seconds"], 4 * 2e-6)
        self.assertIn("neighbor_alltoall on a grid of 3x4 on Hockney",
                      self.succeed("simulate", "neighbor_alltoall", *job, "--grid", "3x4"))

    def test_what_is_simulated_is_what_is_named(self):
        job = ("allreduce", "--nodes", "2", "--ppn", "4", "--bytes", "8")

        def rows(*arguments):
            return [row.get("algorithm", row.get("library"))
                    for row in self.succeed_json("simulate", *job, *arguments)["rows"]]

        everything = rows()
        self.assertGreater(len(everything), 3)
        self.assertEqual(rows("all"), everything)
        self.assertEqual(rows("--library", "mpich"), ["mpich"])
        self.assertEqual(rows(everything[1], "--library", "mpich,openmpi"), [everything[1], "mpich", "openmpi"])
        self.assertEqual(rows("all", "--library", "mpich"), [*everything, "mpich"])

    def test_helpers_hide_communication(self):
        job = ("alltoall", "node-aware", "--nodes", "2", "--ppn", "8", "--domains", "2", "--bytes", "4Ki", "--computation", "500")
        exposed = {progress: self.times(*job, "--progress", progress).popitem()[1]["exposed_seconds"]
                   for progress in ("rank", "helper")}
        self.assertLess(exposed["helper"], 0.5 * exposed["rank"])

    def test_pictures_and_traces(self):
        plot, lines, trace = (str(self.folder / name) for name in ("plot.svg", "lines.svg", "trace.json"))
        self.succeed("simulate", "bcast", "--nodes", "2", "--ppn", "4", "--bytes", "8,1Ki,64Ki", "--plot", plot)
        picture = xml.etree.ElementTree.parse(plot)
        texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("bcast on cluster, 8 ranks on 2 nodes", "tree:factors=4 2", "64 KiB", "the default"):
            self.assertIn(text, texts)
        self.succeed("simulate", "alltoall", "hierarchical", "--nodes", "2", "--ppn", "4", "--domains", "2", "--bytes", "8",
                     "--progress", "helper", "--svg", lines, "--trace", trace, "--observe", "0,2-3")
        picture = xml.etree.ElementTree.parse(lines)
        texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("rank 0", "rank 2", "rank 3", "helper on 0", "helper on 2", "receive", "time in us"):
            self.assertIn(text, texts)
        self.assertNotIn("rank 1", texts)
        events = json.loads(pathlib.Path(trace).read_text(encoding="utf-8"))
        done = [event for event in events if event["ph"] == "X"]
        self.assertEqual({(event["pid"], event["tid"]) for event in done}, {(0, 0), (0, 1), (2, 0), (3, 0)})
        self.assertTrue(all(event["dur"] >= 0 for event in done))

    def test_refusals_say_what_would_work(self):
        one = ("alltoall", "pairwise", "--ppn", "2", "--bytes", "8")
        broken = str(self.folder / "broken.toml")
        pathlib.Path(broken).write_text(HOCKNEY.replace("ranks = 1", "ranks = 0"), encoding="utf-8")
        for arguments, parts in (
            (("--machine", "dan"), ("dan", "did you mean dane?", "cluster")),
            (("--machine", broken), (broken + ":5:", "node.ranks", "1 or more")),
            (("--machine", "/nonexistent/machine.toml"), ("/nonexistent/machine.toml", "No such file")),
            (("allsum",), ("allsum", "allreduce")),
            (("neighbor_alltoall", "--ppn", "2"), ("neighbor_alltoall", "--grid 8x4")),
            (("neighbor_alltoallv", "--ppn", "2"), ("neighbor_alltoallv", "--grid 8x4", "--matrix")),
            (("neighbor_alltoall", "--ppn", "2", "--grid", "3x3"), ("--grid 3x3", "as many points as there are ranks, 8")),
            (("neighbor_alltoall", "--ppn", "2", "--grid", "4x-2"), ("--grid 4x-2", "positive numbers")),
            (("alltoall", "--ppn", "2", "--grid", "4x2"), ("--grid", "neighbor_alltoall", "not alltoall")),
            (("alltoall", "--ppn", "2", "--matrix", self.matrix), ("--matrix", "alltoallv", "not alltoall")),
            (("alltoallv", "--ppn", "2", "--matrix", broken), (broken + ", line 1", "%%MatrixMarket")),
            (("alltoallv", "--nodes", "99", "--ppn", "99", "--matrix", self.matrix), ("9801 ranks", "4096 at most")),
            (("alltoall", "radx"), ("radx", "did you mean radix?")),
            (("alltoall", "radix:r=99", "--ppn", "2", "--nodes", "2"), ("r=99", "2 to 4")),
            (("--machine", "dane", "--domains", "6"), ("--domains 6", "8 domains on 2 sockets", "multiple of 4")),
            (("--machine", "dane", "--ppn", "2", "--domains", "4"), ("--domains 4", "2 at most")),
            (("--machine", "dane", "--progress", "helper", "--helpers", "3"), ("--helpers 3", "divisor of 8")),
            (("bcast", "--nodes", "2", "--ppn", "2", "--root", "4"), ("--root 4", "0 to 3")),
            (("--nodes", "1000000"), ("--nodes 1000000", "at most")),
            (("alltoall", "nonblocking", "--nodes", "500"), ("GiB of memory", "nonblocking, 8 B", "expected --nodes")),
            (("--svg", "x.svg", "--ppn", "2"), ("--svg", "one algorithm and one size")),
            ((*one, "--svg", "x.svg", "--observe", "0-99"), ("--observe 0-99", "0 to 7")),
            ((*one, "--svg", "x.svg", "--observe", "a"), ("--observe a", "as in 0-3,8")),
            ((*one, "--svg", "/nonexistent/x.svg"), ("--svg /nonexistent/x.svg",)),
            ((*one, "--plot", "x.svg"), ("--plot", "two sizes")),
            (("--plot", "/nonexistent/x.svg"), ("--plot /nonexistent/x.svg", "cannot be written", "No such file")),
            (("alltoall", "--library", "mpich", "--progress", "helper"), ("--progress helper", "no helpers", "--library")),
        ):
            self.fail_with(*parts, arguments=("simulate", *arguments))

    def test_examples_of_the_documentation(self):
        text = (ROOT / "docs/simulation.md").read_text(encoding="utf-8")
        lines = [line for block in text.split("```sh\n")[1:] for line in block.split("```")[0].splitlines()]
        self.assertGreaterEqual(len(lines), 5)
        for line in lines:
            words = shlex.split(line, comments=True)
            self.assertEqual(words[:2], ["stoker", "simulate"])
            result = subprocess.run([STOKER, *words[1:]], cwd=self.folder, capture_output=True, text=True, timeout=150,
                                    env=clean_environment(), check=False)
            self.assertEqual(result.returncode, 0, line + result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
