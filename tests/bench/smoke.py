#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one benchmark with tiny sizes on two ranks and checks what it writes: smoke.py BENCHMARK MPIRUN MPI PROGRAM"""
import functools
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

KEYS = ["benchmark", "collective", "algorithm", "executor", "mpi", "nodes", "ppn", "bytes", "iterations", "median_us",
        "min_us", "max_us", "overall_us", "compute_us", "efficiency", "baseline_us", "ratio"]
TINY = ["--time", "0.001", "--min-iterations", "2", "--max-iterations", "10", "--batch-us", "5"]
COLLECTIVES = ["alltoall", "alltoallv"]
REDUCTIONS = ["allreduce", "reduce", "bcast"]
EXECUTORS = ["engine", "inline"]


def fail(text):
    sys.exit(f"smoke.py: {text}")


def expect(condition, text):
    if not condition:
        fail(text)


class Driver:
    def __init__(self, mpirun, mpi, program):
        self.mpi = mpi
        self.command = [mpirun, mpi, "2", program]
        self.printed = ""  # by the last run whose rows were asked for

    def run(self, *arguments):
        return subprocess.run([*self.command, *arguments], text=True, capture_output=True, check=False)

    def rows(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.json")
            done = self.run(*arguments, "--json", file)
            self.printed = done.stdout
            sys.stdout.write(done.stdout)
            sys.stderr.write(done.stderr)
            expect(done.returncode == 0, f"exit status {done.returncode}")
            with open(file, encoding="utf-8") as lines:
                rows = [json.loads(line) for line in lines]
        for row in rows:
            self.check(row, arguments[0])
        return rows

    def check(self, row, benchmark):
        missing = [key for key in KEYS if key not in row]
        expect(not missing, f"keys {missing} missing in {row}")
        expect(row["benchmark"] == benchmark and row["mpi"] == self.mpi, f"whose row is {row}?")
        expect((row["nodes"], row["ppn"]) == (1, 2), f"two ranks on one node, but {row}")
        expect(row["iterations"] >= 1, f"no iterations in {row}")
        expect(row["min_us"] <= row["median_us"] <= row["max_us"], f"order of times in {row}")
        expect(all(math.isfinite(value) for value in row.values() if isinstance(value, float)), f"not finite: {row}")
        expect(row["break_even"] == break_even(row), f"not what break-even is: {row}")
        if row["ratio"] is not None:
            expect(row["baseline"], f"the baseline has no name in {row}")


def break_even(row):
    gain = row["baseline_us"] - row["median_us"] if row["baseline_us"] is not None else 0
    return math.ceil(row["init_us"] / gain) if row["init_us"] is not None and gain > 0 else None


def expect_combinations(rows, keys, *values):
    """Exactly the rows of the product of `values`, each once."""
    found = sorted(tuple(row[key] for key in keys) for row in rows)
    expect(found == sorted(itertools.product(*values)), f"unexpected set of results: {found}")


def device(driver):
    """With a stand-in for a device's driver, whose memory only the driver reaches."""
    for benchmark, more in (("latency", []), ("overlap", ["--kernel", "device"])):
        rows = driver.rows(benchmark, *TINY, "--collective", ",".join(COLLECTIVES + REDUCTIONS), "--bytes", "8,16K", "--buffers",
                           "device", "--validate", *more)
        expect({row["collective"] for row in rows} == set(COLLECTIVES + REDUCTIONS), "collectives are missing")
        expect(set(EXECUTORS) <= {row["executor"] for row in rows}, "executors are missing")
        expect(all(row["device"] == "stand-in" and row["buffers"] == "device" for row in rows), "rows do not name the device")


def overlap(driver):
    kernels = ["register", "memory"]
    mpi_ways = ["mpi-blocking", "mpi-nonblocking", "mpi-nonblocking-test"]
    rows = driver.rows("overlap", *TINY, "--bytes", "8,16K", "--memory-bytes", "1M", "--test-us", "50", "--validate")
    expect_combinations(rows, ["collective", "bytes", "kernel", "executor"], COLLECTIVES, [8, 16384], kernels,
                        mpi_ways + EXECUTORS)
    rows += driver.rows("overlap", *TINY, "--collective", "allreduce,reduce,bcast", "--bytes", "8,16K", "--kernel", "register",
                        "--executors", "engine", "--validate")
    expect_combinations([row for row in rows if row["collective"] in REDUCTIONS], ["collective", "bytes", "executor"],
                        REDUCTIONS, [8, 16384], ["mpi-blocking", "mpi-nonblocking", "engine"])
    one = driver.rows("overlap", *TINY, "--collective", "alltoall", "--bytes", "16K", "--kernel", "device", "--computing", "1",
                      "--test-us", "50", "--validate")
    expect_combinations(one, ["kernel", "executor"], ["device"], mpi_ways + EXECUTORS)
    expect(all(row["computing"] == [1] for row in one), f"who computes is not recorded in {one}")
    rows += one
    for row in rows:
        efficiency = max(row["compute_us"], row["pure_us"]) / row["overall_us"]
        expect(math.isclose(row["efficiency"], efficiency, rel_tol=1e-9), f"not what efficiency is: {row}")


def latency(driver):
    rows = driver.rows("latency", *TINY, "--bytes", "8,1K", "--validate")
    ways = EXECUTORS + ["mpi-blocking", "mpi-persistent"]
    expect_combinations(rows, ["collective", "bytes", "executor"], COLLECTIVES, [8, 1024], ways)
    rows = driver.rows("latency", *TINY, "--bytes", "4K", "--collective", "alltoallv", "--buffers", "mapped",
                       "--executors", "inline", "--set", "access=mapped")
    expect_combinations(rows, ["collective", "bytes", "executor"], ["alltoallv"], [4096],
                        ["inline", "mpi-blocking", "mpi-persistent"])
    for row in rows:
        expect(row["settings"] == ["access=mapped"] and row["buffers"] == "mapped", f"settings not recorded in {row}")
    rows = driver.rows("latency", *TINY, "--bytes", "4K", "--collective", "reduce", "--buffers", "heap,mapped", "--executors",
                       "inline")
    expect_combinations(rows, ["buffers", "executor"], ["heap", "mapped"], ["inline", "mpi-blocking", "mpi-persistent"])
    rows = driver.rows("latency", *TINY, "--bytes", "8", "--executors", "none", "--thread-level", "single")
    expect({row["algorithm"] for row in rows} == {"mpi"}, "with no executor only the MPI library is measured")


def alltoall(driver):
    algorithms = ["radix:r=2", "hierarchical:between=pairwise"]
    rows = driver.rows("alltoall", *TINY, "--bytes", "8,1K", "--algorithms", *algorithms, "--validate")
    expect_combinations([row for row in rows if row["algorithm"] != "mpi"],
                        ["collective", "bytes", "executor", "algorithm"], COLLECTIVES, [8, 1024], EXECUTORS, algorithms)
    expect_combinations([row for row in rows if row["algorithm"] == "mpi"], ["collective", "bytes", "executor"],
                        COLLECTIVES, [8, 1024], ["mpi-blocking"])


    rows = driver.rows("alltoall", *TINY, "--bytes", "64", "--algorithms", "auto", "hierarchical", "--breakdown", "--set",
                       "ranks_per_node=2")
    for row in rows:
        if row["algorithm"] == "mpi":
            expect("between_us" not in row, "phases of an MPI call are not known")
        elif row["nodes"] > 1:
            expect(row["before_us"] >= 0 and row["between_us"] > 0 and row["after_us"] >= 0, f"three phases: {row}")


def reduction(collective, driver):
    calls = ["mpi-blocking", "mpi-nonblocking", "mpi-persistent"]
    rows = driver.rows(collective, *TINY, "--bytes", "8,1K,64K", "--inits", "2", "--validate")
    expect_combinations(rows, ["collective", "bytes", "buffers", "executor"], [collective], [8, 1024, 65536],
                        ["heap", "mapped"], EXECUTORS + calls)
    points = {}
    for row in rows:
        points.setdefault((row["bytes"], row["buffers"]), []).append(row)
        expect((row["init_us"] is not None) == (row["executor"] not in calls[:2]), f"who has an init: {row}")
    for point in points.values():
        fastest = min((row for row in point if row["algorithm"] == "mpi"), key=lambda row: row["median_us"])
        expect(all((row["baseline"], row["baseline_us"]) == (fastest["executor"], fastest["median_us"]) for row in point),
               f"the baseline is the fastest of MPI's calls: {point}")
    rows = driver.rows(collective, *TINY, "--bytes", "1K", "--algorithms", "auto", "tree", "--executors", "inline",
                       "--buffers", "heap")
    ours = [row["algorithm"] for row in rows if row["algorithm"] != "mpi"]
    expect(len(ours) == 2 and ours[1].startswith("tree"), f"both algorithms, in this order: {ours}")


def init(driver):
    rows = driver.rows("init", *TINY, "--collective", "allreduce,bcast", "--bytes", "64", "--ranks", "2,7", "--inits", "3")
    compiled = [row for row in rows if row["executor"] == "compile"]
    expect({(row["collective"], row["ranks"]) for row in compiled} == set(itertools.product(["allreduce", "bcast"], [2, 7])),
           f"each number of ranks: {compiled}")
    recalled = [(row["collective"], row["ranks"], row["algorithm"]) for row in rows if row["executor"] == "wisdom"]
    expect(recalled == [(row["collective"], row["ranks"], row["algorithm"]) for row in compiled], f"each from wisdom: {recalled}")
    whole = [row for row in rows if row["executor"] not in ("compile", "wisdom")]
    expect_combinations(whole, ["collective", "ranks", "executor", "iterations"], ["allreduce", "bcast"], [2],
                        EXECUTORS + ["mpi-persistent"], [3])
    expect(all(row["baseline"] == "mpi-persistent" for row in whole), "beside the MPI library's")
    rows = driver.rows("init", *TINY, "--bytes", "64", "--ranks", "12", "--ranks-per-node", "4", "--algorithms", "tree")
    nodes = [(row["ranks"], row["ranks_per_node"]) for row in rows if row["executor"] == "compile"]
    expect(nodes == [(12, 4)], nodes)
    rows = driver.rows("init", *TINY, "--bytes", "64", "--here", "--executors", "inline")
    expect({row["executor"] for row in rows} == {"inline", "mpi-persistent"}, "nothing is compiled for others")


def write_matrix(path, header, size, entries):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"%%MatrixMarket matrix coordinate {header}\n{size[0]} {size[1]} {len(entries)}\n")
        out.writelines(f"{entry}\n" for entry in entries)


