# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts here print: values over launches, and tables in markdown."""
import statistics


def value(numbers):
    return f"{statistics.median(numbers):.3g} ({min(numbers):.3g} to {max(numbers):.3g})"


def print_table(header, lines):
    for line in (header, *lines):
        print("| " + " | ".join(line) + " |")
        if line is header:
            print("|" + "---|" * len(header))
    print()
