#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of targets and the pictures, from made-up results: tables.py BENCH_FOLDER"""
import json
import os
import subprocess
import sys
import tempfile


def expect(condition, text):
    if not condition:
        sys.exit(f"tables.py: {text}")


def overlap_row(efficiency, size, executor="engine"):
    return {"benchmark": "overlap", "collective": "alltoall", "algorithm": "x", "executor": executor, "mpi": "mpich",
            "nodes": 2, "ppn": 1, "bytes": size, "kernel": "register", "efficiency": efficiency}


def latency_row(ratio, size):
    return {"benchmark": "latency", "collective": "alltoall", "algorithm": "x", "executor": "engine", "mpi": "mpich",
            "nodes": 2, "ppn": 1, "bytes": size, "ratio": ratio}


def alltoall_row(nodes, algorithm, executor, time):
    return {"benchmark": "alltoall", "collective": "alltoall", "algorithm": algorithm, "executor": executor, "mpi": "mpich",
            "nodes": nodes, "ppn": 2, "bytes": 64, "median_us": time, "ratio": time / 10, "before_us": 1.0,
            "between_us": 5.0, "after_us": 2.0, "init_us": 50.0, "baseline_us": 10.0}


def alltoallv_row(executor, algorithm, where, init):
    row = {"benchmark": "alltoallv", "collective": "alltoallv", "algorithm": algorithm, "executor": executor, "mpi": "mpich",
           "nodes": 2, "ppn": 2, "bytes": None, "scaling": "weak", "median_us": 9.0, "ratio": 0.9, "init_us": init,
           "baseline_us": 10.0, "break_even": init}
    return {**row, **where}


def reduction_row(mpi, executor, algorithm, buffers, size, time):
    return {"benchmark": "allreduce", "collective": "allreduce", "algorithm": algorithm, "executor": executor, "mpi": mpi,
            "nodes": 1, "ppn": 2, "bytes": size, "buffers": buffers, "median_us": time}


def write_reductions(folder):
    """Three launches. Of 32 KiB, Open MPI's persistent call is the fastest with 10 us, but in the launch that was disturbed;
    stoker takes half of it on mapped buffers; MPICH's calls are twice as slow."""
    for launch, disturbance in enumerate((1.0, 1.0, 3.0), start=1):
        for mpi, theirs in (("mpich", 20.0), ("openmpi", 10.0)):
            rows = []
            for buffers, ours in (("mapped", 5.0), ("heap", 9.0)):
                rows += [reduction_row(mpi, "mpi-blocking", "mpi", buffers, 32 << 10, theirs + 1),
                         reduction_row(mpi, "mpi-persistent", "mpi", buffers, 32 << 10, disturbance * theirs),
                         reduction_row(mpi, "inline", "cyclic-shift", buffers, 32 << 10, disturbance * ours),
                         reduction_row(mpi, "inline", "tree", buffers, 32 << 10, 1.0)]
                rows += [reduction_row(mpi, "mpi-blocking", "mpi", buffers, 8, 1.0),
                         reduction_row(mpi, "inline", "cyclic-shift", buffers, 8, 1.1 + 0.1 * launch)]
            write(f"{folder}/allreduce.{launch}.1x2.{mpi}.json", rows)
        write(f"{folder}/overlap.{launch}.2x1.mpich.json",
              [{**overlap_row(0.8 + 0.05 * launch, 1 << 20), "collective": "allreduce"},
               {**overlap_row(0.5, 1 << 20, "mpi-nonblocking"), "collective": "allreduce"}])
        write(f"{folder}/pipelined-cg.{launch}.4x1.openmpi.json",
              [{"variant": "pipelined", "matrix": "m", "reduce": reduce, "iteration_us": {"median": time},
                "ratio_to_mpi": {"median": time / 10}} for reduce, time in (("stoker", 7.0), ("mpi", 10.0))])
        write(f"{folder}/init.{launch}.1x2.mpich.json",
              [{"benchmark": "init", "collective": "allreduce", "bytes": 64, "ranks": 8, "executor": executor,
                "algorithm": "tree", "median_us": time, "baseline_us": 100.0, "ratio": time / 100}
               for executor, time in (("compile", 100.0), ("wisdom", 30.0))])


