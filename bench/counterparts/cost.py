# SPDX-License-Identifier: BSD-3-Clause
"""What it took to simulate the points of the page."""
from counterparts import drawing


def table(sim, _folder, full):
    """After all others: of what they asked for."""
    kept = sim.kept
    hours = sum(point["processor_seconds"] for point in kept.values()) / 3600
    longest = sorted(kept, key=lambda name: kept[name]["processor_seconds"], reverse=True)[:5]
    made = "with" if full else "without"
    rows = [f"This page was made {made} `--full`, which adds numbers of ranks above 2048 to the radix paper's figures.",
            f"{len(kept)} points took {hours:.2f} hours of processor time together. These took longest:", "",
            "| | processor time | memory |", "|---|---|---|"]
    for name in longest:
        what = name.replace(" --json", "").replace(" --machine", ",").removesuffix(".toml")
        rows.append(f"| `{what}` | {drawing.time_text(kept[name]['processor_seconds'])} "
                    f"| {drawing.size_text(kept[name]['memory_bytes'])} |")
    return "\n".join(rows)
