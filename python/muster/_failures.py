"""Classes and tracebacks of the exceptions that failures become; see `errors`. Private."""
from __future__ import annotations

import linecache
import re
import sys

COMBINED_MAX = 1024
"""Classes that are kept; all go when there are more."""
_combined: dict[tuple[type, type], type] = {}
_FRAME = re.compile(r'([ |+-]*)File "(.+)", line (\d+), in ')


def class_named(name: str) -> type | None:
    """The class with this name, if it was imported already."""
    module, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module or "builtins"), attribute, None)
    return found if isinstance(found, type) else None


def class_of(base: type, original: type) -> type:
    """Raises TypeError: their layouts do not fit together."""
    if issubclass(original, base):  # it has come from another closure already
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
    """Lines of files that this process has, and the worker had not: the client's program, notebooks."""
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
