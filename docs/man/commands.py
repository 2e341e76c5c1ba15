#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages of the commands, the page of the settings, and the completion of bash, from what `stoker` says of itself.

usage: commands.py STOKER MAN1 SETTINGS COMPLETION    a folder and two files to write
"""

import json
import pathlib
import re
import subprocess
import sys

import roff

BECOME_PROGRAMS = ("run", "advise")  # commands behind whose -- stands another program


def said_by(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def full_name(command):
    return command["name"] if command["name"] == "stoker" else f"stoker-{command['name']}"


def choices(option):
    """The words that an option takes, if it takes no others."""
    listed = re.search(r"\{(.*)\}", option["argument"])
    return listed.group(1).split(",") if listed else []


def argument_of(option):
    """INT, FILE, {a,b}: without the names that CLI11 gives to its checks."""
    kind = option["argument"]
    bounds = re.search(r" in \[.*\]$", kind)
    if choices(option):
        return "{" + ",".join(choices(option)) + "}"
    return re.sub(r"[:\[].*", "", kind).strip() + (bounds.group(0) if bounds else "")


def sentence(text):
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") if text else ""


def option_roff(option):
    argument = argument_of(option)
    names = [f"\\fB{roff.escaped(name)}\\fR" if not option["positional"] else f"\\fI{roff.escaped(name)}\\fR" for name in option["names"]]
    tag = ", ".join(names)
    if argument and not option["positional"]:
        tag += f" \\fI{roff.escaped(argument)}\\fR"
    tag += " ..." if option["many"] else ""
    text = sentence(option["help"])
    if option["positional"] and choices(option):
        text += " " + argument + "."
    text += " Required." if option["required"] else ""
    text += f" Default: {option['default'].strip('[]')}." if option["default"] else ""
    text += f" Not with {', '.join(option['not_with'])}." if option["not_with"] else ""
    return roff.tagged(tag, roff.escaped(text.strip() or "See the description."), bold=False)


def synopsis(command, program):
    words = [f"\\fB{program}\\fR"]
    words += [f"\\fB{command['name']}\\fR"] if command["name"] != program else []
    words += ["[\\fIOPTION\\fR]..."]
    words += [f"[\\fI{roff.escaped(option['names'][0])}\\fR{'...' if option['many'] else ''}]"
              for option in command["options"] if option["positional"]]
    words += ["\\fB\\-\\-\\fR \\fIPROGRAM\\fR [\\fIARGUMENT\\fR]..."] if command["name"] in BECOME_PROGRAMS else []
    return " ".join(words)


def command_page(command, commands):
    named = sorted(command["options"], key=lambda option: not option["positional"])
    others = [("stoker", 1)] + [(full_name(one), 1) for one in commands if one is not command] + [("stoker_settings", 7), ("stoker_overlap", 7)]
    return roff.page([full_name(command)], 1, " ".join(command["help"].split()).rstrip("."), [
        ("SYNOPSIS", synopsis(command, "stoker")),
        ("DESCRIPTION", roff.escaped(sentence(command["help"]))),
        ("OPTIONS", "\n".join(option_roff(option) for option in named)),
        ("SEE ALSO", roff.see_also(others)),
    ])


def program_page(program):
    commands = program["commands"]
    listed = [roff.tagged(f".BR {roff.escaped(full_name(one))} (1)", roff.escaped(sentence(one["help"])), bold=False) for one in commands]
    return roff.page(["stoker"], 1, program["help"].split(": ", 1)[1], [
        ("SYNOPSIS", "\\fBstoker\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]..."),
        ("DESCRIPTION", roff.escaped(sentence(program["help"].split(": ", 1)[1])) + " The commands:\n" + "\n".join(listed)),
        ("OPTIONS", "\n".join(option_roff(option) for option in program["options"])),
        ("SEE ALSO", roff.see_also([("stoker", 3), ("stoker_settings", 7), ("stoker_overlap", 7)])),
    ])


def plain(markdown):
    """Markdown without its marks."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return text.replace("`", "").replace("**", "")


def settings_page(markdown):
    parts, heading, lines = [], "DESCRIPTION", []
    in_code = False
    for line in markdown.splitlines()[2:]:
        cells = [plain(cell.strip()) for cell in line.strip("|").split(" | ")] if line.startswith("| `") else []
        if line.startswith("```"):
            lines.append(".EE" if in_code else ".PP\n.EX")
            in_code = not in_code
        elif line.startswith("## "):
            parts.append((heading, "\n".join(lines)))
            heading, lines = line[3:].upper(), []
        elif cells:
            key, variable, default, accepted, meaning = cells
            lines.append(roff.tagged(f"\\fB{roff.escaped(key)}\\fR, \\fB{roff.escaped(variable)}\\fR",
                                     roff.escaped(f"{sentence(meaning)} Accepted: {accepted}. Default: {default}."), bold=False))
        elif re.match(r"\d\. ", line):
            lines.append(f".IP {line[:2]} 4\n" + roff.escaped(plain(line[3:])))
        elif not line:
            lines.append(".PP")
        elif not line.startswith("|"):
            lines.append(roff.escaped(plain(line)))
    parts.append((heading, "\n".join(lines)))
    clean = [(heading, re.sub(r"(\.PP\n)+(?=\.|$)", "", re.sub(r"\n\.PP(\n\.PP)+", "\n.PP", text.strip("\n") + "\n"))) for heading, text in parts]
    return roff.page(["stoker_settings"], 7, "the settings of stoker: environment, file, info keys",
                     [*clean, ("SEE ALSO", roff.see_also([("stoker", 1), ("stoker-info", 1), ("stoker_overlap", 7)]))])


