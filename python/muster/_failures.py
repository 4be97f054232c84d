"""Creates combined exception classes and completes tracebacks. See `errors`. Private."""
from __future__ import annotations

import linecache
import re
import sys

COMBINED_MAX = 1024
"""Maximum number of cached classes. When this number is exceeded, the cache is cleared."""
_combined: dict[tuple[type, type], type] = {}
_FRAME = re.compile(r'([ |+-]*)File "(.+)", line (\d+), in ')


_PLACE = re.compile(r"\(on [\w.-]+:\d+\)$")


def names_a_task(message: str) -> bool:
    """Returns whether the message ends with a task name, as in "(on worker:3)"."""
    return _PLACE.search(message) is not None


def class_named(name: str) -> type | None:
    """Returns the class with this name if its module has been imported, otherwise None."""
    module, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module or "builtins"), attribute, None)
    return found if isinstance(found, type) else None


def class_of(base: type, original: type) -> type:
    """Returns a class that is derived from both classes. Raises TypeError if the memory layouts of the classes
    conflict.
    """
    if issubclass(original, base):  # the original is the error of another call
        return original
    key = (base, original)
    if key not in _combined:
        if len(_combined) >= COMBINED_MAX:
            _combined.clear()
        _combined[key] = type(original.__name__, key, {"__module__": "muster.errors"})
    return _combined[key]


def last_cause(error: BaseException) -> BaseException:
    seen = set()
    while error.__cause__ is not None and id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__
    return error


def with_lines(traceback: str) -> str:
    """Adds source lines to a traceback. The lines come from files that the worker could not read, such as the client's
    program and notebooks.
    """
    lines = traceback.split("\n")
    made: list[str] = []
    for i, line in enumerate(lines):
        made.append(line)
        frame = _FRAME.match(line)
        if frame is None or "".join(lines[i + 1:i + 2]).startswith(frame[1] + "  "):
            continue
        linecache.checkcache(frame[2])
        source = linecache.getline(frame[2], int(frame[3])).strip()
        if source:
            made.append(f"{frame[1]}  {source}")
    return "\n".join(made)
