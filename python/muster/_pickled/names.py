"""Display names of callables, which the server shows instead of ``python:3.11``."""
from __future__ import annotations

import functools
import hashlib
import os
from typing import Any, NamedTuple

NAME_BYTES_MAX = 256


class Called(NamedTuple):
    name: str
    hash: bytes = b""
    """SHA-256 of the pickled callable, which distinguishes versions with the same name."""


class Pickled(NamedTuple):
    """A callable that has been pickled."""

    data: bytes
    called: Called


def pickled(data: bytes, function: Any) -> Pickled:
    return Pickled(data, Called(display_name(function), hashlib.sha256(data).digest()))


def display_name(function: Any) -> str:
    """Returns ``module.qualname`` for a function or class, ``<lambda> file:line`` for a lambda, and the name of the
    class for other objects.
    """
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
    """Returns the name of a per-worker builder: the own name of a function or class, otherwise the name of the
    builder's type.
    """
    name = getattr(builder, "__qualname__", None)
    return shown(name if isinstance(name, str) else type(builder).__qualname__)


def shown(name: str) -> str:
    """Returns a shortened name without unprintable characters, which every server accepts."""
    # The joiner combines several emoji into a single one.
    clean = "".join(c if c.isprintable() or c == "\u200d" else "?" for c in name) or "?"
    return clean.encode("utf-8", "replace")[:NAME_BYTES_MAX].decode("utf-8", "ignore")


def as_text(of: str, text: str) -> str:
    """Returns `text` after checking that it can be encoded as UTF-8 for the protocol.

    Raises:
        ValueError: `text` contains lone surrogates, which Python uses for file names that are not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{of}: {text!a} is not valid Unicode text, because it contains lone surrogates") from None
    return text


def function_name(name: str) -> str:
    """Returns `name` after checking that the server accepts it as a function name.

    Raises:
        ValueError: `name` is empty, longer than 256 bytes, or contains control characters or lone surrogates.
    """
    as_text("function", name)
    if not 0 < len(name.encode()) <= NAME_BYTES_MAX or any(c < " " or c == "\x7f" for c in name):
        raise ValueError(f"function: {name!r}, must have 1 to {NAME_BYTES_MAX} bytes and no control characters")
    return name


def checked(name: str) -> str:
    """Returns a user-defined name after checking it. Raises ValueError if the name is invalid."""
    if not name or shown(name) != name:
        raise ValueError(f"name: {name!r}, must be printable and have 1 to {NAME_BYTES_MAX} bytes")
    return name
