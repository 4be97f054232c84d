"""What is said of an exception that a function has raised. Its class may be anything: what it raises
while it is looked at is said instead."""
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
    """As isinstance, which asks the object, too."""
    return issubclass(type(error), kind)


def message_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as other:
        return f"<{type(error).__qualname__}, whose text cannot be had: {type_name_of(other)}>"


def traceback_of(error: BaseException) -> str:
    """Without the frames of this package that lead to the function."""
    tb = vars(BaseException)["__traceback__"].__get__(error)  # nothing of its class is asked
    while tb is not None and tb.tb_next is not None and (
            __package__ in tb.tb_frame.f_globals.get("__name__", "")):
        tb = tb.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, tb))
    except BaseException:
        return "Traceback (most recent call last):\n" + "".join(traceback.format_tb(tb))


def note(error: BaseException, f: Callable[..., Any], arguments: str) -> None:
    """Behind the traceback, here and where the output is fetched: with which arguments it was called. Python before
    3.11 has no notes; none is added where the client has said nothing of the arguments."""
    if not arguments or sys.version_info < (3, 11):
        return
    try:
        called = f"called as {calls.name_of(f)}("
        kept = object.__getattribute__(error, "__dict__")  # nothing of its class is asked
        notes = kept.get("__notes__", [])
        if type(notes) is list:  # what is raised again and again has the newest
            others = [one for one in notes if type(one) is not str or not one.startswith(called)]
            kept["__notes__"] = [*others, f"{called}{arguments})"]
    except BaseException:  # its name cannot be had
        pass


def tasks_of(error: DependencyLost) -> tuple[str, ...]:
    try:
        return tuple(map(str, error.tasks))
    except BaseException:
        return ()


def packed(error: BaseException) -> bytes:
    """For who had the function run; empty where it cannot be packed, or is too large."""
    try:
        return exceptions.pack(error)
    except BaseException:
        return b""