def check_reductions(bench, folder):
    write_reductions(folder)
    done = run(f"{bench}/reductions.py", folder)
    expect(done.returncode == 0, done.stderr)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    table = {(line[0].split(" / ")[0], line[2]): line for line in lines[:lines.index([""])]}
    mapped, heap = "allreduce, inline, mapped buffers", "allreduce, inline, heap buffers"
    for measure, mpi, value, met in (
        (f"{mapped}, 32 KiB to 8 MiB", "mpich", "0.5 (0.5 to 0.5)", "yes"),  # against the better of the libraries
        (f"{mapped}, 32 KiB to 8 MiB", "openmpi", "0.5 (0.5 to 0.5)", "yes"),
        (f"{heap}, 32 KiB to 8 MiB", "openmpi", "0.9 (0.9 to 0.9)", "no"),
        (f"{mapped}, below 32 KiB", "mpich", "1.3 (1.2 to 1.4)", "no"),
        ("step efficiency, engine, allreduce of 1 MiB", "mpich", "0.9 (0.85 to 0.95)", "yes"),
        ("pipelined CG, an iteration with the engine", "openmpi", "0.7 (0.7 to 0.7)", "yes"),
        ("init from wisdom", "mpich", "0.3 (0.3 to 0.3)", "no"),
    ):
        line = table[(measure, mpi)]
        expect((line[4], line[-1]) == (value, met), f"{measure}, {mpi}: {line}")
    expect(table[("reduce, inline, heap buffers, below 32 KiB", "mpich")][4] == "not measured", "there is no reduce")
    expect("10 us: openmpi, persistent, mapped" in table[(f"{mapped}, 32 KiB to 8 MiB", "mpich")][6], "what it is compared with")

    results = [f"{folder}/{name}" for name in os.listdir(folder) if name.startswith("allreduce")]
    done = run(f"{bench}/plot.py", "--output", f"{folder}/picture", *results)
    expect(done.returncode == 0, done.stderr)
    with open(f"{folder}/picture-allreduce.png", "rb") as picture:
        expect(picture.read(4) == b"\x89PNG", "no picture of allreduce")


def check_peers(bench, folder):
    """Two launches. The call is han's with 5 us, and twice as long otherwise; stoker takes 4 and 6 us in han's launches."""
    for launch in (1, 2):
        for component, theirs, ours in (("default", 10.0, 1.0), ("han", 5.0, 4.0)):
            write(f"{folder}/{component}.{launch}.1x2.openmpi.json",
                  [{**reduction_row("openmpi", executor, "x", "heap", 64 << 10, launch * time), "mpi_version": "Open MPI v5"}
                   for executor, time in (("mpi-blocking", theirs), ("inline", ours), ("engine", ours + 2))])
    done = run(f"{bench}/peers.py", folder)
    expect(done.returncode == 0, done.stderr)
    expect("| 2 ranks | allreduce | 64 KiB | 15 | - | 7.5 | - | - | 0.80 (0.80 to 0.80) | 1.20 (1.20 to 1.20) | han |" in done.stdout,
           done.stdout)


def check_harmless(bench, folder):
    """Three launches: steps of 8 B are 10 % behind, those of 64 KiB ahead; the engine takes 1.1 of inline, in one launch 9."""
    for launch, engine in ((1, 1.1), (2, 9.0), (3, 1.1)):
        write(f"{folder}/overlap.{launch}.2x1.mpich.json",
              [{**overlap_row(0.8, size, executor), "ratio": ratio} for size, executor, ratio in
               ((8, "engine", 1.1), (8, "mpi-nonblocking", 1.0), (64 << 10, "engine", 0.7), (64 << 10, "mpi-nonblocking", 1.2))])
        write(f"{folder}/at-once.{launch}.1x2.openmpi.json",
              [{**latency_row(1.0, 8), "executor": executor, "median_us": time}
               for executor, time in (("engine", engine), ("inline", 1.0), ("mpi-blocking", 0.5))])
    done = run(f"{bench}/harmless.py", folder)
    expect(done.returncode == 0, done.stderr)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    targets, missed = lines[2:lines.index([""])], lines[lines.index([""]) + 3:-1]
    expect([line[2:] for line in targets] == [
        ["openmpi", "<= 1.2", "0 of 1", "1.1 (1.1 to 9): alltoall, 8 B", "yes"],
        ["mpich", "<= 1.03", "1 of 2", "1.1 (1.1 to 1.1): alltoall, 8 B, register", "no"]], targets)
    expect([line[3] for line in missed] == ["alltoall, 8 B, register"], missed)


