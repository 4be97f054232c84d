"""Pickles values with cloudpickle (by value) if pickle cannot serialize the values. Internal."""
from __future__ import annotations

import collections
import enum
import io
import pickle
import sys
import types
import typing
from typing import Any

import cloudpickle

from muster._pickled.unpicklers import Unpickler, file_of


def _code(code: types.CodeType) -> Any:
    """Reduces a code object and keeps its file name, which tracebacks need. Some versions of cloudpickle replace the
    file name.
    """
    make, args = cloudpickle.CloudPickler.dispatch_table[types.CodeType](code)
    return make, tuple(code.co_filename if a == "<dynamic-code>" else a for a in args)


def _with_slots(value: type, made: tuple[Any, ...]) -> tuple[Any, ...]:
    """Adds the slots of a class that is pickled by value to the reduced form, so that the copy has the same slots.

    cloudpickle creates the copy without slots. Instances of the copy would then have a dictionary. When such an instance
    is returned, the original class could not store this dictionary.
    """
    make, args, (attributes, more), *rest = made
    kind, name, bases, words, *last = args
    if typing.NamedTuple in bases:  # NamedTuple sets its own slots
        return made
    slots = [n for n, m in vars(value).items()
             if isinstance(m, types.MemberDescriptorType) and m.__objclass__ is value and m.__name__ == n]
    attributes = {n: a for n, a in attributes.items() if n not in slots}  # also mangled names
    slots += [n for n in ("__dict__", "__weakref__") if isinstance(vars(value).get(n), types.GetSetDescriptorType)]
    words = {**words, "__slots__": tuple(slots), "__qualname__": value.__qualname__}
    return make, (kind, name, bases, words, *last), (attributes, more), *rest


def _with_qualified_name(value: type, made: tuple[Any, ...]) -> tuple[Any, ...]:
    """Adds the qualified name of a class that is pickled by value to the reduced form, so that the copy has the same
    name.

    Otherwise, the copy of a class defined in a function would appear to be defined at module level.
    """
    make, args, *rest = made
    kind, name, bases, words, *last = args
    if typing.NamedTuple in bases:
        return made
    return make, (kind, name, bases, {**words, "__qualname__": value.__qualname__}, *last), *rest


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    dispatch_table: typing.ClassVar[Any] = collections.ChainMap({types.CodeType: _code},
                                          cloudpickle.CloudPickler.dispatch_table)

    def reducer_override(self, value: Any) -> Any:
        made = super().reducer_override(value)
        if isinstance(value, type) and not isinstance(value, enum.EnumMeta) and isinstance(made, tuple) and len(made) == 6:
            return _with_slots(value, made) if "__slots__" in vars(value) else _with_qualified_name(value, made)
        return made


class _ReferencePickler(_Pickler):
    """Pickles classes of `__main__` by name, because the receiver is the client, which defines them."""

    def persistent_id(self, value: Any) -> str | None:
        if isinstance(value, type) and value.__module__ == "__main__" and (
                "<locals>" not in value.__qualname__):
            return value.__qualname__
        return None


class _ReferenceUnpickler(Unpickler):
    def persistent_load(self, name: Any) -> Any:
        found: Any = sys.modules["__main__"]
        for part in name.split("."):
            found = getattr(found, part)
        return found


def dumps(value: Any, protocol: int = 5, buffer_callback: Any = None) -> bytes:
    """Pickles a value like cloudpickle.dumps."""
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
            raise pickle.PicklingError("the pickled value is too large")
        return super().write(data)


def dump_back(value: Any, bytes_max: int) -> bytes:
    """Pickles a value for the client. Raises the exceptions of pickle, and PicklingError if the pickle exceeds
    `bytes_max`.
    """
    with _Bounded(bytes_max) as file:
        _ReferencePickler(file, protocol=5).dump(value)
        return file.getvalue()


def load_back(data: bytes) -> Any:
    return _ReferenceUnpickler(file_of(data)).load()
