"""What is said of an exception that a function has raised. Its class may be anything: what it raises
while it is looked at is said instead."""
from __future__ import annotations

import traceback

from muster._pickled import exceptions
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
