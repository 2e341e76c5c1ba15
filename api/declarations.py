# SPDX-License-Identifier: BSD-3-Clause
"""What the C headers declare, for the scripts that write interfaces to other languages, and for the check of the ABI.

The headers keep to few forms: functions that return int or const char*, enums of constants, macros that are numbers, handles
that point to structures of which nothing is known, and structures of plain members.
"""

import pathlib
import re
from dataclasses import dataclass


@dataclass
class Declarations:
    constants: list  # (name, number)
    handles: list  # names
    structures: list  # (name, [(type, member)])
    functions: list  # (return type, name, [declaration of an argument])


def _constants(text):
    for body in re.findall(r"^enum \{(.*?)\};", text, re.S | re.M):
        for number, entry in enumerate(entry for entry in body.split(",") if entry.strip()):
            name, _, value = (part.strip() for part in entry.partition("="))
            yield name, int(value or number)
    for name, value in re.findall(r"^#define (STOKER_\w+) \(?(-?\d+)\)?$", text, re.M):
        yield name, int(value)


def _structures(text):
    for body, name in re.findall(r"^typedef struct \w+ \{(.*?)^\} (\w+);", text, re.S | re.M):
        members = re.findall(r"^ *((?:const )?\w+\*?) ([\w, ]+);", body, re.M)
        yield name, [(kind, member.strip()) for kind, names in members for member in names.split(",")]


def read(headers):
    """The declarations of these files, in their order."""
    text = "\n".join(re.sub(r" */\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.S) for header in headers)
    functions = re.findall(r"^(int|const char\*) (stoker_\w+)\((.*?)\);", text, re.S | re.M)
    return Declarations(
        list(_constants(text)),
        re.findall(r"^typedef struct \w+\* (\w+);", text, re.M),
        list(_structures(text)),
        [(kind, name, [" ".join(argument.split()) for argument in arguments.split(",")]) for kind, name, arguments in functions])
