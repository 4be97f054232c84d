"""Describes an exception that a function has raised. If inspecting this exception raises a second exception, the second
exception is described instead.
"""
from __future__ import annotations

import sys
import traceback
from typing import Any, Callable

from muster._pickled import calls, exceptions
from muster.errors import DependencyLost


def type_name_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else (
        f"{kind.__module__}.{kind.__qualname__}")


def is_a(error: BaseException, kind: type) -> bool:
    """Checks the type like isinstance, but does not run code of the exception's class."""
    return issubclass(type(error), kind)


def message_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as other:
        return f"<{type(error).__qualname__}, whose text is not available: {type_name_of(other)}>"


def traceback_of(error: BaseException) -> str:
    """Returns the traceback without the frames of this package that precede the function."""
    tb = vars(BaseException)["__traceback__"].__get__(error)  # bypasses code of the class
    while tb is not None and tb.tb_next is not None and (
            __package__ in tb.tb_frame.f_globals.get("__name__", "")):
        tb = tb.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, tb))
    except BaseException:
        return "Traceback (most recent call last):\n" + "".join(traceback.format_tb(tb))


def note(error: BaseException, f: Callable[..., Any], arguments: str) -> None:
    """Adds a note with the arguments of the call to the exception. The note is shown after the traceback, also on the
    client.

    Does nothing if the client has not described the arguments, or before Python 3.11, which does not support notes.
    """
    if not arguments or sys.version_info < (3, 11):
        return
    try:
        called = f"called as {calls.name_of(f)}("
        kept = object.__getattribute__(error, "__dict__")  # bypasses code of the class
        notes = kept.get("__notes__", [])
        if type(notes) is list:  # an exception that is raised repeatedly keeps only the newest note
            others = [one for one in notes if type(one) is not str or not one.startswith(called)]
            kept["__notes__"] = [*others, f"{called}{arguments})"]
    except BaseException:  # the function name is not available
        pass


def tasks_of(error: DependencyLost) -> tuple[str, ...]:
    try:
        return tuple(map(str, error.tasks))
    except BaseException:
        return ()


def packed(error: BaseException) -> bytes:
    """Returns the pickled exception for the client, or empty bytes if it cannot be pickled or is too large."""
    try:
        return exceptions.pack(error)
    except BaseException:
        return b""
