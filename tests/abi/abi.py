#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The binary interface of libstoker against the one that is written down in stoker.abi.

usage: abi.py LIBSTOKER [--update]    --update writes down the present one

The description is of what programs are compiled into: types of arguments, members of structures in their order, values of
constants, the name of the library. It comes from the headers, so that it does not depend on the compiler.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORED = HERE / "stoker.abi"
HEADERS = [ROOT / "api/include/stoker" / name for name in ("stoker.h", "stoker_blocking.h", "stoker_global.h")]

sys.path.insert(0, str(ROOT / "api"))
import declarations  # noqa: E402


def without_name(argument):
    return re.sub(r"(?<=[ *])\w+(?=(\[\])?$)", "", argument).replace(" []", "[]").strip() if argument != "void" else argument


def described():
    """What is declared -> how."""
    declared = declarations.read(HEADERS)
    lines = {f"constant {name}": str(number) for name, number in declared.constants if "VERSION" not in name}
    lines |= {f"handle {name}": "pointer" for name in declared.handles}
    for name, members in declared.structures:
        lines[f"structure {name}"] = "; ".join(f"{kind} {member}" for kind, member in members)
    for kind, name, arguments in declared.functions:
        lines[f"function {name}"] = f"{kind} ({', '.join(map(without_name, arguments))})"
    return lines


def read(text):
    return dict(line.split(": ", 1) for line in text.splitlines() if line and not line.startswith("#"))


def written(lines):
    head = "# The binary interface of libstoker. CONTRIBUTING.md says when to change this file: abi.py writes it.\n"
    return head + "".join(f"{name}: {value}\n" for name, value in sorted(lines.items()))


def is_compatible(name, before, after):
    """A structure that begins with its size may grow: programs with the shorter one still work."""
    return name.startswith("structure") and before.startswith("size_t size;") and after.startswith(before + ";")


def differences(before, after):
    """(what programs that are compiled already would notice, what they would not)"""
    broken = [f"{name} is gone" for name in sorted(before.keys() - after.keys())]
    added = [f"{name} is new" for name in sorted(after.keys() - before.keys())]
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            kind = added if is_compatible(name, before[name], after[name]) else broken
            kind.append(f"{name} was\n    {before[name]}\n  and is\n    {after[name]}")
    return broken, added


def check_the_check():
    base = {"function f": "int (int)", "structure s": "size_t size; int a", "structure p": "int a"}
    for change, expected in [
        ({}, (0, 0)),
        ({"function g": "int ()"}, (0, 1)),
        ({"function f": "int (long)"}, (1, 0)),
        ({"structure s": "size_t size; int a; int b"}, (0, 1)),
        ({"structure s": "size_t size; int b; int a"}, (1, 0)),
        ({"structure p": "int a; int b"}, (1, 0)),
    ]:
        if tuple(map(len, differences(base, base | change))) != expected:
            sys.exit(f"abi.py: made-up change {change} gives {differences(base, base | change)}")
    if tuple(map(len, differences(base, {}))) != (3, 0) or without_name("const int counts[]") != "const int[]":
        sys.exit("abi.py: what is gone is not found")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    check_the_check()
    library = sys.argv[1]
    before, after = read(STORED.read_text()) if STORED.exists() else {}, described()
    after["library"] = re.search(r"SONAME.*\[(.*)\]", output_of("readelf", "-d", library))[1]
    symbols = dict(re.findall(r" T (stoker_\w+)(\S*)", output_of("nm", "--dynamic", "--defined-only", library)))
    exported = set(symbols)
    version = "@@STOKER_" + after["library"].rpartition(".")[2]
    if other := sorted(name for name, its in symbols.items() if its != version):
        sys.exit(f"functions whose version is not {version}, that of the library: {other}; see api/c/exports.map")
    declared = {name.removeprefix("function ") for name in after if name.startswith("function ")}
    if exported != declared:
        sys.exit(f"exported and declared functions differ: {sorted(exported ^ declared)}")

    broken, added = differences(before, after)
    renamed = "library" in before and before["library"] != after["library"]
    if broken and not renamed:
        print("programs that were compiled before do not work with this library:", *broken, sep="\n- ")
        sys.exit("expected: another soversion of libstoker in api/meson.build, then tests/abi/abi.py LIBSTOKER --update")
    if sys.argv[2:] == ["--update"]:
        STORED.write_text(written(after))
    elif broken or added:
        print("the interface has changed:", *broken, *added, sep="\n- ")
        sys.exit("expected: tests/abi/abi.py LIBSTOKER --update, and stoker.abi in the same commit")


main()
