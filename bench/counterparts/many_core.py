# SPDX-License-Identifier: BSD-3-Clause
"""Kinkead et al., Scaling All-to-all Operations Across Emerging Many-Core Supercomputers, 2025: Dane, 32 x 112"""
from counterparts import drawing
from counterparts.drawing import size_text
from counterparts.simulation import LIBRARIES, read_machine

MACHINE, NODES = "dane", 32
SIZES = (4, 16, 64, 256, 1024, 4096)
FAMILY = ("hierarchical", "multileader:leaders=28", "node-aware", "locality-aware:groups=28",
          "multileader-node-aware:leaders=28")


def time_of(sim, algorithm, size):
    return sim.seconds("alltoall", algorithm, MACHINE, sim.nodes(NODES), size)


def over_sizes(sim, algorithms):
    return {algorithm: {size: time_of(sim, algorithm, size) for size in sim.some(SIZES)} for algorithm in algorithms}


def sizes_figure(sim, folder, name, title, algorithms):
    curves = over_sizes(sim, algorithms)
    drawing.lines(f"{folder}/{name}.png", {title: curves}, "block for each pair", sizes=True)
    return drawing.table("", curves, sim.some(SIZES), size_text)


def figure_7(sim, folder):
    return sizes_figure(sim, folder, "many-core-7", "Dane, 32 x 112: hierarchical and multileader",
                        ["hierarchical", *(f"multileader:leaders={n}" for n in (4, 14, 28))])


def figure_8(sim, folder):
    return sizes_figure(sim, folder, "many-core-8", "Dane, 32 x 112: node-aware and locality-aware",
                        ["node-aware", "node-aware:between=pairwise",
                         *(f"locality-aware:groups={n}" for n in (4, 28))])


def figure_9(sim, folder):
    return sizes_figure(sim, folder, "many-core-9", "Dane, 32 x 112: multileader-node-aware",
                        ["hierarchical", *(f"multileader-node-aware:leaders={n}" for n in (4, 14, 28)), "node-aware"])


def of_the_better_library(sim):
    curves = over_sizes(sim, LIBRARIES)
    return {size: min(curves[name][size] for name in LIBRARIES) for size in sim.some(SIZES)}


def advantage(sim):
    """{size: the better library's time over that of the best of the family}"""
    curves = over_sizes(sim, FAMILY)
    return {size: library / min(curves[name][size] for name in FAMILY)
            for size, library in of_the_better_library(sim).items()}


def port_alone(sim, size):
    """Seconds that a node's ports need for the bytes that it has to send to other nodes, and for nothing else."""
    machine = read_machine(MACHINE)
    per_node, nodes = machine["node"]["ranks"], sim.nodes(NODES)
    network = machine["network"]
    return per_node * per_node * (nodes - 1) * size / (network["ports"] * network["port_GB_per_s"] * 1e9)


def figure_10(sim, folder):
    table = sizes_figure(sim, folder, "many-core-10", "Dane, 32 x 112", [*FAMILY, *LIBRARIES])
    limits = {size: port_alone(sim, size) for size in sim.some(SIZES)}
    rows = (("the better library / the best of the family", [f"{factor:.2f}" for factor in advantage(sim).values()]),
            ("the node's port alone", map(drawing.time_text, limits.values())),
            ("the node's port alone / the better library",
             [f"{limits[size] / library:.2f}" for size, library in of_the_better_library(sim).items()]))
    return "\n".join([table, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)])


def figures_11_12(sim, folder):
    """Over the number of nodes, at the smallest and the largest size."""
    nodes = sim.some((2, 8, 32))
    panels = {f"Dane, 112 ranks a node, {size_text(size)}":
              {algorithm: {n: sim.seconds("alltoall", algorithm, MACHINE, n, size) for n in nodes}
               for algorithm in (*FAMILY, "openmpi")} for size in (4, 4096)}
    drawing.lines(f"{folder}/many-core-11-12.png", panels, "nodes")
    return "\n\n".join(drawing.table(title.rsplit(", ", 1)[1], curves, nodes, lambda n: f"{n} nodes")
                       for title, curves in panels.items())


def ports(sim, _folder):
    """Which of two is the better one at the smallest size depends on how many messages a port carries."""
    curves = {algorithm: {} for algorithm in ("node-aware", "multileader-node-aware:leaders=28")}
    for port_us in sim.some((0.02, 0.05, 0.1)):
        machine = sim.changed(MACHINE, port_us=port_us)
        for algorithm, points in curves.items():
            points[port_us] = sim.seconds("alltoall", algorithm, machine, sim.nodes(NODES), 4)
    return drawing.table("4 B", curves, sim.some((0.02, 0.05, 0.1)), lambda us: f"{1 / us:.0f} million a second")


def eager(sim, _folder):
    """Node-aware's messages between nodes are the longest ones."""
    curves = {algorithm: {} for algorithm in ("node-aware", "locality-aware:groups=28")}
    for limit in sim.some((64000, 1000000)):
        machine = sim.changed(MACHINE, eager_bytes=limit)
        for algorithm, points in curves.items():
            points[limit] = sim.seconds("alltoall", algorithm, machine, sim.nodes(NODES), 4096)
    return drawing.table("4 KiB", curves, sim.some((64000, 1000000)), lambda limit: f"eager up to {limit} B")


def phases_of(sim, algorithm, nodes, size, names):
    point = sim.point("alltoall", algorithm, MACHINE, sim.nodes(nodes), size)
    return {text: point[key] for key, text in names.items()}


def breakdowns(sim, folder):
    """Figures 13 to 16."""
    gather = {"before_seconds": "gather", "between_seconds": "between nodes", "after_seconds": "scatter"}
    aware = {"between_seconds": "between nodes", "after_seconds": "within nodes"}
    sizes = sim.some(SIZES)
    drawing.phases(f"{folder}/many-core-13.png", {"13: hierarchical, 32 nodes":
                   {size: phases_of(sim, "hierarchical", NODES, size, gather) for size in sizes}},
                   "block for each pair", sizes=True)
    panels = {
        "14: node-aware, 32 nodes": {size_text(s): phases_of(sim, "node-aware", NODES, s, aware) for s in sizes},
        "15: node-aware, 4 KiB, over nodes": {n: phases_of(sim, "node-aware", n, 4096, aware)
                                              for n in sim.some((2, 8, 32))},
        "16: groups (0: node-aware), 4 KiB": {
            groups: phases_of(sim, f"locality-aware:groups={groups}" if groups else "node-aware", NODES, 4096, aware)
            for groups in sim.some((0, 4, 28))},
    }
    drawing.phases(f"{folder}/many-core-14-16.png", panels, "")
    rows = []
    for size in sizes:
        cells = []
        for algorithm, keys in (("hierarchical", gather), ("node-aware", aware)):
            point = sim.point("alltoall", algorithm, MACHINE, sim.nodes(NODES), size)
            cells += [f"{point[key] / point['seconds']:.0%}" for key in keys]
        rows.append(f"| {size_text(size)} | {' | '.join(cells)} |")
    return "\n".join(["| share of the time | hierarchical: gather | between nodes | scatter "
                      "| node-aware: between nodes | within nodes |", "|---|---|---|---|---|---|", *rows])
