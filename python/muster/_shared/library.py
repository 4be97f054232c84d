"""Loads the library for large values, which is also part of the C++ client. ``client/blobs/values.h`` documents the
functions of the library.

The library is installed next to the program `muster`. Without the library, Python processes do not share memory. Large
values are then sent through the server, as between hosts that cannot reach each other.
"""
from __future__ import annotations

import ctypes
import functools
import logging
import pathlib
from typing import Any

from muster import _program

log = logging.getLogger("muster.shared")

INTERFACE = 1
"""Version of the library interface that this package calls. A library with a different interface version is rejected.
"""
FULL, UNKNOWN, NOT_TAKEN, CLOSED = -2, -3, -4, -5
"""Failure codes. All other codes mean that the operating system reported an error."""

_INT, _LONG, _SIZE, _NUMBER = ctypes.c_int, ctypes.c_int64, ctypes.c_size_t, ctypes.c_uint64
_TEXT, _BYTES, _ANY, _STORE = ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64
_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # result types, then argument types
    "interface": (_INT,),
    "error": (_TEXT,),
    "bytes_max": (_LONG, _LONG),
    "host": (_INT, _TEXT, _SIZE),
    "memory_is_reused": (_INT,),
    "make": (_INT, _BYTES, _ANY, _ANY, _SIZE, _NUMBER),
    "forget_unused": (None,),
    "size": (_LONG, _INT),
    "check": (_INT, _INT, _BYTES, _NUMBER),
    "is_named": (_INT, _INT, _BYTES),
    "same": (_INT, _ANY, _ANY, _SIZE),
    "open": (_STORE, _NUMBER),
    "close": (_INT, _STORE),
    "socket": (_INT, _STORE, _TEXT, _SIZE),
    "reserve": (_INT, _STORE, _NUMBER),
    "unreserve": (_INT, _STORE, _NUMBER),
    "free": (_LONG, _STORE),
    "add": (_INT, _STORE, _BYTES, _INT, _NUMBER),
    "drop": (_INT, _STORE, _BYTES),
    "opened": (_INT, _STORE, _BYTES),
    "held": (_LONG, _STORE, _ANY, _ANY, _SIZE),
    "take": (_INT, _STORE, _TEXT, _BYTES, _NUMBER, _INT),
    "wait": (_INT, _STORE, _ANY),
    "wake": (_INT, _STORE),
    "listen": (_INT, _STORE, _TEXT, _TEXT, _TEXT, _TEXT, _SIZE),
    "certificate": (_INT, _STORE, _TEXT, _TEXT),
    "expect": (_INT, _STORE, _BYTES, _BYTES),
    "take_from_peer": (_INT, _STORE, _TEXT, _BYTES, _TEXT, _BYTES, _NUMBER),
    "record_server_time": (_INT, _STORE, _NUMBER, ctypes.c_double),
}


class Failed(OSError):
    """Raised if a library call fails."""

    code = 0
    """Failure code from values.h."""

    @classmethod
    def of(cls, code: int, why: str) -> Failed:
        failed = cls(why)
        failed.code = code
        return failed


class Library:
    """The functions of the library as methods, without the prefix in the names. The methods release the GIL, and raise
    Failed if the library reports an error.
    """

    def __init__(self, path: str) -> None:
        """Loads the library. Raises OSError if the library cannot be loaded or its version differs from this package's
        version.
        """
        loaded = ctypes.CDLL(path)
        try:
            for name, (result, *arguments) in _FUNCTIONS.items():
                function = getattr(loaded, "muster_values_" + name)
                function.restype, function.argtypes = result, arguments
                setattr(self, name, functools.partial(self._call, function) if result in (_INT, _LONG) else function)
        except AttributeError as error:
            raise OSError(f"{path}: {error}") from error
        if self.interface() != INTERFACE:
            raise OSError(f"{path} has a different version: its interface is {self.interface()}, not {INTERFACE}")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def _call(self, function: Any, *arguments: Any) -> int:
        result = int(function(*arguments))
        if result < 0:
            # No local variable: the frame would keep the error alive, and the error would keep the
            # frame and its arguments alive.
            raise Failed.of(result, self.error().decode(errors="replace"))
        return result

    def text(self, function: Any, *arguments: Any) -> str:
        """Calls a function whose last two arguments are a buffer and its size. Returns the string that the function
        writes into the buffer.
        """
        into = ctypes.create_string_buffer(400)
        function(*arguments, into, len(into))
        return into.value.decode()


@functools.lru_cache(None)
def found() -> Library | None:
    """Returns the library next to the program, or None if this version of the library is not installed."""
    try:
        program = pathlib.Path(_program.find())
    except FileNotFoundError:
        return None
    why: list[str] = []
    for at in dict.fromkeys((program, program.resolve())):
        path = at.parent.parent / "lib" / "muster" / "libmuster_values.so"
        if path.is_file():
            try:
                return Library(str(path))
            except OSError as error:
                why.append(str(error))
    if why:
        log.warning("shared memory cannot be used, so large values are sent through the server: %s", "; ".join(why))
    return None


def loaded() -> Library:
    """Returns the library. Raises OSError if the library is not installed."""
    library = found()
    if library is None:
        raise OSError("this Python package does not contain the library for large values")
    return library