def check_examples(bench, folder):
    """Two launches: stoker takes 7 and 9 s at the shared place, MPI with tests 10 s; the progress thread's launch is as fast as
    stoker, whose own rows of that launch do not count; the engine is 5 % behind inline with Taylor-Green."""
    def rows(benchmark, times):
        return [{"benchmark": benchmark, "exchange": exchange, "median_ms": ms} for exchange, ms in times.items()]
    for launch, ours in ((1, 7.0), (2, 9.0)):
        write(f"{folder}/eigensolver.{launch}.shared.mpich.alone.json",
              rows("plane_waves", {"mpi-nonblocking": 16.0, "mpi-nonblocking-test": 10.0, "stoker": ours, "stoker-inline": 9.5}))
        write(f"{folder}/eigensolver.{launch}.spare.mpich.alone.json", rows("plane_waves", {"mpi-nonblocking": 16.0, "stoker": 8.0}))
        write(f"{folder}/eigensolver.{launch}.spare.mpich.thread.json", rows("plane_waves", {"mpi-nonblocking": 8.0, "stoker": 1.0}))
        write(f"{folder}/taylor-green.{launch}.shared.mpich.alone.json",
              rows("taylor_green", {"mpi-blocking": 20.0, "stoker-test": 21.0, "stoker-inline": 20.0}))
        write(f"{folder}/gradients.{launch}.spare-4.mpich.alone.json",
              [{"variant": "pipelined", "reduce": reduce, "exchange": halo, "iteration_us": {"median": us}}
               for reduce, halo, us in (("stoker", "stoker", 800.0), ("mpi", "stoker", 1000.0), ("mpi", "mpi-nonblocking", 1600.0))])
        write(f"{folder}/stencil.{launch}.shared.mpich.alone.json",
              [{"benchmark": "stencil", "form": "blocking", "executor": executor, "us_per_iteration": us}
               for executor, us in (("mpi-allocated", 100.0), ("engine", 110.0))])
    done = run(f"{bench}/examples.py", folder)
    expect(done.returncode == 0, done.stderr)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    table = {(line[0], line[1], line[3]): line for line in lines[:lines.index([""])]}
    shared, spare = "2 hosts x 1, shared cores", "2 hosts x 1, core to spare, as 1 Gbit/s"
    four = "4 hosts x 1, core to spare, as 1 Gbit/s"
    for key, ratio, met in (
        (("eigensolver", shared, "MPI without tests"), "0.5 (0.438 to 0.562)", "yes"),
        (("eigensolver", shared, "best of MPI"), "0.8 (0.7 to 0.9)", "yes"),
        (("eigensolver", spare, "best of MPI"), "1 (1 to 1)", "no"),
        (("eigensolver", spare, "best of MPI without progress thread"), "0.5 (0.5 to 0.5)", ""),
        (("taylor-green", shared, "better of engine and inline, for the engine"), "1.05 (1.05 to 1.05)", "no"),
        (("gradients", four, "pipelined, with MPI_Iallreduce, both with the halo by stoker"), "0.8 (0.8 to 0.8)", "yes"),
        (("gradients", four, "pipelined, with MPI_Iallreduce, both with the halo by mpi-nonblocking"), "not measured", ""),
        (("gradients", four, "best of MPI alone"), "0.5 (0.5 to 0.5)", ""),
        (("stencil", shared, "native RMA"), "1.1 (1.1 to 1.1)", "no"),
    ):
        line = table[key]
        expect((line[5], line[8]) == (ratio, met), line)
    expect(["eigensolver", spare, "mpich", "mpi-nonblocking, progress thread", "8 (8 to 8)", "1 (1 to 1)"] in lines,
           "all contestants are listed")


