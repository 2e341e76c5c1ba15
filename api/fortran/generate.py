#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Fortran interface, from the declarations of the C headers.

usage: generate.py OUTPUT TEMPLATE HEADER...    fills in the lines @name@ of a template, stoker.f90.in or stoker_f08.c.in

FORMS has a row for each form of argument. A form that no row knows is an error, so that no new function is left out silently.
"""

import pathlib
import re
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import declarations  # noqa: E402

# Functions that the template's own procedures call: texts and logicals are Fortran's there.
INNER = {"stoker_engine_create", "stoker_test", "stoker_testall", "stoker_testany", "stoker_transfer_test", "stoker_trace_begin"}

HANDLES = "engine|request|global|team|transfer"
MPI_HANDLES = {"MPI_Comm": "MPI_Comm_f2c", "MPI_Datatype": "MPI_Type_f2c", "MPI_Op": "MPI_Op_f2c", "MPI_Info": "MPI_Info_f2c"}
KINDS = {"int": "c_int", "size_t": "c_size_t", "int32_t": "c_int32_t", "uint32_t": "c_int32_t", "int64_t": "c_int64_t",
         "uint64_t": "c_int64_t", "MPI_Count": "c_int64_t", "MPI_Aint": "c_int64_t"}

# C declaration of an argument -> Fortran's declaration, that of the function behind it, what this passes on. {0}: what the
# first group matched, {name}: the argument, {kind}: the kind of an integer, {f2c}: the conversion of a handle, {asynchronous}:
# ", asynchronous" where the call returns before the transfer is complete.
FORMS = [
    (r"const void\* \w+", "type(*), dimension(..), intent(in){asynchronous}", "const CFI_cdesc_t* {name}", 'buffer_of({name}, "{name}")'),
    (r"void\* memory", "type(*), dimension(..), intent(in), asynchronous", "const CFI_cdesc_t* {name}", "{name}->base_addr"),
    (r"void\* stream", "type(c_ptr), value, intent(in)", "void* {name}", "{name}"),
    (r"void\* \w+", "type(*), dimension(..){asynchronous}", "const CFI_cdesc_t* {name}", 'buffer_of({name}, "{name}")'),
    (r"void\*\* \w+", "type(c_ptr), intent(out)", "void** {name}", "{name}"),
    (r"(MPI_(?:Comm|Datatype|Op|Info)) \w+", "type({0}), intent(in)", "const MPI_Fint* {name}", "{f2c}(*{name})"),
    (r"(int|size_t|uint64_t|MPI_Count) \w+", "integer({kind}), value, intent(in)", "{0} {name}", "{name}"),
    (r"const (int|MPI_Count|MPI_Aint) \w+\[\]", "integer({kind}), intent(in), dimension(*)", "const {0} {name}[]", "{name}"),
    (r"(int)\* \w+", "integer({kind}), intent(out)", "int* {name}", "{name}"),
    (rf"(stoker_(?:{HANDLES}|gptr)) \w+", "type({0}), intent(in)", "const {0}* {name}", "*{name}"),
    (r"(stoker_transfer)\* \w+(?=.*_nb$)", "type({0}), optional, intent(out)", "{0}* {name}", "{name}"),
    (rf"(stoker_(?:{HANDLES}))\* \w+(?=.*_(?:free|destroy|test|wait)$)", "type({0}), intent(inout)", "{0}* {name}", "{name}"),
    (rf"(stoker_(?:{HANDLES}|gptr|\w*statistics|engine_facts))\* \w+", "type({0}), intent(out)", "{0}* {name}", "{name}"),
    (r"const (stoker_request|stoker_gptr) \w+\[\]", "type({0}), intent(in), dimension(*)", "const {0} {name}[]", "{name}"),
    (r"(stoker_transfer) \w+\[\]", "type({0}), intent(inout), dimension(*)", "{0} {name}[]", "{name}"),
    (r"const (stoker_setting)\* \w+", "type({0}), intent(in), dimension(*)", "const {0}* {name}", "{name}"),
    (r"const char\* \w+", "type(c_ptr), value, intent(in)", "const char* {name}", "{name}"),
]


class Argument:
    def __init__(self, declaration, function):
        self.name = re.search(r"(\w+)(?:\[\])?$", declaration)[1]
        for pattern, *parts in FORMS:
            # The function's name follows, for rows that look ahead at it.
            if match := re.match(rf"(?:{pattern})(?=\s)", f"{declaration} {function}"):
                first = match[1] if match.groups() else ""
                waits = not re.search(r"_init(_c)?$|_nb$", function)
                words = {"name": self.name, "kind": KINDS.get(first), "f2c": MPI_HANDLES.get(first), "asynchronous": "" if waits else ", asynchronous"}
                self.fortran, self.c, self.passed = (part.format(first, **words) for part in parts)
                return
        sys.exit(f"{function}: no row of FORMS knows the argument {declaration}")

    def before(self):
        """What the function does to the argument before the call, which sets nothing when it fails."""
        if self.fortran.endswith("intent(out)") and re.match(rf"(stoker_(?:{HANDLES})|int)\*", self.c):
            return [f"*{self.name} = {'MPI_UNDEFINED' if self.name == 'index' else 0};"] if "optional" not in self.fortran else []
        return [f"{self.name}->size = sizeof *{self.name};"] if re.match(r"stoker_(\w*statistics|engine_facts)\*", self.c) else []

    def after(self):
        """And behind it: Fortran's indices begin with 1, while MPI_UNDEFINED is negative."""
        return [f"*{self.name} += *{self.name} >= 0;"] if self.c == "int* index" else []


