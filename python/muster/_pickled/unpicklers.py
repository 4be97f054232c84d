"""Reads this package's pickles like `pickle.loads`, with two differences. Internal.

First, a module that a pickle refers to is imported after its parent packages. Python's unpickler locks the module
first, which is the reverse order of ``import numpy``. If one thread imports a package while another thread unpickles a
definition from a submodule, the two threads wait for each other. Python resolves this deadlock by exposing
half-initialized modules (ImportError, `_DeadlockError`).

Second, a class that this process has pickled by value remains unchanged when values of the class are returned.
cloudpickle would overwrite the class's attributes with the attributes of the copy.
"""
from __future__ import annotations

import importlib
import io
import pickle
import re
import sys
import types
import weakref
from typing import Any, Callable, Iterable

from cloudpickle import cloudpickle

_names_globals = re.compile(b"\x93").search
"""Returns a match if a pickle can refer to a global (STACK_GLOBAL of protocol 4 and later)."""
_remade: weakref.WeakSet[type] = weakref.WeakSet()
"""Classes that this process has received by value."""
_making: set[str] = set()
"""Trackers of classes that threads are creating. Other threads may find such a class before the class is added to
`_remade`.
"""
READ_IN_PLACE_MIN = 64 << 10
"""Minimum size of a pickle that is read without copying."""


def loads(data: bytes | bytearray | memoryview, buffers: Iterable[Any] = ()) -> Any:
    """Returns the value of a pickle of protocol 4 or later. Raises the exceptions of unpickling."""
    if _names_globals(data) is None:
        return pickle.loads(data, buffers=buffers)
    return Unpickler(file_of(data), buffers=buffers).load()


def file_of(data: bytes | bytearray | memoryview) -> Any:
    """Returns a file object to unpickle from."""
    if isinstance(data, bytes) or len(data) < READ_IN_PLACE_MIN:
        return io.BytesIO(data)  # shares the memory of the bytes object
    return _Reader(data)


class _Reader:
    """A file object that reads from memory without copying all bytes. An unpickler reads one frame at a time, and reads
    large objects into their own memory.
    """

    def __init__(self, data: bytearray | memoryview) -> None:
        self._view = memoryview(data).cast("B")
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        return bytes(self._take(len(self._view) if size < 0 else size))

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        part = self._take(len(into))
        into[:len(part)] = part
        return len(part)

    def readline(self) -> bytes:
        size = 256
        while (end := bytes(self._view[self._at:self._at + size]).find(b"\n")) < 0:
            if self._at + size >= len(self._view):
                return self.read()
            size *= 2
        return self.read(end + 1)

    def _take(self, size: int) -> memoryview:
        part = self._view[self._at:self._at + size]
        self._at += len(part)
        return part


class Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        import_outer_first(module)
        found = super().find_class(module, name)
        if module.startswith("cloudpickle.") and name in _REPLACED:
            return _REPLACED[name](found)
        return found


def import_outer_first(name: str) -> types.ModuleType:
    """Imports a module after its parent packages, so that no thread waits for a package while holding the module's
    lock.

    Waits if another thread is importing the module. Raises the exceptions of the import.
    """
    found = sys.modules.get(name)
    if found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False):
        return found
    at = name.find(".")
    while at >= 0:
        _import(name[:at])
        at = name.find(".", at + 1)
    return _import(name)


def _import(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:
        # Another thread's import may take the locks in the reverse order. That import is complete
        # when its lock is free.
        if isinstance(error, ModuleNotFoundError) or not (
                isinstance(error, ImportError) or type(error).__name__ == "_DeadlockError"):
            raise
    return importlib.import_module(name)


def _remake(make: Callable[..., type]) -> Callable[..., type]:
    """Wraps `make`, a cloudpickle function that creates a class without attributes."""

    def remake(*args: Any) -> type:
        tracker: str | None = args[-2]
        known: type | None = cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(tracker) if tracker else None
        if known is not None:
            if tracker in _making:
                _remade.add(known)
            return known
        if tracker:
            _making.add(tracker)
        try:
            made = make(*args)
            _remade.add(made)
            return made
        finally:
            _making.discard(tracker or "")

    return remake


def _fill(set_state: Callable[[type, Any], Any]) -> Callable[[type, Any], Any]:
    """Wraps `set_state`, a cloudpickle function that sets the attributes of a class created by `make`."""
    return lambda made, state: set_state(made, state) if made in _remade else made


_REPLACED: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "subimport": lambda _: import_outer_first, "_make_skeleton_class": _remake, "_make_skeleton_enum": _remake,
    "_class_setstate": _fill}
"""Replaced functions of cloudpickle, in any of its modules."""
