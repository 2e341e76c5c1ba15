#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Includes against the table of rooms: rooms.py SOURCE_ROOT

Rows of docs/rooms.md name a folder and those that it may include from, which stand above it. Tests may include everything."""
import os
import re
import sys
import tempfile

TABLE = "docs/rooms.md"
HOUSES = ("topology", "algos", "engine", "api", "bench")
SOURCES = (".c", ".cpp", ".def", ".h", ".hpp")
ROW = re.compile(r"^\| `([\w/-]+)` \|([^|]*)\|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_table(root):
    """Allowed targets by room, in the table's order, and what is wrong with the table."""
    allowed, wrong = {}, []
    for room, holds, targets in ROW.findall(read(os.path.join(root, TABLE))):
        if not holds.strip():
            wrong.append(f"{TABLE}: no word on what {room} holds")
        if not os.path.isdir(os.path.join(root, room)):
            wrong.append(f"{TABLE}: {room} is no folder")
        known = set()
        for target in re.findall(r"[\w/-]+", targets):
            sibling = f"{os.path.dirname(room)}/{target}"
            name = sibling if sibling in allowed else target
            if name not in allowed:
                wrong.append(f"{TABLE}: {room} may include from {target}, which is no row above it")
            known.add(name)
        allowed[room] = known
    return allowed, wrong


def source_files(root, rooms):
    files = set()
    for top in (*HOUSES, *rooms):
        for folder, _, names in os.walk(os.path.join(root, top)):
            files.update(os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(SOURCES))
    return sorted(files)


def includes_of(root, file, files):
    """Files of ours that `file` includes; the text of an include in quotes that is none of them."""
    for mark, name in INCLUDE.findall(read(os.path.join(root, file))):
        beside = os.path.normpath(os.path.join(os.path.dirname(file), name))
        public = os.path.join("api/include", name)
        found = [path for path in ([name, beside] if mark == '"' else [public]) if path in files]
        if found:
            yield found[0], None
        elif mark == '"':
            yield None, name


def find_circle(includes):
    """The files of one circle of includes, or nothing."""
    state = {}  # absent: not seen; else whether its visit has ended

    def visit(file, path):
        if file in state:
            return None if state[file] else path[path.index(file):]
        state[file] = False
        for target in includes[file]:
            if circle := visit(target, path + [target]):
                return circle
        state[file] = True
        return None

    for file in includes:
        if circle := visit(file, [file]):
            return circle
    return None


def violations(root):
    allowed, wrong = read_table(root)
    files = source_files(root, allowed)
    includes, known = {}, set(files)
    for file in files:
        room = os.path.dirname(file)
        includes[file] = []
        if room not in allowed:
            wrong.append(f"{file} is in no room of {TABLE}")
            continue
        for target, unknown in includes_of(root, file, known):
            if unknown:
                wrong.append(f"{file} includes \"{unknown}\", which is none of our files")
                continue
            includes[file].append(target)
            target_room = os.path.dirname(target)
            if target_room != room and target_room not in allowed[room]:
                wrong.append(f"{file} includes {target}: {room} may not include from {target_room}")
    if circle := find_circle(includes):
        wrong.append("includes go round in a circle: " + " -> ".join(circle))
    return wrong


def check_the_checker():
    """Each made-up violation is found, and what has none passes."""
    table = "| room | holds | may include from |\n|---|---|---|\n| `engine/low` | words | |\n| `engine/high` | more | low |\n"
    good = {"engine/low/a.hpp": "", "engine/high/b.cpp": '#include "engine/low/a.hpp"\n#include <vector>\n'}
    cases = [
        ({}, table, None),
        ({"engine/low/c.cpp": '#include "engine/high/d.hpp"', "engine/high/d.hpp": ""}, table, "may not include from engine/high"),
        ({"engine/low/c.cpp": '#  include "../high/d.hpp"', "engine/high/d.hpp": ""}, table, "may not include from engine/high"),
        ({"engine/stray.cpp": ""}, table, "engine/stray.cpp is in no room"),
        ({"engine/low/c.cpp": '#include "engine/low/gone.hpp"'}, table, "none of our files"),
        ({"engine/low/c.hpp": '#include "engine/low/d.hpp"', "engine/low/d.hpp": '#include "engine/low/c.hpp"'}, table,
         "engine/low/c.hpp -> engine/low/d.hpp -> engine/low/c.hpp"),
        ({}, table + "| `engine/gone` | nothing | |\n", "engine/gone is no folder"),
        ({}, table.replace("| words | |", "| words | high |"), "which is no row above it"),
        ({}, table.replace("| words |", "| |"), "no word on what engine/low holds"),
    ]
    for files, text, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            for path, content in {**good, **files, TABLE: text}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(content)
            found = violations(root)
        if (found != [] if expected is None else len(found) != 1 or expected not in found[0]):
            sys.exit(f"rooms.py: made-up case {expected!r} gives {found}")


check_the_checker()
WRONG = violations(sys.argv[1])
print("\n".join(WRONG) or "includes are as the table says")
sys.exit(1 if WRONG else 0)