def completion(program):
    """Words after `stoker`, options after a command, words of an option with choices, else files."""
    lines = ["# Completion of bash for stoker; made by docs/man/commands.py.", "_stoker() {",
             "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i",
             "  COMPREPLY=()",
             "  if ((COMP_CWORD == 1)); then",
             f"    mapfile -t COMPREPLY < <(compgen -W '{' '.join(one['name'] for one in program['commands'])} --help --version' -- \"$word\")",
             "    return",
             "  fi",
             f"  if [[ $command == @({'|'.join(BECOME_PROGRAMS)}) ]]; then",
             "    for ((i = 2; i < COMP_CWORD; ++i)); do",
             "      if [[ ${COMP_WORDS[i]} == -- ]]; then",
             "        if ((i == COMP_CWORD - 1)); then",
             "          mapfile -t COMPREPLY < <(compgen -c -- \"$word\"; compgen -f -- \"$word\")",
             "        fi",
             "        return # the program's own words",
             "      fi",
             "    done",
             "  fi",
             "  case $command:$before in"]
    for command in program["commands"]:
        for option in command["options"]:
            if choices(option) and not option["positional"]:
                lines.append(f"    {command['name']}:{option['names'][-1]}) mapfile -t COMPREPLY < <(compgen -W '{' '.join(choices(option))}' -- \"$word\"); return ;;")
    lines += ["  esac", "  if [[ $word != -* ]]; then", "    return # a file", "  fi", "  case $command in"]
    for command in program["commands"]:
        names = [name for option in command["options"] if not option["positional"] for name in option["names"]] + (["--"] if command["name"] in BECOME_PROGRAMS else [])
        lines.append(f"    {command['name']}) mapfile -t COMPREPLY < <(compgen -W '{' '.join(names)}' -- \"$word\") ;;")
    return "\n".join([*lines, "  esac", "}", "complete -o default -F _stoker stoker"]) + "\n"


def main():
    stoker, man1, settings, completion_file = sys.argv[1:]
    program = json.loads(said_by(stoker, "--describe"))
    pages = {f"{full_name(command)}.1": command_page(command, program["commands"]) for command in program["commands"]}
    roff.write_folder(man1, {"stoker.1": program_page(program), **pages})
    pathlib.Path(settings).write_text(settings_page(said_by(stoker, "info", "--settings-markdown")))
    pathlib.Path(completion_file).write_text(completion(program))


main()
