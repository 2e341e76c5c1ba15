# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the command line `stoker`, alone and under the MPI launcher.

usage: cli_test.py STOKER MPIRUN MPI ATTACH_REFUSED
  MPIRUN: tests/rig/mpirun; MPI: mpich or openmpi; ATTACH_REFUSED: runs a command with cross-memory attach refused
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from command import ROOT, Case, run

ATTACH_REFUSED = sys.argv[4]
FULL_MACHINE = "package:2 numa:1 core:4 pu:1"  # 8 cores, two NUMA domains


class Schedule(Case):
    def test_counts_are_those_of_the_literature(self):
        for algorithm, messages in (("nonblocking", 64), ("hierarchical", 1), ("node-aware", 8),
                                    ("multileader:leaders=2", 4), ("locality-aware:groups=2", 16)):
            counts = self.succeed_json("schedule", algorithm, "--ranks", "24", "--ppn", "8", "--bytes", "4")
            network = next(level for level in counts["sent"] if level["level"] == "network")
            self.assertEqual(network["busiest_node"], {"messages": 2 * messages, "bytes": 2 * 64 * 4}, algorithm)

    def test_verify_print_and_draw(self):
        self.assertIn("verified", self.succeed("schedule", "radix2:r1=2,r2=2", "--ranks", "11", "--ppn", "4", "--verify"))
        self.assertIn("rank 3 of 8", self.succeed("schedule", "bruck", "--rank", "3"))
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "schedule.svg")
            self.succeed("schedule", "pairwise", "--svg", picture)
            xml.etree.ElementTree.parse(picture)
            self.fail_with("/nonexistent/s.svg", arguments=("schedule", "--svg", "/nonexistent/s.svg"))

    def test_programs_are_checked_and_run_as_they_were_printed(self):
        for name, arguments, ranks in (
            ("allreduce of 64 B in elements of 8 B", ("allreduce", "recursive-exchange", "--ranks", "3", "--bytes", "64"), 3),
            ("reduce of 7 B, root 2, in place", ("reduce", "node-aware", "--ranks", "4", "--bytes", "7", "--root", "2", "--in-place"), 4),
            ("allreduce of 4096 B in elements of 8 B, in place", ("allreduce", "ring", "--ranks", "4", "--bytes", "4096", "--in-place"), 4),
            ("alltoall of 8 B", ("bruck", "--ranks", "3"), 3),
            ("alltoall of 100000 B", ("rma-fence", "--ranks", "3", "--bytes", "100000"), 3),
            ("neighbor_alltoall of 8 B, grid 2x2", ("locality-aware", "--grid", "2x2", "--ranks", "4"), 4),
            ("barrier", ("barrier", "--ranks", "2"), 2),
        ):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "programs.txt")
                pathlib.Path(file).write_text(self.succeed("schedule", *arguments, "--programs"))
                text = self.succeed("schedule", "--check", file, "--ppn", "2")
                self.assertIn(f"{file}: call {name}, {ranks} ranks on", text)
                self.assertIn("verified", text)
                for executor in ("inline", "engine"):
                    text = self.succeed("schedule", "--run", file, ranks=ranks, STOKER_EXECUTOR=executor, STOKER_RANKS_PER_NODE="2")
                    self.assertIn(f"{file}: call {name}, {ranks} ranks on {(ranks + 1) // 2} nodes, executor {executor}: every byte", text)

    def test_programs_by_hand(self):
        page = (ROOT / "docs/algorithms.md").read_text()
        start = page.index("call allreduce of 16 B")
        shown = page[start:page.index("```", start)]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "mine.txt")

            def write(text):
                pathlib.Path(file).write_text(text)

            write(shown)
            self.assertTrue(self.succeed_json("schedule", "--check", file)["verified"])
            self.assertIn("every byte", self.succeed("schedule", "--run", file, ranks=3))
            self.fail_with("3 ranks", "the job has 2", "mpiexec -n 3", arguments=("schedule", "--run", file), ranks=2)
            for old, new, parts in (
                ("send to 1: send", "post to 1: send", ("line 4", "send to, recv from", "post to 1")),
                ("rank 2 of 3", "rank 2 of 4", ("line 12", "rank 2 of 4", "ranks of 3")),
                ("recv from 0: recv[0..16) = message (op) send[0..16)", "recv from 0: recv[0..16)", ("the schedule is wrong",)),
                (", after 1  ", "  ", ("line 7", "rank 1")),
                ("allreduce of 16 B", "allreduce of 12 B", ("12 B", "whole number of elements")),
                ("allreduce of 16 B", "allreduce of 18446744073709551608 B", ("too large to be verified", "128 MiB")),
                ("call allreduce", "call allgather", ("combines operands", "not allgather")),
            ):
                write(shown.replace(old, new, 1))
                self.fail_with(*parts, arguments=("schedule", "--check", file))
                self.fail_with(*parts, arguments=("schedule", "--check", file, "--rank", "0"))
                self.fail_with(*parts, arguments=("schedule", "--run", file), ranks=3)
            self.fail_with("nowhere.txt", arguments=("schedule", "--check", os.path.join(folder, "nowhere.txt")))
            self.fail_with("nowhere.txt", arguments=("schedule", "--run", os.path.join(folder, "nowhere.txt")), ranks=2)
            self.fail_with("--check", arguments=("schedule", "bruck", "--check", file), code=108)

    def test_collectives_with_factors(self):
        text = self.succeed("schedule", "allreduce", "--factors", "-4 -2 2 4", "--ranks", "8", "--ppn", "8", "--verify")
        for part in ("allreduce recursive-exchange:factors=-4 -2 2 4", "SREDUCE RECVBUF[0]+0 SENDBUF[0]+0 SENDBUF[1]+0",
                     "WAIT_NODE_BARRIER 4", "RETURN", "verified"):
            self.assertIn(part, text)
        self.assertIn("IRECV", self.succeed("schedule", "bcast", "--ranks", "8", "--ppn", "2", "--root", "3"))
        self.assertIn("rank 2 of 8", self.succeed("schedule", "allgather", "cyclic-shift:factors=3 3", "--rank", "2"))
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "schedule.svg")
            self.succeed("schedule", "allreduce", "--factors", "-2 2 2", "--ranks", "4", "--svg", picture)
            xml.etree.ElementTree.parse(picture)
        for arguments, parts in (
            (("allreduce", "--factors", "-4 4"), ("factors=-4 4", "8 members", "-8 8")),
            (("allreduce", "--factors", "0"), ("at least 2",)),
            (("pairwise", "--factors", "2"), ("--factors", "allreduce")),
            (("allsum", "tree"), ("allsum", "allreduce")),
            (("reduce", "--root", "8"), ("--root 8", "0 to 7")),
        ):
            self.fail_with(*parts, arguments=("schedule", *arguments))

    def test_neighbors_on_a_grid(self):
        counts = self.succeed_json("schedule", "locality-aware", "--grid", "4x6", "--ranks", "24", "--ppn", "6", "--bytes",
                                   "8", "--verify")
        self.assertTrue(counts["verified"])
        network = next(level for level in counts["sent"] if level["level"] == "network")
        # a row of the grid on each node: its two neighbor rows are on other nodes
        self.assertEqual(network["busiest_node"], {"messages": 2, "bytes": 2 * 6 * 8})
        for grid, part in (("4x5", "20 points"), ("4x-6", "expected positive numbers"), ("x", "expected positive numbers")):
            self.fail_with("grid", part, arguments=("schedule", "--grid", grid, "--ranks", "24"))
        self.fail_with("no algorithm radix for neighbor_alltoall",
                       arguments=("schedule", "radix", "--grid", "4x6", "--ranks", "24"))

    def test_predictions_name_the_default(self):
        table = self.succeed_json("predict", "--ranks", "64", "--ppn", "16", "--bytes", "8,1M")
        taken = [{prediction["bytes"]: row["algorithm"] for prediction in row["predictions"] if prediction["preferred"]}
                 for row in table["algorithms"]]
        by_size = {size: name for row in taken for size, name in row.items()}
        self.assertEqual(sorted(by_size), [8, 1 << 20])
        self.assertNotEqual(by_size[8], "nonblocking")
        text = self.succeed("predict", "--bytes", "8", "radix:r=2", "radix:r=4", "--ranks", "16", "--ppn", "4")
        self.assertIn("radix:r=4", text)
        self.fail_with("radix", "2 to 16", arguments=("predict", "radix:r=17", "--ranks", "16", "--ppn", "4"))

    def test_prediction_from_a_calibration(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model.toml")
            self.succeed("calibrate", "--output", model, "--ranks-per-node", "2", ranks=4)
            with open(model, encoding="utf-8") as file:
                text = file.read()
            for part in ("[node]", "ranks = 2", "[message.domain]", "[message.network]", "port_GB_per_s"):
                self.assertIn(part, text)
            # Whether the figures make sense depends on what else the machine does; what is not as measured is said.
            head = [line for line in text.splitlines() if line.startswith("#")]
            self.assertRegex(head[0], r"^# Measured by stoker calibrate on 4 ranks with (MPICH|Open MPI) ")
            for distance in ("domain", "switch", "network"):
                section = text.split(f"[message.{distance}]\n")[1].split("\n[")[0]
                figures = dict(line.split(" = ") for line in section.split("\n") if " = " in line)
                one_way = sum(float(figures[key]) for key in ("latency_us", "send_overhead_us", "receive_overhead_us"))
                for key in ("latency_us", "send_overhead_us", "receive_overhead_us", "gap_us"):
                    self.assertGreater(float(figures[key]), 0, text)
                    self.assertLessEqual(float(figures[key]), one_way, text)
                # Where the ranks of a node are in different domains, that distance is not measured.
                line = next((line for line in head if line.startswith(f"#   [message.{distance}] latency_us")), "")
                said = (f"# Not as measured: message.{distance}: ", f"no two ranks at distance {distance}")
                for key in ("send_overhead_us", "gap_us"):
                    self.assertTrue(key in line or any(part in text for part in said), text)
            for key in ("match_us", "post_us"):
                self.assertGreaterEqual(float(text.split(f"\n{key} = ")[1].split()[0]), 0)
                self.assertTrue(f"# Not as measured: {key}" in text or key in "".join(head), text)
            self.assertGreater(self.succeed_json("schedule", "bruck", "--model", model)["predicted_seconds"], 0)
            self.assertIn("radix", self.succeed("predict", "radix", "--model", model))
            with open(model, "w", encoding="utf-8") as file:
                file.write("name = 1\n")
            self.fail_with(model, "name", arguments=("schedule", "--model", model))
        self.fail_with("two ranks", arguments=("calibrate",))

    def test_refusals_say_what_would_work(self):
        for arguments, parts in (
            (("radx",), ("radx", "did you mean radix?", "hierarchical")),
            (("radix:q=2",), ("no parameter q", "did you mean r?")),
            (("radix:r=1",), ("radix", "r=1", "from 2")),
            (("radix:r=9",), ("radix", "r=9", "2 to 8", "r=8")),
            (("radix:r",), ("r=",)),
            (("multileader:leaders=5",), ("multileader", "leaders=5", "1 to 4", "leaders=4")),
            (("node-aware:within=fast",), ("within=fast", "pairwise")),
            (("bruck", "--rank", "8"), ("--rank 8", "0 to 7")),
        ):
            self.fail_with(*parts, arguments=("schedule", *arguments))


class Tune(Case):
    MACHINE = "cluster"

    def entries(self, file):
        tuning = self.succeed_json("info", "--set", f"tuning={file}")["tuning"]
        self.assertNotIn("error", tuning)
        return tuning["entries"]

    def test_by_simulation(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "tuning.toml")
            result = run("tune", "--machine", self.MACHINE, "--nodes", "1,2", "--ppn", "4", "--collective",
                         "alltoall,allreduce,barrier", "--bytes", "1M,8,64", "--limit", "40", "--output", file)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("[1/14] alltoall on 1 node of 4 ranks, 8 B: ", result.stderr)
            self.assertIn("[14/14] barrier on 2 nodes of 4 ranks, 0 B: ", result.stderr)
            entries = self.entries(file)
            text = self.succeed("info", "--set", f"tuning={file}")
            self.assertIn(f"tuning of {file}", text)
        for collective, least, most in (("alltoall", 8, 1 << 20), ("allreduce", 8, 1 << 20), ("barrier", 0, 0)):
            for nodes in (1, 2):
                series = [e for e in entries if e["collective"] == collective and e["nodes"] == [nodes, nodes]]
                self.assertEqual([e["ranks_per_node"] for e in series], [[4, 4]] * len(series))
                self.assertEqual(series[0]["bytes"][0], least)
                self.assertEqual(series[-1]["bytes"][1], most)
                for before, behind in zip(series, series[1:]):
                    self.assertEqual(before["bytes"][1] + 1, behind["bytes"][0])
                    self.assertNotEqual(before["algorithm"], behind["algorithm"])

    def test_by_measurement(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "tuning.toml")
            result = run("tune", "--machine", self.MACHINE, "--measure", "--collective", "alltoall,allreduce,reduce_scatter",
                         "--bytes", "8", "--limit", "20", "--best", "3", "--repetitions", "3", "--output", file, ranks=3,
                         STOKER_RANKS_PER_NODE="1")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr.count("measured, the best of 3"), 3, result.stderr)
            entries = self.entries(file)
            self.assertEqual([e["collective"] for e in entries], ["alltoall", "allreduce", "reduce_scatter"])
            for entry in entries:
                self.assertEqual((entry["nodes"], entry["ranks_per_node"], entry["bytes"]), ([3, 3], [1, 1], [8, 8]))

    def test_ragged_nodes_are_not_measured(self):
        self.fail_with("expected nodes of equal size", arguments=("tune", "--machine", self.MACHINE, "--measure"), ranks=3,
                       STOKER_RANKS_PER_NODE="2")

    def test_dry_run(self):
        text = self.succeed("tune", "--machine", self.MACHINE, "--nodes", "2", "--ppn", "4", "--collective", "alltoall",
                            "--bytes", "8", "--dry-run")
        self.assertIn("alltoall on 2 nodes of 4 ranks, 8 B: begins with ", text)
        for choice in ("nonblocking", "radix:r=4", "radix2:r1=2,r2=2", "multileader:leaders=2", "batched:batch=4"):
            self.assertIn(f"\n  {choice}\n", text)

    def test_bad_arguments(self):
        some = ("tune", "--machine", self.MACHINE, "--nodes", "2", "--ppn", "2")
        self.fail_with("neighbor_alltoall", "allreduce", arguments=(*some, "--collective", "neighbor_alltoall"))
        self.fail_with("--machine clustr", "did you mean cluster?", arguments=("tune", "--machine", "clustr"))
        self.fail_with("/nonexistent.toml", arguments=("tune", "--machine", "/nonexistent.toml"))
        self.fail_with("--nodes 65536", "expected 256 at most",
                       arguments=("tune", "--machine", self.MACHINE, "--nodes", "65536", "--ppn", "4096"))
        self.fail_with("--output /nonexistent/t.toml", "No such file",  # before a search of hours
                       arguments=("tune", "--machine", self.MACHINE, "--output", "/nonexistent/t.toml"))
        self.assertNotEqual(run(*some, "--measure").returncode, 0)
        self.fail_with("two ranks", arguments=("tune", "--measure"))

    def test_info_names_the_defect_of_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("version = 1\n\n[[entry]]\ncollective = \"alltoal\"\n")
            file.flush()
            tuning = self.succeed_json("info", "--set", f"tuning={file.name}")["tuning"]
            self.assertIn(f"{file.name}:4: collective \"alltoal\"", tuning["error"])
            result = run("info", "--set", f"tuning={file.name}")
            self.assertIn(f"tuning: not followed: {file.name}:4", result.stdout)
            self.assertEqual(result.stderr.count(f"{file.name}:4"), 1, "one warning")
            two = run("info", "--set", f"tuning={file.name}", ranks=2)
            self.assertEqual(two.stderr.count(f"{file.name}:4"), 1, "one warning, of rank 0")
        self.assertIsNone(self.succeed_json("info")["tuning"])

    def test_init_says_who_has_chosen(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("version = 1\n[[entry]]\ncollective = \"alltoall\"\nnodes = 1\nranks_per_node = 2\n"
                       "bytes = [0, 10000000]\nalgorithm = \"bruck\"\n")
            file.flush()
            for variables, words in (({}, "cost model"), ({"STOKER_TUNING": file.name}, f"bruck ({file.name}:2)"),
                                     ({"STOKER_TUNING": file.name, "STOKER_ALGORITHMS": "alltoall=pairwise"},
                                      "pairwise (setting algorithms)")):
                result = run("doctor", ranks=2, STOKER_LOG="info", **variables)
                self.assertIn(words, result.stderr)
                self.assertIn("rma-fence (info key)", result.stderr)

    def test_the_page_shows_a_file_and_a_command_that_work(self):
        page = (ROOT / "docs/tuning.md").read_text()
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "page.toml")
            with open(file, "w", encoding="utf-8") as out:
                out.write(page.split("```toml\n")[1].split("```")[0])
            self.assertEqual([e["algorithm"] for e in self.entries(file)],
                             ["radix2:r1=4,r2=4", "recursive-exchange:factors=2 16"])
            command = page.split("```\nstoker ")[1].split("```")[0].split()
            command[command.index("tuning.toml")] = file
            self.succeed(*command)
            self.assertGreaterEqual(len(self.entries(file)), 4)