def alltoallv(driver):
    plain = ["mpi-rma-fence", "mpi-rma-lock", "mpi-rma-fence-hierarchy"]
    ways = ["mpi-blocking", "mpi-nonblocking", "mpi-persistent"]
    algorithms = ["nonblocking", "pairwise"]
    for scaling, pairs in (("weak", [4, 512]), ("strong", [2, 256])):
        rows = driver.rows("alltoallv", *TINY, "--bytes", "8,1K", "--scaling", scaling, "--algorithms", *algorithms,
                           "--validate", "--inits", "2")
        mpi = [row for row in rows if row["algorithm"] == "mpi"]
        expect_combinations(mpi, ["bytes", "executor"], pairs, ways + plain)
        ours = [row for row in rows if row["algorithm"] != "mpi"]
        expect_combinations(ours, ["bytes", "executor", "algorithm"], pairs, EXECUTORS, algorithms)
        for row in rows:
            expect(row["bytes_per_process"] == 2 * row["bytes"] and row["total_bytes"] == 4 * row["bytes"], f"sizes: {row}")
            expect((row["init_us"] is not None) == (row["executor"] not in ways[:2]), f"who has an init: {row}")
    with tempfile.TemporaryDirectory() as folder:
        # Rank 0 has rows 1 to 2 and columns 1 to 3, rank 1 the others.
        write_matrix(f"{folder}/wide.mtx", "real general", (4, 6), ["1 1 1.5", "1 4 1", "2 4 2", "2 6 1", "4 2 1", "3 5 1"])
        write_matrix(f"{folder}/hermitian.mtx", "complex hermitian", (2, 2), ["1 1 1 0", "2 1 0 1"])
        write_matrix(f"{folder}/diagonal.mtx", "pattern symmetric", (2, 2), ["1 1", "2 2"])
        names = ["wide", "hermitian", "diagonal"]
        files = [f"{folder}/{name}.mtx" for name in names]
        rows = driver.rows("alltoallv", *TINY, "--matrix", *files, "--patterns", f"{folder}/patterns.json", "--plain-forms",
                           "off", "--algorithms", "nonblocking", "--validate")
        expect_combinations([row for row in rows if row["algorithm"] != "mpi"], ["matrix", "executor"], names, EXECUTORS)
        expect({row["executor"] for row in rows if row["algorithm"] == "mpi"} == set(ways), "no plain forms")
        expect(all(row["bytes"] is None for row in rows), "pairs of ranks differ")
        with open(f"{folder}/patterns.json", encoding="utf-8") as lines:
            patterns = {pattern["matrix"]: pattern for pattern in map(json.loads, lines)}
        counts = {name: pattern["send_counts"] for name, pattern in patterns.items()}
        expect(counts == {"wide": [[0, 1], [2, 0]], "hermitian": [[0, 1], [1, 0]], "diagonal": [[0, 0], [0, 0]]}, counts)
        expect({row["total_bytes"] for row in rows if row["matrix"] == "wide"} == {24}, "three elements of eight bytes")

        write_matrix(f"{folder}/wrong.mtx", "real general", (2, 2), ["3 1 1"])
        for matrix, named in ((f"{folder}/wrong.mtx", "wrong.mtx, line 3: the row is '3'"), ("/nonexistent.mtx", "/nonexistent.mtx")):
            done = driver.run("alltoallv", "--matrix", matrix, *TINY)
            expect(done.returncode != 0 and named in done.stderr, f"{matrix}: {done.stderr}")