def check_openshmem(bench, folder):
    """Two launches: a get takes half of OpenSHMEM's time, and more than it in the second; random access takes twice as long."""
    def rows(benchmark, times, **more):
        return [{"benchmark": benchmark, "nodes": 1, "ppn": 2, "bytes": None, "executor": executor, "median_us": time, **more}
                for executor, time in times.items()]
    for launch, ours in ((1, 5.0), (2, 11.0)):
        write(f"{folder}/openshmem-putget.{launch}.1x2.openmpi.json",
              rows("putget", {"mpi-allocated": 20.0, "openshmem": 10.0, "engine": ours}, operation="get", bytes=1024))
        write(f"{folder}/openshmem-gups.{launch}.1x2.openmpi.json",
              rows("gups", {"openshmem": 10.0, "engine": 20.0}, updates="atomic"))
        write(f"{folder}/openshmem-stencil.{launch}.1x2.openmpi.json", rows("stencil", {"engine": 7.0}, side=64, form="blocking"))
    done = run(f"{bench}/openshmem.py", folder)
    expect(done.returncode == 0, done.stderr)
    for text in ("| one host x 2 | get, 1 KiB | 8 | 10 | 20 | 0.8 (0.5 to 1.1) | yes |",
                 "| one host x 2 | random access, atomic | 20 | 10 | - | 2 (2 to 2) | no |",
                 "| one host x 2 | stencil 64 x 64, blocking | 7 | - | - | - | - |", "Ahead at 1 of 2 points."):
        expect(text in done.stdout, f"{text} is not in the table:\n{done.stdout}")


def memory_rows():
    common = {"mpi": "mpich", "nodes": 2, "ppn": 2, "collective": None, "efficiency": None, "median_us": 3.0, "bytes": 8}
    for executor in ("mpi-allocated", "engine", "load-store"):
        ours = {**common, "executor": executor}
        for operation in ("put", "get"):
            transfer = {**ours, "benchmark": "putget", "operation": operation, "target": 3}
            yield from ({**transfer, "measure": "latency", "bytes": size} for size in (1, 8))
            yield from ({**transfer, "measure": "distance", "target": target} for target in (1, 2, 3))
            yield {**transfer, "measure": "overlap", "efficiency": 0.9}
            yield {**ours, "benchmark": "passive", "operation": operation, "target_does": "wait"}
        yield {**ours, "benchmark": "gups", "updates": "atomic", "gups": 0.01}
        yield {**ours, "benchmark": "stencil", "form": "blocking", "side": 64, "us_per_iteration": 7.0}