class Function:
    def __init__(self, name, arguments):
        self.name = name
        self.arguments = [Argument(argument, name) for argument in arguments]

    @property
    def fortran_name(self):
        return "c_" + self.name.removeprefix("stoker_") if self.name in INNER else self.name

    @property
    def symbol(self):
        return self.name.replace("stoker_", "stoker_f08_", 1)

    def fortran(self):
        names = ", ".join([*(argument.name for argument in self.arguments), "ierror"])
        head = textwrap.wrap(f'subroutine {self.fortran_name}({names}) bind(C, name="{self.symbol}")', 120, subsequent_indent="    ")
        lines = [*(line + " &" for line in head[:-1]), head[-1], "  import"]
        lines += [f"  {argument.fortran} :: {argument.name}" for argument in self.arguments]
        return [*lines, "  integer(c_int), optional, intent(out) :: ierror", "end subroutine"]

    def c(self):
        parameters = ", ".join([*(argument.c for argument in self.arguments), "int* ierror"])
        passed = ", ".join(argument.passed for argument in self.arguments)
        body = sum((argument.before() for argument in self.arguments), [])
        body += [f"const int code = {self.name}({passed});"]
        body += sum((argument.after() for argument in self.arguments), [])
        text = [f"void {self.symbol}({parameters}) {{", *("  " + line for line in body), "  finish(code, ierror);", "}"]
        return "\n".join(textwrap.fill(line, 120, subsequent_indent=" " * 4) if len(line) > 120 else line for line in text)


def component(c_type, name):
    if c_type == "const char*":
        return f"type(c_ptr) :: {name} = c_null_ptr"
    return f"real(c_double) :: {name} = 0" if c_type == "double" else f"integer({KINDS[c_type]}) :: {name} = 0"


def types_of(declared):
    types = [(name, ["integer(c_intptr_t) :: handle = 0"]) for name in declared.handles]
    types += [(name, [component(*member) for member in members]) for name, members in declared.structures]
    return [f"type, bind(C), public :: {name}\n" + "".join(f"  {line}\n" for line in lines) + "end type" for name, lines in types]


def interfaces_of(functions):
    """Those that differ only in the kind of counts share a name."""
    names, blocks = {function.name for function in functions}, []
    for function in functions:
        if function.name.removesuffix("_c") in names and function.name.endswith("_c"):
            continue
        forms = [one for one in functions if one.name in (function.name, function.name + "_c")]
        head = f"interface {function.name}" if len(forms) > 1 else "interface"
        body = "\n".join(line for form in forms for line in form.fortran())
        blocks.append(f"{head}\n{textwrap.indent(body, '  ')}\nend interface")
        if function.name not in INNER:
            blocks[-1] += "".join(f"\npublic :: {form.name}" for form in forms)
    return blocks


def main():
    output, template, headers = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    declared = declarations.read(headers)
    # Texts come through stoker_error_string and stoker_error_message, which the templates have.
    functions = [Function(name, arguments) for kind, name, arguments in declared.functions if kind == "int"]
    constants = [f"integer(c_int), parameter, public :: {name} = {value}" for name, value in declared.constants]
    filled = {
        "constants": textwrap.indent("\n".join(constants), "  "),
        "types": textwrap.indent("\n\n".join(types_of(declared)), "  "),
        "interfaces": textwrap.indent("\n\n".join(interfaces_of(functions)), "  "),
        "functions": "\n\n".join(function.c() for function in functions),
    }
    pathlib.Path(output).write_text(re.sub(r"^@(\w+)@$", lambda match: filled[match[1]], template.read_text(), flags=re.M))


main()