def neighbor(driver):
    rows = driver.rows("neighbor", *TINY, "--bytes", "64,20K", "--reach", "2")
    expect_combinations([row for row in rows if row["algorithm"] == "mpi"], ["data", "bytes"], ["equal", "different"],
                        [64, 20480])
    # auto, and both algorithms by name, each with both executors
    expect(len([row for row in rows if row["algorithm"] != "mpi"]) == 2 * 2 * 6, f"six ways at each point: {len(rows)}")
    expect({row["algorithm"] for row in rows} == {"mpi", "nonblocking", "locality-aware"}, "both algorithms")


MEMORIES = ["mpi-allocated", "mpi-created", "engine"]


def expect_openshmem(driver, benchmark, *arguments, more=()):
    """A way of its own where stoker-bench was built with it; else a line says that it is left out."""
    rows = driver.rows(benchmark, *TINY, "--openshmem", *arguments)
    absent = "left out: OpenSHMEM: this MPI library came without shmem.h" in driver.printed
    expect(not absent or driver.mpi == "mpich", "Open MPI brings OpenSHMEM")
    expected = {*MEMORIES, *more} if absent else {*MEMORIES, *more, "openshmem"}
    expect({row["executor"] for row in rows} == expected, f"all ways, absent: {absent}: {rows}")


