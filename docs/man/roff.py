# SPDX-License-Identifier: BSD-3-Clause
"""Text as the macros of man(7), and folders of pages."""

import pathlib
import re
import shutil


def escaped(text):
    """Text that roff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)


def page(names, section, summary, parts):
    """A page that is called as the first of the names; `parts` are pairs of a heading and text that is roff already."""
    lines = [f'.TH {escaped(names[0])} {section} "" stoker', ".SH NAME", f"{escaped(', '.join(names))} \\- {escaped(summary)}"]
    for heading, text in parts:
        lines += [f'.SH "{heading}"', text.strip("\n")]
    return "\n".join(lines) + "\n"


def tagged(tag, text, bold=True):
    return f".TP\n{'.B ' if bold else ''}{tag}\n{text}"


def verbatim(text):
    return ".PP\n.RS 4\n.EX\n" + escaped(text) + "\n.EE\n.RE"


def see_also(pages):
    """`pages`: pairs of name and section."""
    return ",\n".join(f".BR {escaped(name)} ({section})" for name, section in pages)


def write_folder(folder, pages):
    """Writes the pages, by file name, into a folder that has nothing else in it."""
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in pages.items():
        (folder / name).write_text(text)
