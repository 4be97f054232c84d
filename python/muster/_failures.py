"""Failures become exceptions: plain ones where they come in, on the session's own thread, where nothing
of a function's class may be touched; whole ones where they are raised. Private."""
from __future__ import annotations

import linecache
import re
import sys
from typing import Any, Optional

from muster import errors
from muster.errors import ClosureError, Failure, FailureKind, RemoteTraceback

_CLASSES = {
    FailureKind.STALE_HANDLE: errors.NotServedError,
    FailureKind.INPUT: errors.InputError,
    FailureKind.CANCELLED: errors.CancelledError,
    FailureKind.WORKER_LOST: errors.AbortedError,
    FailureKind.DEPENDENCY_LOST: errors.UnavailableError,
    FailureKind.TIMEOUT: errors.TimedOutError,
}
COMBINED_MAX = 1024
"""Classes that are kept; all go when there are more."""
_combined: dict[tuple[type, type], type] = {}
_FRAME = re.compile(r'([ |+-]*)File "(.+)", line (\d+), in ')


def kind_of(number: int, type: str) -> FailureKind:
    known = FailureKind(number) if number in FailureKind._value2member_map_ else FailureKind.USER
    if known is FailureKind.USER and type == errors.LOST:
        return FailureKind.WORKER_LOST  # which is the server's to say
    return known


def plain(failure: Failure) -> ClosureError:
    """Of the classes of this package alone."""
    made: ClosureError = _CLASSES.get(failure.kind, ClosureError)(
        failure.kind, failure.type, failure.message, failure.remote_traceback, failure.worker,
        failure.attempt, list(failure.dependency))
    made._failure = failure
    return made


def whole(failure: Failure, stops: bool = False) -> ClosureError:
    """Returns the error with the class of the original and what was sent of it. `stops`: see ClosureError.again."""
    if failure.own:
        failure = failure._replace(remote_traceback=with_lines(failure.remote_traceback))
    from muster._pickled.exceptions import chain, dictionary

    made = plain(failure)
    try:
        original = _original(failure)
        made = _of_both(failure, original, stops) or made
        dictionary(made)["_original"] = original
        if failure.cause is not None:
            chain(made, failure.cause.again(), None)
        elif original is not None:
            shown = RemoteTraceback(failure.remote_traceback)
            chain(made, original.__cause__ or shown, original.__context__)
            if original.__cause__ is not None:
                last = _last_cause(original.__cause__)
                chain(last, shown, last.__context__)
        str(made), made.kind  # or it could not even be shown
        return made
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever a class may do
        return plain(failure)


def _original(failure: Failure) -> Optional[BaseException]:
    if not (failure.own and failure.exception) or failure.kind is FailureKind.INPUT:
        return None
    from muster._pickled import exceptions

    try:
        return exceptions.unpack(failure.exception)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _of_both(failure: Failure, original: Optional[BaseException], stops: bool) -> Optional[ClosureError]:
    from muster._pickled import exceptions

    if failure.kind is not FailureKind.USER:
        return None
    kind = _named(failure.type) if original is None else type(original)
    if kind is None or not issubclass(kind, Exception):
        return None
    if not stops and issubclass(kind, (StopIteration, StopAsyncIteration)):
        return None
    try:
        both = _class_of(ClosureError, kind)
        made: Any = (exceptions.new(both, (failure.message,)) if original is None
                     else exceptions.like(original, both))
    except Exception:  # their layouts do not fit together, or it cannot be made of a text
        return None
    exceptions.dictionary(made)["_failure"] = failure
    if original is None and failure.remote_traceback:
        exceptions.chain(made, RemoteTraceback(failure.remote_traceback), None)
    found: ClosureError = made
    return found


def _named(name: str) -> Optional[type]:
    """The class with this name, if it was imported already."""
    module, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module or "builtins"), attribute, None)
    return found if isinstance(found, type) else None


def _class_of(base: type, original: type) -> type:
    """Raises TypeError: their layouts do not fit together."""
    if issubclass(original, base):  # it has come from another closure already
        return original
    key = (base, original)
    if key not in _combined:
        if len(_combined) >= COMBINED_MAX:
            _combined.clear()
        _combined[key] = type(original.__name__, key, {"__module__": "muster.errors"})
    return _combined[key]


def _last_cause(error: BaseException) -> BaseException:
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
