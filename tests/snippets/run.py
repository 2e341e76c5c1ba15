#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs that a page of the documentation shows.

usage: run.py PAGE LANGUAGE SUFFIX COMMAND...    COMMAND FILE for each block of code of the language; all must return 0
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    page, language, suffix, *command = sys.argv[1:]
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", pathlib.Path(page).read_text(), re.S | re.M)
    if not blocks:
        sys.exit(f"{page}: no block of {language}")
    with tempfile.TemporaryDirectory() as folder:
        for number, block in enumerate(blocks, 1):
            file = pathlib.Path(folder, f"block{number}.{suffix}")
            file.write_text(block)
            if code := subprocess.run([*command, file], cwd=folder, check=False).returncode:
                sys.exit(code if code == 77 else f"{page}, block {number} of {language}: status {code}")


main()