def check_measured_page(bench, folder):
    """bench/figures --measured: of each benchmark one launch, but for one that was given up."""
    common = {"mpi": "mpich", "mpi_version": "MPICH Version: 4", "cores_online": 2, "nodes": 2, "ppn": 2, "mad_us": 1.0,
              "collective": None, "bytes": 8}
    ways = [{**common, "executor": executor, "median_us": time}
            for executor, time in (("mpi-allocated", 20.0), ("openshmem", 10.0), ("engine", 5.0))]
    write(f"{folder}/putget.2x2.mpich.json", [{**way, "operation": "put"} for way in ways])
    write(f"{folder}/distance.2x2.mpich.json",
          [{**way, "operation": "get", "target": target} for way in ways for target in (1, 2)])
    write(f"{folder}/gups.2x2.mpich.json",
          [{**way, "updates": "atomic", "gups": 1 / way["median_us"], "verified": True} for way in ways])
    write(f"{folder}/stencil-64.2x2.mpich.json",
          [{**way, "side": 64, "form": "blocking", "solver_iterations": 7, "converged": True} for way in ways])
    write(f"{folder}/stencil-64.1x8.mpich.json", [])
    write(f"{folder}/init.1x1.mpich.json", [{**common, "executor": executor, "median_us": time, "ranks": 72,
                                             "algorithm": "tree"} for executor, time in (("compile", 8), ("wisdom", 2))])
    write(f"{folder}/footprint-bcast-112.1x1.mpich.json",
          [{**common, "ranks": 1000000, "ppn_assumed": 112, "what": "engine", "node_mib": 16},
           {**common, "ranks": 1000000, "ppn_assumed": 112, "what": "tree:factors=10", "collective": "bcast",
            "compile_ms": 2.5, "pair_bytes": 48, "rank_bytes": 2048, "helper_bytes": 0, "node_mib": 0.25}])
    done = run(f"{bench}/../figures", "--measured", folder, "--results", f"{folder}/simulated", "--output", f"{folder}/page")
    expect(done.returncode == 0, done.stderr)
    with open(f"{folder}/page/figures-measured.md", encoding="utf-8") as file:
        page = file.read()
    for text in ("MPICH 4, 2 cores.", "failed: stencil-64.1x8.mpich.", "| MPICH, 2 x 2 | put | 8 B | 20 µs ± 5% | - | 10 µs ± 10% | 5 µs ± 20% | 0.25 | 0.5 |",
                 "| 1, on the same node |", "| 2, on another node |", "| MPICH, 2 x 2 | atomic | 0.05 ± 5% | - | 0.1 ± 10% | 0.2 ± 20% | 4 | 2 |",
                 "| 64 x 64 | MPICH, 2 x 2 | blocking | 7, converged |", "| 72 | 8 B | `tree` | 8 µs ± 12% | 2 µs ± 50% |",
                 "| 1000000, 112 a node | bcast | `tree` | 2.5 ms | 440 ms | 2 KiB | 0 B | 256 KiB |",
                 "99.18 MiB for it while init runs", "16 MiB (1000000, 112 a node)."):
        expect(text in page, f"{text} is not in the page:\n{page}")


def write(path, rows):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def run(*command):
    return subprocess.run([sys.executable, *command], text=True, capture_output=True, check=False)


