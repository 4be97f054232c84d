"""How what pickle alone cannot say is pickled: by value, with cloudpickle. Private."""
from __future__ import annotations

import collections
import io
import pickle
import sys
import types
from typing import Any, Optional

import cloudpickle


def _code(code: types.CodeType) -> Any:
    """Some versions of cloudpickle replace the name of its file, and tracebacks have no lines then."""
    make, args = cloudpickle.CloudPickler.dispatch_table[types.CodeType](code)
    return make, tuple(code.co_filename if a == "<dynamic-code>" else a for a in args)


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    dispatch_table = collections.ChainMap({types.CodeType: _code},
                                          cloudpickle.CloudPickler.dispatch_table)


class _ReferencePickler(_Pickler):
    """What `__main__` defines goes by its name: it is the client's, to which this goes back."""

    def persistent_id(self, value: Any) -> Optional[str]:
        if isinstance(value, type) and value.__module__ == "__main__" and (
                "<locals>" not in value.__qualname__):
            return value.__qualname__
        return None


class _ReferenceUnpickler(pickle.Unpickler):
    def persistent_load(self, name: Any) -> Any:
        found: Any = sys.modules["__main__"]
        for part in name.split("."):
            found = getattr(found, part)
        return found


def dumps(value: Any, protocol: int = 5, buffer_callback: Any = None) -> bytes:
    """As cloudpickle's."""
    with io.BytesIO() as file:
        _Pickler(file, protocol=protocol, buffer_callback=buffer_callback).dump(value)
        return file.getvalue()


class _Bounded(io.BytesIO):
    def __init__(self, bytes_max: int) -> None:
        super().__init__()
        self._left = bytes_max

    def write(self, data: Any) -> int:
        self._left -= len(data)
        if self._left < 0:
            raise pickle.PicklingError("it is too large")
        return super().write(data)


def dump_back(value: Any, bytes_max: int) -> bytes:
    """For the way back to the client. Raises what pickling raises, and PicklingError: too large."""
    with _Bounded(bytes_max) as file:
        _ReferencePickler(file, protocol=5).dump(value)
        return file.getvalue()


def load_back(data: bytes) -> Any:
    return _ReferenceUnpickler(io.BytesIO(data)).load()
