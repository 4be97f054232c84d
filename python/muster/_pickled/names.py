"""What people call a callable: the server shows it where else it could only say ``python:3.11``."""
from __future__ import annotations

import functools
import hashlib
import os
from typing import Any, NamedTuple

NAME_BYTES_MAX = 256


class Called(NamedTuple):
    name: str
    hash: bytes = b""
    """SHA-256 of the pickled callable: it tells versions of one name apart."""


class Pickled(NamedTuple):
    """A callable."""

    data: bytes
    called: Called


def pickled(data: bytes, function: Any) -> Pickled:
    return Pickled(data, Called(display_name(function), hashlib.sha256(data).digest()))


def display_name(function: Any) -> str:
    """``module.qualname``, of a lambda ``<lambda> file:line``, of an object that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    qualname = getattr(function, "__qualname__", None)
    if not isinstance(qualname, str):
        function = type(function)
        qualname = function.__qualname__
    code = getattr(function, "__code__", None)
    if qualname.endswith("<lambda>") and code is not None:
        return shown(f"<lambda> {os.path.basename(code.co_filename)}:{code.co_firstlineno}")
    module = getattr(function, "__module__", None)
    return shown(qualname if module in (None, "builtins") else f"{module}.{qualname}")


def builder_name(builder: Any) -> str:
    """Of what each worker builds: of a function or class its own name, of a list ``list``."""
    name = getattr(builder, "__qualname__", None)
    return shown(name if isinstance(name, str) else type(builder).__qualname__)


def shown(name: str) -> str:
    """Cut and cleaned, so that every server takes it."""
    # The joiner is what makes one picture of several emoji.
    clean = "".join(c if c.isprintable() or c == "\u200d" else "?" for c in name) or "?"
    return clean.encode("utf-8", "replace")[:NAME_BYTES_MAX].decode("utf-8", "ignore")


def checked(name: str) -> str:
    """One that a user has chosen. Raises ValueError."""
    if not name or shown(name) != name:
        raise ValueError(f"name: {name!r}, must be printable and have 1 to {NAME_BYTES_MAX} bytes")
    return name
