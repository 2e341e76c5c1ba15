# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the command line `stoker`, alone and under the MPI launcher.

usage: cli_test.py STOKER MPIRUN MPI ATTACH_REFUSED
  MPIRUN: tests/rig/mpirun; MPI: mpich or openmpi; ATTACH_REFUSED: runs a command with cross-memory attach refused
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

STOKER, MPIRUN, MPI, ATTACH_REFUSED = sys.argv[1:5]
ROOT = pathlib.Path(__file__).resolve().parents[2]
FULL_MACHINE = "package:2 numa:1 core:4 pu:1"  # 8 cores, two NUMA domains


def clean_environment(**extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STOKER_")}
    environment.update(extra)
    return environment


def run(*arguments, ranks=0, before=(), **extra):
    """Runs `stoker ARGUMENTS`, under the launcher when `ranks` is not 0."""
    launch = [MPIRUN, MPI, str(ranks)] if ranks else []
    return subprocess.run(
        [*launch, *before, STOKER, *arguments],
        capture_output=True, text=True, timeout=150, env=clean_environment(**extra), check=False)


class Case(unittest.TestCase):
    def succeed(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def fail_with(self, *parts, arguments, code=1, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def succeed_json(self, *arguments, **options):
        return json.loads(self.succeed(*arguments, "--json", **options))


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
        self.assertEqual(by_size[1 << 20], "nonblocking")
        self.assertNotEqual(by_size[8], "nonblocking")
        text = self.succeed("predict", "--bytes", "8", "radix:r=2", "radix:r=4", "--ranks", "16", "--ppn", "4")
        self.assertIn("radix:r=4", text)
        self.fail_with("radix", "2 to 16", arguments=("predict", "radix:r=17", "--ranks", "16", "--ppn", "4"))

    def test_prediction_from_a_calibration(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model.json")
            self.succeed("calibrate", "--output", model, "--ranks-per-node", "2", ranks=4)
            with open(model, encoding="utf-8") as file:
                costs = json.load(file)
            self.assertEqual(list(costs), ["self", "domain", "node", "network", "port"])
            self.assertTrue(all(cost["seconds"] >= 0 and cost["seconds_per_byte"] >= 0 for cost in costs.values()))
            self.assertGreater(costs["network"]["seconds"], 0)
            self.assertGreater(self.succeed_json("schedule", "bruck", "--model", model)["predicted_seconds"], 0)
            costs = {name: {"seconds": 1, "seconds_per_byte": 0} for name in costs}
            costs["port"]["seconds"] = costs["self"]["seconds"] = 0
            with open(model, "w", encoding="utf-8") as file:
                json.dump(costs, file)
            self.assertEqual(self.succeed_json("schedule", "pairwise", "--model", model)["predicted_seconds"], 7)
            with open(model, "w", encoding="utf-8") as file:
                file.write("{}")
            self.fail_with(model, "self", arguments=("schedule", "--model", model))
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


class Usage(Case):
    def test_version(self):
        self.assertRegex(self.succeed("--version"), r"^stoker \d+\.\d+\.\d+$")

    def test_help_names_the_subcommands(self):
        text = self.succeed("--help")
        for command in ("info", "plan", "schedule", "predict", "calibrate", "doctor"):
            self.assertIn(command, text)

    def test_no_subcommand(self):
        self.assertNotEqual(run().returncode, 0)

    def test_unknown_subcommand(self):
        self.assertNotEqual(run("inof").returncode, 0)


class Info(Case):
    def test_settings_page_is_what_the_table_says(self):
        self.assertEqual(self.succeed("info", "--settings-markdown"), (ROOT / "docs/settings.md").read_text(),
                         "write docs/settings.md anew: stoker info --settings-markdown >docs/settings.md")

    def test_alone(self):
        info = self.succeed_json("info")
        self.assertEqual(info["ranks"], 1)
        self.assertEqual(len(info["nodes"]), 1)
        self.assertEqual(info["nodes"][0]["domains"][0]["ranks"][0]["rank"], 0)
        names = {(a["collective"], a["name"]) for a in info["algorithms"]}
        self.assertGreaterEqual(len([n for n in names if n[0] == "alltoall"]), 2)
        self.assertGreaterEqual(len([n for n in names if n[0] == "alltoallv"]), 2)

    def test_text_has_all_parts(self):
        text = self.succeed("info")
        for part in ("topology: 1 rank, 1 node", "algorithms", "selection", "Settings of an engine", "Settings of the drop-in",
                     "may change", "cross-memory attach", "hwloc"):
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
        self.assertEqual(len(plan["commands"]), 3)
        for command in plan["commands"]:
            self.assertIn("24", command["command"], "total number of ranks")

    def test_helpers_per_numa(self):
        plan = self.succeed_json("plan", "--ppn", "4", "--helpers-per-numa", "2", "--machine", FULL_MACHINE)
        self.assertEqual(len(plan["helpers"]), 4)

    def test_one_launcher(self):
        for launcher, word in (("hydra", "mpiexec"), ("openmpi", "mpirun"), ("slurm", "srun")):
            plan = self.succeed_json("plan", "--ppn", "2", "--machine", FULL_MACHINE, "--launcher", launcher)
            self.assertEqual(len(plan["commands"]), 1)
            self.assertIn(word, plan["commands"][0]["command"])
            text = self.succeed("plan", "--ppn", "2", "--machine", FULL_MACHINE, "--launcher", launcher)
            self.assertIn(plan["commands"][0]["command"], text)

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
