#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lengths of files and functions against their limits: sizes.py SOURCE_ROOT

docs/rooms.md names the exceptions, each with its own limit. Functions are found by the formatter's layout: one ends at the first
closing brace that is as far to the right as its beginning."""
import os
import re
import sys

TABLE = "docs/rooms.md"
FOLDERS = ("topology", "algos", "engine", "api", "bench", "examples")
SOURCES = (".c", ".cpp", ".def", ".h", ".hpp")
MOST_OF_A_FILE = 450
MOST_OF_A_FUNCTION = 80
EXCEPTION = re.compile(r"^\| `([\w/.-]+)`(?:, `(\w+)`)? \| (\d+) \|([^|]+)\|$", re.MULTILINE)
NO_FUNCTION = re.compile(r"\s*(namespace|class|struct|enum|union|extern|using|if|for|while|switch|else|do|return|case|[#}/*\[])|.*= \{$")
ENDS = re.compile(r"(?!\s*//).*([{};:]|\*/)$|\s*#")  # the line before a declaration
COMMENT = re.compile(r"\s*//.*$")
NAME = re.compile(r"([\w~]+|operator\S+) ?\(")


def indent(line):
    return len(line) - len(line.lstrip())


def functions(lines):
    """Names of functions with their lengths, from the first line of the declaration to the closing brace."""
    for opening, line in enumerate(lines):
        if not COMMENT.sub("", line).endswith("{"):
            continue
        first = opening
        while first > 0 and not ENDS.match(COMMENT.sub("", lines[first - 1]) or lines[first - 1] or "}"):
            first -= 1
        while COMMENT.sub("", lines[first]) == "":
            first += 1
        depth = indent(lines[first])
        head = " ".join(COMMENT.sub("", part) for part in lines[first:opening + 1])
        name = NAME.search(head)
        if name is None or NO_FUNCTION.match(head):
            continue
        last = next((i for i in range(opening + 1, len(lines)) if lines[i][:depth + 1] == " " * depth + "}"), None)
        if last is not None:
            yield name[1], last - first + 1


def lengths(root):
    """(file, None) or (file, function) -> lines."""
    found = {}
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in filter(lambda name: name.endswith(SOURCES), names):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    lines = file.read().splitlines()
                file = os.path.relpath(path, root)
                found[file, None] = len(lines)
                for function, length in functions(lines):
                    found[file, function] = max(length, found.get((file, function), 0))
    return found


def defects(found, exceptions):
    for place, length in sorted(found.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        most = MOST_OF_A_FILE if place[1] is None else MOST_OF_A_FUNCTION
        what = ", ".join(filter(None, place))
        if place in exceptions and length <= most:
            yield f"{TABLE}: {what} has {length} lines and needs no exception"
        elif length > exceptions.get(place, most):
            yield f"{what} has {length} lines; expected at most {exceptions.get(place, most)}"
    for place in exceptions:
        if place not in found:
            yield f"{TABLE}: there is no {', '.join(filter(None, place))}"


def check_the_check():
    body = ["  x();"] * 3
    for lines, expected in [
        (["int f(int a) {", *body, "}"], [("f", 5)]),
        (["class C {", "  int g(int a,", "        int b) const {", *body, "  }", "};"], [("g", 6)]),
        (["C::C(int a)", "    : a_(a),", "      // why", "      b_(a) {", *body, "}"], [("C", 8)]),
        (["int before;", "// what it does", "int f(int a) { // how", *body, "}"], [("f", 5)]),
        (["const int a[] = {", "};", "namespace {", "}", "struct S {", "};"], []),
        (["void h() {", "  if (x) {", *body, "  }", "}"], [("h", 7)]),
    ]:
        if list(functions(lines)) != expected:
            sys.exit(f"sizes.py: made-up case {lines} gives {list(functions(lines))}")


def main():
    check_the_check()
    root = sys.argv[1]
    with open(os.path.join(root, TABLE), encoding="utf-8") as file:
        exceptions = {(path, function or None): int(most) for path, function, most, _ in EXCEPTION.findall(file.read())}
    wrong = list(defects(lengths(root), exceptions))
    print("\n".join(wrong) or "no file and no function is longer than it may be")
    return 1 if wrong else 0


sys.exit(main())
