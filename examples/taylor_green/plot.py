#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what taylor_green --output FOLDER wrote: the energy curve and a slice of the vorticity."""
import argparse
import csv
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def columns(path):
    with open(path, newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def draw_energy(folder):
    curve = columns(folder / "energy.csv")
    figure, (energy, rate) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    energy.plot(curve["time"], curve["energy"])
    energy.set(xlabel="time", ylabel="kinetic energy, mean of $|u|^2/2$", title="Energy")
    rate.plot(curve["time"], curve["dissipation"], label=r"$2\nu$ enstrophy")
    if len(curve["time"]) > 2:
        slope = np.gradient(curve["energy"], curve["time"], edge_order=2)
        rate.plot(curve["time"], -slope, "x", label="$-dE/dt$ (differences)")
    rate.set(xlabel="time", ylabel="dissipation", title="Energy balance")
    rate.legend()
    figure.savefig(folder / "energy.png", dpi=120)


def draw_vorticity(folder):
    slice_ = np.loadtxt(folder / "vorticity.txt", ndmin=2)
    figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
    image = axes.imshow(slice_, origin="lower", extent=(0, 2 * np.pi, 0, 2 * np.pi), cmap="inferno",
                        interpolation="bilinear")
    axes.set(xlabel="x", ylabel="y", title="Vorticity magnitude")
    figure.colorbar(image)
    figure.savefig(folder / "vorticity.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    draw_energy(folder)
    draw_vorticity(folder)
    print(f"{folder / 'energy.png'}\n{folder / 'vorticity.png'}")


if __name__ == "__main__":
    main()