def putget(driver):
    operations = ["put", "get"]
    rows = driver.rows("putget", *TINY, "--bytes", "1,4K")
    expect_combinations(rows, ["operation", "bytes", "executor"], operations, [1, 4096], MEMORIES + ["load-store"])
    for row in rows:
        expect(row["baseline"] == "mpi-allocated" and row["ratio"] > 0, f"against what MPI allocates: {row}")
    rows = driver.rows("putget", *TINY, "--distance", "--bytes", "8")
    expect_combinations(rows, ["operation", "target", "executor"], operations, [1], MEMORIES + ["load-store"])
    rows = driver.rows("putget", *TINY, "--overlap", "--bytes", "4K")
    expect_combinations(rows, ["operation", "bytes", "executor"], operations, [4096], MEMORIES)
    for row in rows:
        efficiency = max(row["compute_us"], row["pure_us"]) / row["overall_us"]
        expect(math.isclose(row["efficiency"], efficiency, rel_tol=1e-9), f"not what efficiency is: {row}")
        expect(row["pure"] == "mpi-allocated", f"the pure time is MPI's: {row}")
    expect_openshmem(driver, "putget", "--bytes", "1,4K", more=["load-store"])
    expect_openshmem(driver, "putget", "--overlap", "--bytes", "4K")


