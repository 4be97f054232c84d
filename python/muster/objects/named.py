"""Objects of classes that workers, in any language, have registered by name. Arguments and results are JSON.

A handle in JSON is ``{"$object": "obj_…", "task": "ps:0", "class": "Counter", "ticket": "<base64>"}``. Objects of
Python classes also accept JSON, so every handle has this JSON form.
"""
from __future__ import annotations

import base64
import json
from typing import Any, Mapping, Sequence

from muster.coordinator.remote_value import RemoteValue
from muster.objects import handle
from muster.objects.calls import Calls
from muster.objects.handle import CallValue, RemoteObject, check_argument_bytes

_KEY, _PREFIX, _DIGITS = "$object", "obj_", 16
_KEYS = {_KEY, "task", "class", "ticket"}


class NamedObject(RemoteObject):
    """A handle whose methods take and return JSON. Arguments can be plain values, handles and outputs. A method call
    waits for the outputs among its arguments.
    """

    __slots__ = ()

    def _pack(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallValue:
        data = arguments(f"{self._class_name}.{method}", args, kwargs)
        return CallValue(self._calls, self._calls.add(self._id, method, data, self._ticket, plain=True, loads=loads,
                                                      of=(self._task, self._class_name)), self._owner)

    def __reduce__(self) -> Any:
        return restored, (self._id, self._task, self._class_name, self._ticket)


def arguments(of: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> bytes:
    """Returns the arguments of a call as JSON. Raises TypeError if JSON cannot represent the arguments, ValueError if
    the arguments are too large, or the error of an output.
    """
    try:
        data = _dumps({"args": list(args), "kwargs": dict(kwargs)} if kwargs else list(args)).encode()
    except TypeError as error:
        raise TypeError(f"{of} accepts only JSON: {error}") from error
    check_argument_bytes(len(data))
    return data


def plain(value: Any) -> Any:
    """Returns the JSON form of a handle or an output. Waits for the value of an output. Raises TypeError for all other
    objects.
    """
    return value.fetch() if isinstance(value, RemoteValue) else to_json(value)


def to_json(value: Any) -> dict[str, str]:
    """Returns the JSON form of a handle. Raises TypeError if `value` is not a handle, or is a variable's handle."""
    if not isinstance(value, RemoteObject):
        raise TypeError(f"{type(value).__name__} is not JSON")
    if value._class_name == "muster.Variable":
        raise TypeError("a variable is not JSON; pass its name, and find it by name in the function")
    return {_KEY: f"{_PREFIX}{value._id:016x}", "task": value._task, "class": value._class_name,
            "ticket": base64.b64encode(value._ticket).decode()}


_WORDS: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
_dumps = json.JSONEncoder(default=plain, **_WORDS).encode
dumps = json.JSONEncoder(default=to_json, **_WORDS).encode
"""Encodes a result."""


def hook(found: dict[str, Any]) -> Any:
    """Object hook for json.loads. Converts the JSON form of a handle into a handle if this process can call the object.
    Returns all other dicts unchanged.
    """
    if _KEY not in found or found.keys() != _KEYS or not all(type(v) is str for v in found.values()):
        return found
    id = found[_KEY]
    try:
        ticket = base64.b64decode(found["ticket"], validate=True)
        if not id.startswith(_PREFIX) or len(id) != len(_PREFIX) + _DIGITS:
            return found
        return restored(int(id[len(_PREFIX):], 16), found["task"], found["class"], ticket)
    except (TypeError, ValueError):
        return found


def loads(text: bytes) -> Any:
    return json.loads(str(text, "utf-8"), object_hook=hook)


def restored(id: int, task: str, class_name: str, ticket: bytes) -> NamedObject:
    """Recreates a handle. Called when a handle is unpickled. Raises TypeError if this process cannot call the object.
    """
    calls: Calls = handle.calls_of(ticket, f"{class_name} on {task}")
    return NamedObject(id, task, class_name, ticket, calls, getattr(calls, "owner", lambda: None)())
