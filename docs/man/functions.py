#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages of the C interface, from the comments of its headers.

usage: functions.py MAN3 HEADER...    the folder to write

A comment that begins with two asterisks belongs to the declarations below it, up to the next empty line; one that stands
alone is about several functions, and becomes a section of the header's page. (Doxygen 1.9.4 makes one page of a header, to
which those of its functions only refer, takes a comment that stands alone for the next function's, and runs tables together.)
"""

import pathlib
import re
import sys

import roff

COMMENT = re.compile(r"^/\*\*(.*?)\*/\n", re.S | re.M)  # one that is indented or behind something is about a member
PARAMETER = re.compile(r"(\w+)(?:\[\])?[,)]")
FUNCTION = re.compile(r"\b(stoker_\w+)\(")


class Comment:
    def __init__(self, text, declarations):
        self.text = "\n".join(re.sub(r"^ ?\* ?", "", line.rstrip()) for line in text.strip().splitlines())
        self.declarations = declarations.strip()
        self.types = re.findall(r"^} (\w+);", self.declarations, re.M)
        is_function = not self.declarations.startswith(("typedef", "enum", "#"))
        self.functions = FUNCTION.findall(self.declarations) if is_function else []

    @property
    def summary(self):
        """The first sentence, as it goes on behind the name and a dash."""
        first = re.split(r"(?<=\w\w)[.:;] |\.$", " ".join(self.text.split("\n\n")[0].split()))[0]
        first = re.sub(r"^stoker('s|,) (an )?", "", first)
        return first if first.startswith("MPI") else first[:1].lower() + first[1:]


def comments_of(text):
    found = []
    for match in COMMENT.finditer(text):
        below = re.split(r"\n\n|\n#|/\*\*\n", text[match.end():])[0]
        found.append(Comment(match.group(1), "" if text[match.end()] == "\n" or below.startswith("#ifndef") else below))
    return found


def paragraph(lines, parameters):
    """Lines that begin with a parameter's name and a colon are items; indented ones stay as they are."""
    out, table = [], []
    for line in [*lines, ""]:
        if line.startswith("  "):
            table.append(line)
            continue
        if table:
            out.append(roff.verbatim("\n".join(table)))
            table = []
        item = re.match(r"(\w+): (.*)", line)
        if item and item.group(1) in parameters:
            out.append(roff.tagged(item.group(1), roff.escaped(item.group(2))))
        elif line:
            out.append(roff.escaped(line))
    return "\n".join(out)


def described(text, parameters=()):
    out = ""
    for block in text.split("\n\n"):
        made = paragraph(block.split("\n"), parameters)
        out += ("" if not out or made.startswith((".TP", ".PP")) else ".PP\n") + made + "\n"
    return out


def verbatim_code(text):
    return roff.verbatim(text.replace("/**< ", "/* "))


def declarations(text):
    return ".nf\n" + "\n".join(f"\\fB{line}\\fR" if line else "" for line in roff.escaped(text).splitlines()) + "\n.fi"


def function_page(comment, header, overview, types, known):
    parameters = set(PARAMETER.findall(comment.declarations))
    body, _, errors = comment.text.partition(re.search(r"\sErrors: |$", comment.text).group(0) or "\0")
    parts = [("SYNOPSIS", declarations(f"#include <stoker/{header}>\n\n{comment.declarations}")), ("DESCRIPTION", described(body, parameters))]
    for one in types:
        if any(re.search(rf"\b{name}\b", comment.declarations) for name in one.types):
            parts.append((one.types[0], described(one.text) + verbatim_code(one.declarations)))
    if not comment.declarations.startswith("const char"):
        parts.append(("RETURN VALUE", f"STOKER_SUCCESS or an error code, for which see\n.BR {overview} (3)."))
    if errors:
        parts.append(("ERRORS", roff.escaped(errors)))
    seen = sorted(set(re.findall(r"\bstoker_\w+", comment.text)) & known - set(comment.functions))
    parts.append(("SEE ALSO", roff.see_also([(overview, 3)] + [(name, 3) for name in seen] + [("stoker_overlap", 7)])))
    return roff.page(comment.functions, 3, comment.summary, parts)


def overview_page(name, header, text, comments):
    first, rest = comments[0], comments[1:]
    parameters = set(PARAMETER.findall(text))
    parts = [("SYNOPSIS", declarations(f"#include <stoker/{header}>")), ("DESCRIPTION", described(first.text))]
    parts += [("CODES", verbatim_code(codes)) for codes in re.findall(r"^enum \{\n.*?^\};", text, re.S | re.M)]
    for comment in rest:
        if comment.declarations and not comment.functions and not comment.types:
            parts.append(("DECLARATIONS", described(comment.text) + verbatim_code(comment.declarations)))
        elif not comment.declarations:
            heading, body = re.split(r"\n|\. ", comment.text, maxsplit=1)
            parts.append((heading.upper(), described(body.strip("\n"), parameters)))
    functions = [comment.functions[0] for comment in rest if comment.functions]
    parts.append(("SEE ALSO", roff.see_also([(function, 3) for function in functions] + [("stoker_overlap", 7), ("stoker_settings", 7)])))
    return roff.page([name], 3, first.summary, parts)


def main():
    folder, headers = sys.argv[1], [pathlib.Path(path) for path in sys.argv[2:]]
    texts = {header: header.read_text() for header in headers}
    comments = {header: comments_of(text) for header, text in texts.items()}
    known = {name for some in comments.values() for comment in some for name in comment.functions}
    pages = {}
    for header, some in comments.items():
        overview = header.stem
        pages[f"{overview}.3"] = overview_page(overview, header.name, texts[header], some)
        types = [comment for comment in some if comment.types]
        for comment in some:
            if comment.functions:
                pages[f"{comment.functions[0]}.3"] = function_page(comment, header.name, overview, types, known)
                pages.update({f"{name}.3": f".so man3/{comment.functions[0]}.3\n" for name in comment.functions[1:]})
    roff.write_folder(folder, pages)


main()