def gups(driver):
    rows = driver.rows("gups", *TINY, "--log2-words", "9")
    expect_combinations(rows, ["updates", "executor"], ["atomic", "many", "put-get", "put-get-pipelined"], MEMORIES)
    for row in rows:
        expect(math.isclose(row["gups"], 4 * 512 / (row["median_us"] * 1e3), rel_tol=1e-9), f"updates a nanosecond: {row}")
        loses_none = row["wrong_words"] == 0 and row["verified"]
        expect(row["updates"].startswith("put-get") or row["executor"].startswith("mpi-") or loses_none, f"atomics lose nothing: {row}")
    expect_openshmem(driver, "gups", "--log2-words", "9")


def stencil(driver):
    rows = driver.rows("stencil", *TINY, "--side", "5,16", "--iterations", "500", "--tolerance", "1e-4")
    expect_combinations(rows, ["side", "form", "executor"], [5, 16], ["blocking", "overlapped"], MEMORIES)
    expect(all(row["converged"] and 0 < row["solver_iterations"] < 500 for row in rows), "small grids converge")
    histories = [row["changes"] for row in rows if "changes" in row]
    expect(len(histories) == 2 and all(history == sorted(history, reverse=True) for history in histories), histories)
    rows = driver.rows("stencil", *TINY, "--side", "32", "--iterations", "3")
    expect(not any(row["converged"] for row in rows), "three iterations are too few")
    expect_openshmem(driver, "stencil", "--side", "5,16", "--iterations", "20")


def passive(driver):
    rows = driver.rows("passive", *TINY, "--bytes", "8", "--compute-ms", "2")
    expect_combinations(rows, ["operation", "target_does", "executor"], ["put", "get", "fetch-and-op"], ["wait", "compute"],
                        MEMORIES)
    expect(all(row["ratio"] == 1 for row in rows if row["target_does"] == "wait"), "waiting is what computing is compared with")
    expect_openshmem(driver, "passive", "--bytes", "8", "--compute-ms", "2")


def fft(driver):
    rows = driver.rows("fft", *TINY, "--points", "1,8", "--algorithms", "nonblocking", "radix2", "--executors",
                       "engine,inline")
    expect_combinations([row for row in rows if row["algorithm"] != "mpi"], ["numbers", "executor", "algorithm"], [4, 32],
                        EXECUTORS, ["nonblocking", "radix2:r1=2,r2=2"])
    for row in rows:
        expect(0 < row["transposes_us"] <= row["max_us"] * 3, f"transposes take a part of the whole: {row}")


def call_cost(driver):
    rows = driver.rows("call-cost", *TINY, "--gap-ms", "2")
    calls = {("start", "awake"), ("start", "back-to-back"), ("start", "asleep"), ("test", "active"), ("test", "polled"),
             ("test", "complete")}
    for executor in EXECUTORS + ["mpi-persistent"]:
        found = {(row["call"], row["condition"]) for row in rows if row["executor"] == executor}
        expected = calls | {("wait", "done")} if executor == "engine" else calls
        expect(found == expected, f"{executor}: {found}")


def idle(driver):
    rows = driver.rows("idle", "--seconds", "0.2", "--rounds", "2", "--kernel-ms", "1", "--repetitions", "2",
                       "--memory-bytes", "1M")
    watched = [row for row in rows if row["measure"] == "helper-cpu"]
    expect(len(watched) == 1, "one row about the helpers' CPU time")
    shares = [watched[0][f"helper_{state}_percent"] for state in ("busy", "idle", "sleeping")]
    # Sleep is what is left of the time, and a round is counted at its end: it may come out below 0.
    expect(min(shares[:2]) >= 0 and sum(shares) > 0, f"shares of the helpers' time: {shares}")
    expect_combinations([row for row in rows if row["measure"] == "slow-down"], ["kernel", "condition"],
                        ["register", "memory"], ["none", "idle", "paused"])


