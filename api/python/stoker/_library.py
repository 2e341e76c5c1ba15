# SPDX-License-Identifier: BSD-3-Clause
"""libstoker through ctypes: loading it, calling it, and its errors as exceptions. A call lets other threads run Python."""

import ctypes

from mpi4py import MPI

from . import _config
from ._declarations import STRUCTURES


def _load():
    library_of = "openmpi" if MPI.get_vendor()[0] == "Open MPI" else "mpich"
    if library_of != _config.MPI_NAME:
        raise ImportError(f"this stoker is for {_config.MPI_NAME}, but mpi4py is for {MPI.get_vendor()[0]}; expected the same "
                          "MPI library for both")
    return ctypes.CDLL(_config.LIBRARY)


_c = _load()
_c.stoker_error_message.restype = ctypes.c_char_p
_c.stoker_error_string.restype = ctypes.c_char_p

SIZE = ctypes.c_size_t
POINTER = ctypes.c_void_p


class Error(RuntimeError):
    """What a call of stoker found. `code` is one of the constants ERR_*."""

    def __init__(self, code):
        super().__init__(_c.stoker_error_message().decode(errors="replace"))
        self.code = code


def call(name, *arguments):
    """Calls stoker_<name>; raises Error. Arguments are ctypes objects, or what `handle` gives."""
    code = getattr(_c, f"stoker_{name}")(*arguments)
    if code != 0:
        raise Error(code)


def error_string(code):
    """A short text for a code."""
    return _c.stoker_error_string(ctypes.c_int(code)).decode()


def handle(mpi_object):
    """The C handle of an object of mpi4py's: an int in MPICH, a pointer in Open MPI."""
    kind = ctypes.c_void_p if MPI._sizeof(mpi_object) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int
    return kind(MPI._handleof(mpi_object))


def pointer_type():
    """A new handle of stoker's, null."""
    return ctypes.c_void_p(None)


_TYPES = {"size_t": SIZE, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
          "int64_t": ctypes.c_int64, "double": ctypes.c_double, "int": ctypes.c_int, "const char*": ctypes.c_char_p}


def fields(name):
    """The members of C's structure, for ctypes."""
    return [(member, _TYPES[kind]) for kind, member in STRUCTURES[name]]


def told(structure, function, handle_of_it):
    """What a function fills a structure with, which begins with its size, as a dictionary."""
    filled = type(structure, (ctypes.Structure,), {"_fields_": fields(structure)})()
    filled.size = ctypes.sizeof(filled)
    call(function, handle_of_it, ctypes.byref(filled))
    values = {name: getattr(filled, name) for name, _ in filled._fields_ if name != "size"}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}