class Usage(Case):
    def test_version(self):
        self.assertRegex(self.succeed("--version"), r"^stoker \d+\.\d+\.\d+$")

    def test_help_names_the_subcommands(self):
        text = self.succeed("--help")
        for command in ("run", "info", "plan", "schedule", "predict", "simulate", "tune", "calibrate", "doctor",
                        "trace"):
            self.assertIn(command, text)

    def test_no_subcommand(self):
        self.assertNotEqual(run().returncode, 0)

    def test_unknown_subcommand(self):
        self.assertNotEqual(run("inof").returncode, 0)


class Info(Case):
    def test_settings_page_is_what_the_table_says(self):
        self.assertEqual(self.succeed("info", "--settings-markdown"), (ROOT / "docs/settings.md").read_text(),
                         "write docs/settings.md anew: stoker info --settings-markdown >docs/settings.md")

    def test_mpi_libraries_page_is_what_the_table_says(self):
        self.assertEqual(self.succeed("info", "--mpi-libraries-markdown"), (ROOT / "docs/mpi-libraries.md").read_text(),
                         "write docs/mpi-libraries.md anew: stoker info --mpi-libraries-markdown >docs/mpi-libraries.md")

    def test_alone(self):
        info = self.succeed_json("info")
        self.assertEqual(info["ranks"], 1)
        self.assertEqual(len(info["nodes"]), 1)
        self.assertEqual(info["nodes"][0]["domains"][0]["ranks"][0]["rank"], 0)
        self.assertEqual(info["puts"]["engine"], "copies")
        names = {(a["collective"], a["name"]) for a in info["algorithms"]}
        self.assertGreaterEqual(len([n for n in names if n[0] == "alltoall"]), 2)
        self.assertGreaterEqual(len([n for n in names if n[0] == "alltoallv"]), 2)

    def test_text_has_all_parts(self):
        text = self.succeed("info")
        for part in ("topology: 1 rank, 1 node", "algorithms", "selection", "Settings of an engine", "Settings of the drop-in",
                     "may change", "cross-memory attach", "XPMEM", "puts of one-sided", "hwloc"):
            self.assertIn(part, text)

    def test_origins_of_settings(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("batch = 16\nspin_us = 1\nnap_us = 1\n")
            file.flush()
            info = self.succeed_json("info", "--set", "nap_us=3", "--set", "eager_bytes=4K",
                                     STOKER_SETTINGS_FILE=file.name, STOKER_SPIN_US="2", STOKER_NAP_US="2")
        settings = {s["key"]: (s["value"], s["origin"]) for s in info["settings"]}
        self.assertEqual(settings["batch"], ("16", "file"))
        self.assertEqual(settings["spin_us"], ("2", "environment"))
        self.assertEqual(settings["nap_us"], ("3", "call"))
        self.assertEqual(settings["eager_bytes"], ("4K", "call"))
        self.assertEqual(settings["executor"][1], "default")
        sections = {s["key"]: s["section"] for s in info["settings"]}
        self.assertIn("may change", sections["batch"])
        self.assertNotIn("may change", sections["executor"])

    def test_bad_settings(self):
        self.fail_with("executr", 'did you mean "executor"?', arguments=("info", "--set", "executr=inline"))
        self.fail_with("STOKER_BATCH", "1 or more", arguments=("info",), STOKER_BATCH="0")
        self.fail_with("KEY=VALUE", arguments=("info", "--set", "batch"), code=105)
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("batch = 16\nlog = 'loud'\n")
            file.flush()
            self.fail_with(f"{file.name}:2", "loud", "error, warn, info, debug", arguments=("info",),
                           STOKER_SETTINGS_FILE=file.name)

    def test_unknown_variable_is_a_warning(self):
        result = run("info", STOKER_NAPPUS="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("STOKER_NAPPUS"), 1)

    def test_described_machine_and_pretended_nodes(self):
        info = self.succeed_json("info", ranks=3, STOKER_MACHINE=FULL_MACHINE, STOKER_RANKS_PER_NODE="2")
        self.assertEqual([n["node"] for n in info["nodes"]], [0, 1])
        ranks = [[r["rank"] for d in n["domains"] for r in d["ranks"]] for n in info["nodes"]]
        self.assertEqual(ranks, [[0, 1], [2]])
        # Unbound ranks are spread over the NUMA domains.
        self.assertEqual([d["numa"] for d in info["nodes"][0]["domains"]], [0, 1])

    def test_helpers_of_a_job(self):
        info = self.succeed_json("info", ranks=2)
        self.assertEqual(info["ranks"], 2)
        domain = info["nodes"][0]["domains"][0]
        self.assertEqual(domain["carrier"], 0)
        self.assertEqual([r["rank"] for r in domain["ranks"]], [0, 1])
        self.assertIsNotNone(domain["helper"])
        self.assertNotEqual(domain["helper"]["cpus"], "")

    def test_inline_has_no_helper(self):
        info = self.succeed_json("info", "--set", "executor=inline")
        self.assertIsNone(info["nodes"][0]["domains"][0]["helper"])


class Plan(Case):
    def test_machine_given(self):
        plan = self.succeed_json("plan", "--nodes", "4", "--ppn", "6", "--machine", FULL_MACHINE)
        self.assertEqual(len(plan["rank_cpus"]), 6)
        self.assertEqual(len(plan["helpers"]), 2)
        self.assertEqual({h["numa"] for h in plan["helpers"]}, {0, 1})
        helper_cpus = {str(h["cpu"]) for h in plan["helpers"]}
        self.assertTrue(helper_cpus.isdisjoint(plan["rank_cpus"]), "a helper's core is a rank's too")
        self.assertEqual([command["launcher"] for command in plan["commands"]],
                         ["Hydra (MPICH)", "Open MPI 4", "Open MPI 5", "Slurm (MPICH)", "Slurm (Open MPI)"])
        for command in plan["commands"]:
            self.assertIn("24", command["command"], "total number of ranks")

    def test_helpers_per_numa(self):
        plan = self.succeed_json("plan", "--ppn", "4", "--helpers-per-numa", "2", "--machine", FULL_MACHINE)
        self.assertEqual(len(plan["helpers"]), 4)

    def test_one_launcher(self):
        for launcher, words in (
            ("hydra", ["mpiexec"]),
            ("openmpi", ["--bind-to cpu-list", "--map-by pe-list"]),
            ("slurm", ["srun --mpi=pmi2", "srun --mpi=pmix"]),
        ):
            plan = self.succeed_json("plan", "--ppn", "2", "--machine", FULL_MACHINE, "--launcher", launcher)
            text = self.succeed("plan", "--ppn", "2", "--machine", FULL_MACHINE, "--launcher", launcher)
            self.assertEqual(len(plan["commands"]), len(words))
            for command, word in zip(plan["commands"], words):
                self.assertIn(word, command["command"])
                self.assertIn(command["command"], text)

    def test_layouts_that_cannot_work(self):
        self.fail_with("8", arguments=("plan", "--ppn", "8", "--machine", FULL_MACHINE))
        self.succeed("plan", "--ppn", "8", "--oversubscribe", "--machine", FULL_MACHINE)

    def test_bad_arguments(self):
        self.fail_with("nonsense", arguments=("plan", "--ppn", "1", "--machine", "nonsense"))
        self.assertNotEqual(run("plan").returncode, 0)
        self.assertNotEqual(run("plan", "--ppn", "0").returncode, 0)
        self.assertNotEqual(run("plan", "--ppn", "1", "--launcher", "pbs").returncode, 0)


class Doctor(Case):
    def find(self, findings, check):
        found = [f for f in findings if f["check"] == check]
        self.assertEqual(len(found), 1, f"{check} in {findings}")
        return found[0]

    def test_alone(self):
        report = self.succeed_json("doctor")
        self.assertEqual(report["failures"], 0)
        self.assertEqual(len(report["hosts"]), 1)
        for finding in report["hosts"][0]["findings"] + report["job"]:
            self.assertIn(finding["verdict"], ("ok", "slow"))
            self.assertNotEqual(finding["found"], "")
            self.assertEqual(finding["remedy"] == "", finding["verdict"] == "ok", finding)
        self.assertEqual(self.find(report["job"], "exchange")["verdict"], "ok")

    def test_job(self):
        report = self.succeed_json("doctor", ranks=2)
        self.assertEqual(report["ranks"], 2)
        for check in ("ranks and cores", "binding of ranks", "messages within a node", "helper threads", "exchange", "one-sided"):
            self.find(report["job"], check)
        self.assertIn("running", self.find(report["job"], "helper threads")["found"])

    def test_inline(self):
        report = self.succeed_json("doctor", STOKER_EXECUTOR="inline")
        finding = self.find(report["job"], "helper threads")
        self.assertEqual(finding["verdict"], "slow")
        self.assertIn("without overlap", finding["found"])

    def test_crowded_ranks(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU only")
        cpu = min(os.sched_getaffinity(0))
        report = self.succeed_json("doctor", ranks=2, before=("taskset", "-c", str(cpu)))
        finding = self.find(report["job"], "binding of ranks")
        self.assertEqual(finding["verdict"], "slow")
        self.assertIn("bind", finding["remedy"])

    def test_more_ranks_than_cores(self):
        ranks = len(os.sched_getaffinity(0)) + 1
        if ranks > 5:
            self.skipTest("too many CPUs to oversubscribe in a test")
        report = self.succeed_json("doctor", ranks=ranks)
        finding = self.find(report["job"], "ranks and cores")
        self.assertEqual(finding["verdict"], "slow")
        self.assertIn("plan", finding["remedy"])
        self.assertIn("running", self.find(report["job"], "helper threads")["found"])

    def test_attach_refused(self):
        report = self.succeed_json("doctor", before=(ATTACH_REFUSED,))
        finding = self.find(report["hosts"][0]["findings"], "cross-memory attach")
        self.assertEqual(finding["verdict"], "slow")
        self.assertIn("seccomp", finding["remedy"])
        self.assertIn("stoker_alloc", finding["remedy"])

    def test_exchange_without_attach(self):
        report = self.succeed_json("doctor", ranks=2, before=(ATTACH_REFUSED,))
        finding = self.find(report["job"], "exchange")
        self.assertEqual(finding["verdict"], "ok")
        self.assertIn("staged", finding["found"])
        self.assertNotIn("cma", finding["found"])

    def test_little_address_space(self):
        report = self.succeed_json("doctor", before=("prlimit", f"--as={6 << 30}"))
        finding = self.find(report["hosts"][0]["findings"], "shared memory")
        self.assertEqual(finding["verdict"], "slow")
        self.assertIn("ulimit -v", finding["remedy"])

    def test_settings(self):
        result = run("doctor", "--json", STOKER_BATCH="none")
        self.assertEqual(result.returncode, 1)
        report = json.loads(result.stdout)
        finding = self.find(report["hosts"][0]["findings"], "settings")
        self.assertEqual(finding["verdict"], "fails")
        self.assertIn("STOKER_BATCH", finding["found"])
        self.assertGreaterEqual(report["failures"], 1)

    def test_text(self):
        text = self.succeed("doctor")
        self.assertRegex(text, r"(?m)^  ok +shared segments ")
        self.assertIn("nothing fails", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