def footprint(driver):
    rows = driver.rows("footprint", "--ranks", "8,3584", "--ranks-per-node", "112", "--collective", "alltoall,alltoallv,allreduce")
    expect({row["ranks"] for row in rows} == {8, 3584}, "of each job")
    large = {row["what"]: row for row in rows if row["ranks"] == 3584}
    expect(all(row["node_mib"] > 0 for what, row in large.items() if what != "communicator"), "everything takes memory")
    expect(large["communicator"]["node_mib"] == 0, "a communicator of the engine's ranks has no tables of its own")
    for what, bytes_each in ("engine", 16), ("communicator, other order", 20):
        expect(3584 * bytes_each <= large[what]["node_mib"] * 2 ** 20 < 2 * 3584 * bytes_each, f"{what}: one table for a node")
    direct = [row for row in rows if row["what"] == "nonblocking" and row["collective"] == "alltoall" and row["ranks"] == 3584]
    expect(len(direct) == 1 and direct[0]["tags"] == 112, f"one message from each rank of a node: {direct}")
    # Lists of factors are as long as the number of ranks takes.
    rows = driver.rows("footprint", "--ranks", "16384", "--collective", "allreduce,bcast")
    expect(any(row["what"].startswith("building-blocks") for row in rows), "building-blocks is a candidate at 16384 ranks")


def refusals(driver):
    for arguments, named in (
        (["nonsense"], "nonsense"),
        (["latency", "--bytes", "many"], "--bytes"),
        (["latency", "--executors", "nobody"], "--executors"),
        (["latency", "--json", "/nonexistent/rows.json", *TINY], "/nonexistent/rows.json"),
        (["latency", "--bytes", "8", "--set", "nonsense", *TINY], "--set"),
        (["latency", "--bytes", "8", "--set", "no_such_setting=1", *TINY], "no_such_setting"),
        (["alltoall", "--bytes", "8", "--algorithms", "radx", *TINY], "did you mean radix?"),
        (["allreduce", "--bytes", "8", "--algorithms", "tre", *TINY], "did you mean tree?"),
        (["reduce", "--bytes", "12", *TINY], "--bytes"),
        (["init", "--algorithms", "tre", *TINY], "did you mean tree?"),
        (["init", "--ranks", "0", *TINY], "--ranks"),
        (["latency", "--bytes", "2G", "--executors", "none", *TINY], "--bytes"),
        (["alltoallv", "--bytes", "8", "--patterns", "/nonexistent/patterns.json", *TINY], "/nonexistent/patterns.json"),
        (["putget", "--target", "2", *TINY], "--target"),
        (["putget", "--distance", "--overlap", *TINY], "--overlap"),
        (["stencil", "--side", "1", *TINY], "--side"),
        (["overlap", "--executors", "none", "--buffers", "mapped", *TINY], "--buffers"),
        (["overlap", "--computing", "0,2", *TINY], "--computing"),
        *([] if os.path.exists("/dev/nvidiactl") else [(["latency", "--buffers", "device", *TINY], "--buffers device")]),
        (["footprint", "--collective", "alltoal", *TINY], "alltoal"),
    ):
        done = driver.run(*arguments)
        expect(done.returncode != 0, f"{arguments} was accepted")
        expect(named in done.stderr, f"{arguments}: the message does not name {named}: {done.stderr}")
    done = driver.run("--help")
    names = ("overlap", "latency", "alltoall", "alltoallv", "allreduce", "reduce", "bcast", "init", "neighbor", "fft", "putget", "passive", "gups", "stencil", "call-cost",
             "idle", "footprint")
    expect(done.returncode == 0 and all(name in done.stdout for name in names), f"--help: {done.stdout}{done.stderr}")


def main():
    name, *where = sys.argv[1:]
    tests = {"overlap": overlap, "latency": latency, "alltoall": alltoall, "alltoallv": alltoallv, "init": init,
             **{collective: functools.partial(reduction, collective) for collective in REDUCTIONS}, "neighbor": neighbor, "fft": fft,
             "putget": putget, "passive": passive, "gups": gups, "stencil": stencil, "call-cost": call_cost, "idle": idle, "footprint": footprint,
             "refusals": refusals, "device": device}
    tests[name](Driver(*where))


if __name__ == "__main__":
    main()