def main():
    bench = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        # Three launches: one outlier each way, which the median must leave out; and a second size, which is worse.
        for launch, efficiency in enumerate((0.95, 0.2, 0.99), start=1):
            write(f"{folder}/overlap.mpich.{launch}.json",
                  [overlap_row(efficiency, 1 << 20), overlap_row(0.93, 4 << 20),
                   overlap_row(0.5, 1 << 20, "mpi-nonblocking"), overlap_row(0.80, 64 << 10),
                   overlap_row(0.99, 256 << 10)])
            write(f"{folder}/latency.mpich.{launch}.json", [latency_row(1.10, 64 << 10), latency_row(2.5, 8)])
        done = run(f"{bench}/issue-targets.py", folder, "--detail")
        expect(done.returncode == 0, done.stderr)
        with open(f"{folder}/targets.json", encoding="utf-8") as lines:
            results = {row["measure"]: row for row in map(json.loads, lines)}
        large = results["overlap efficiency, 1 MiB and 4 MiB"]
        expect(large["met"] and large["value"] == 0.93 and large["launches"] == 3 and large["mpi_value"] == 0.5, large)
        small = results["overlap efficiency, 64 KiB and 256 KiB"]
        expect(not small["met"] and small["value"] == 0.80 and "65536" in small["worst_at"], small)
        expect(results["Start+Wait / blocking, >= 64 KiB"]["met"], "1.10 is within 1.15")
        expect(not results["Start+Wait / blocking, 8 B and 4 KiB"]["met"], "2.5 is not within 2.0")
        for launch in range(1, 4):
            write(f"{folder}/overlap.openmpi.{launch}.json", [{**overlap_row(1.5, 1 << 20), "mpi": "openmpi"}])
        disturbed = run(f"{bench}/issue-targets.py", folder)
        expect("DISTURBED" in disturbed.stdout, "an efficiency of 1.5 is no success")
        expect("not measured: Test, not yet complete, openmpi" in done.stdout, done.stdout)

        results = [f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".1.json")]
        done = run(f"{bench}/plot.py", "--output", f"{folder}/picture", *results)
        expect(done.returncode == 0, done.stderr)
        for kind in ("overlap", "latency"):
            with open(f"{folder}/picture-{kind}.png", "rb") as picture:
                expect(picture.read(4) == b"\x89PNG", f"no picture of {kind}")
        family = f"{folder}/family.json"
        write(family, [alltoall_row(nodes, *way) for nodes in (2, 4) for way in
                       (("mpi", "mpi-blocking", 10.0), ("radix:r=2", "engine", 8.0), ("nonblocking", "engine", 12.0))])
        done = run(f"{bench}/plot.py", "--output", f"{folder}/picture", family)
        expect(done.returncode == 0, done.stderr)
        for kind in ("alltoall", "breakdown", "scaling"):
            with open(f"{folder}/picture-{kind}.png", "rb") as picture:
                expect(picture.read(4) == b"\x89PNG", f"no picture of {kind}")
        vectors = f"{folder}/alltoallv.json"
        ways = (("mpi-blocking", "mpi", None), ("mpi-rma-fence", "mpi", 40.0), ("engine", "rma-fence", 30.0),
                ("inline", "rma-fence", None))
        write(vectors, [alltoallv_row(executor, algorithm, where, init) for executor, algorithm, init in ways for where in
                        ({"bytes": 2, "bytes_per_process": 8}, {"bytes": 256, "bytes_per_process": 1024}, {"matrix": "m"})])
        patterns = f"{folder}/patterns.json"
        write(patterns, [{"benchmark": "pattern", "matrix": "m", "rows": 5, "columns": 7, "entries": 7, "element_bytes": 8,
                          "send_counts": [[0, 0, 1], [0, 0, 0], [1, 2, 0]]}])
        done = run(f"{bench}/plot.py", "--output", f"{folder}/picture", vectors, patterns)
        expect(done.returncode == 0, done.stderr)
        for kind in ("alltoallv", "break-even", "matrices", "heatmap-m"):
            with open(f"{folder}/picture-{kind}.png", "rb") as picture:
                expect(picture.read(4) == b"\x89PNG", f"no picture of {kind}")
        memory = f"{folder}/memory.json"
        write(memory, memory_rows())
        done = run(f"{bench}/plot.py", "--output", f"{folder}/picture", memory)
        expect(done.returncode == 0, done.stderr)
        for kind in ("putget", "distance", "putget-overlap", "gups", "stencil", "passive"):
            with open(f"{folder}/picture-{kind}.png", "rb") as picture:
                expect(picture.read(4) == b"\x89PNG", f"no picture of {kind}")
        os.mkdir(f"{folder}/run-family")
        os.rename(family, f"{folder}/run-family/family.json")
        done = run(f"{bench}/family.py", f"{folder}/run-family")
        expect(done.returncode == 0, done.stderr)
        expect("0.800" in done.stdout and "radix:r=2" in done.stdout, done.stdout)
        os.mkdir(f"{folder}/run-reductions")
        check_reductions(bench, f"{folder}/run-reductions")
        os.mkdir(f"{folder}/run-peers")
        check_peers(bench, f"{folder}/run-peers")
        os.mkdir(f"{folder}/run-harmless")
        check_harmless(bench, f"{folder}/run-harmless")
        os.mkdir(f"{folder}/run-examples")
        check_examples(bench, f"{folder}/run-examples")
        os.mkdir(f"{folder}/run-openshmem")
        check_openshmem(bench, f"{folder}/run-openshmem")
        os.mkdir(f"{folder}/run-figures")
        check_measured_page(bench, f"{folder}/run-figures")
        done = run(f"{bench}/plot.py", "--output", f"{folder}/none", "/dev/null")
        expect(done.returncode != 0, "a picture of nothing")


if __name__ == "__main__":
    main()
