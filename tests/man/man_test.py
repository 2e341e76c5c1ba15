# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages: one for every function, command and setting; groff finds no fault in any; and the completion of bash.

usage: man_test.py STOKER LIBSTOKER MAN_FOLDER
"""

import functools
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

STOKER, LIBRARY, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*FOLDER.glob("man[13]/*"), *FOLDER.glob("*.7"), *(ROOT / "docs/man").glob("*.7")])


def said_by(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@functools.cache
def text_of(page):
    """As a reader sees it, in lines without end."""
    link = re.fullmatch(r"\.so (.*)\n", page.read_text())
    return text_of(FOLDER / link.group(1)) if link else said_by("groff", "-man", "-Tascii", "-P-cbou", "-rLL=1000n", "-rHY=0", "-I", str(FOLDER), str(page))


class Pages(unittest.TestCase):
    def setUp(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")

    def test_groff_finds_no_fault(self):
        result = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-z", "-I", FOLDER, *PAGES], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_function_has_one(self):
        functions = re.findall(r" T (stoker_\w+)", said_by("nm", "--dynamic", "--defined-only", LIBRARY))
        self.assertGreater(len(functions), 100)
        for function in functions:
            text = text_of(FOLDER / f"man3/{function}.3")
            self.assertRegex(text, rf"(?m)^NAME\n.*\b{function}\b.* - \w")
            self.assertRegex(text, rf"(?m)^ +[\w ]+\W+{function}\(")
        names = {page.stem for page in FOLDER.glob("man3/*")}
        self.assertEqual(names - set(functions), {"stoker", "stoker_blocking", "stoker_global"})

    def test_every_code_is_explained(self):
        text = text_of(FOLDER / "man3/stoker.3")
        for code in re.findall(r"^  (STOKER_ERR_\w+) =", (ROOT / "api/include/stoker/stoker.h").read_text(), re.M):
            self.assertRegex(text, rf"{code} = \d+")

    def test_every_command_and_option_has_one(self):
        commands = re.findall(r"^  (\w+) +[A-Z]", said_by(STOKER, "--help").partition("Subcommands:")[2], re.M)
        self.assertGreater(len(commands), 8)
        self.assertEqual({page.name for page in FOLDER.glob("man1/*")}, {"stoker.1", *(f"stoker-{command}.1" for command in commands)})
        for command in commands:
            text = text_of(FOLDER / f"man1/stoker-{command}.1")
            self.assertRegex(text, rf"(?m)^ +stoker {command} ")
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", said_by(STOKER, command, "--help"), re.M):
                self.assertRegex(text, rf"(?m)^ +(-\w, )?{option}\b")

    def test_every_setting_is_documented_in_one_place(self):
        rows = re.findall(r"^\| `(\w+)` \| `(STOKER_\w+)` ", (ROOT / "docs/settings.md").read_text(), re.M)
        self.assertGreater(len(rows), 30)
        self.assertEqual(len(rows), len(set(rows)))
        listed = re.findall(r"(?m)^ +(\w+), (STOKER_\w+)$", text_of(FOLDER / "stoker_settings.7"))
        self.assertEqual(listed, rows)

    def test_pages_that_are_named_exist(self):
        names = {(page.stem, page.suffix[1:]) for page in PAGES}
        for page in PAGES:
            for name, section in re.findall(r"\b(stoker[\w-]*) ?\((\d)\)", text_of(page)):
                self.assertIn((name, section), names, page)


class Completion(unittest.TestCase):
    def words(self, *line):
        """What bash offers for the last word."""
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stoker; printf "%s\\n" "${COMPREPLY[@]}"'
        return said_by("bash", "-c", script, "bash", str(FOLDER / "stoker"), "stoker", *line).split()

    def test_commands(self):
        self.assertEqual(self.words("pl"), ["plan"])
        self.assertLess({"run", "info", "doctor"}, set(self.words("")))

    def test_options(self):
        self.assertEqual(self.words("plan", "--nod"), ["--nodes"])
        self.assertEqual(self.words("plan", "--launcher", "hy"), ["hydra"])
        self.assertEqual(self.words("schedule", "--svg", ""), [])  # a file: readline's own

    def test_the_program_of_run(self):
        self.assertEqual(self.words("advise", "--su"), ["--summary"])
        self.assertIn("sh", self.words("advise", "--", "sh"))
        self.assertEqual(self.words("advise", "--", "sh", "--su"), [])
        self.assertEqual(self.words("run", "--bl"), ["--blocking"])
        self.assertIn("sh", self.words("run", "--blocking", "--", "sh"))
        self.assertEqual(self.words("run", "--", "sh", "--bl"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
