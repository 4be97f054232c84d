"""A call of a pickled callable, as the argument of the function that Python workers declare.

Bytes:  b"MPY2", length of the callable as 4 bytes (little endian; the highest bit: nobody takes the
output as an argument, so it may be bytes), one byte that is 0 (earlier clients put the limit of lost
workers there), the pickled callable (or b"MPBC" and the SHA-256 of a blob that is that), and the pickled
pair of positional arguments and keyword arguments, as `buffers` has it.

Outputs of other closures and PerWorkerValues may stand at any depth of the arguments. While these
are pickled, each leaves a numbered slot behind: outputs 0, 1, …, as the closure's inputs are; the values
of workers -1, -2, …, from the end of those that it names. They go beside the bytes. A server of before
fills in values only in JSON, where the call is then
``["<base64 of the bytes>", value of slot 0, value of slot 1, …, value of slot -1]``.

Behind a call with outputs stands which of these come from pickled functions, so that their JSON may stand
for a pickle: a byte each (1: it does), how many (4 bytes), b"MPYI". JSON of any other is data, whatever it
looks like. Workers of before do not read that far.
"""
from __future__ import annotations

import base64
import functools
import inspect
import pickle
import struct
import sys
import threading
import types
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import cloudpickle

from muster._pickled import buffers, picklers
from muster._pickled.buffers import Data

MAGIC = b"MPY2"
HEAD = struct.Struct("<4sIB")
OUTPUT_IN_BYTES = 1 << 31
OUTPUT_AS_BLOB = 1 << 30
FLAGS = OUTPUT_IN_BYTES | OUTPUT_AS_BLOB
BLOB_MIN = 1 << 20
"""Arguments, buffers of these, and values above are blobs."""
CALLABLE_BLOB_MIN = 16 << 10
"""A callable above is a blob: it is sent once, and reaches a worker once."""
CALLABLE = b"MPBC"
FUNCTION = "python:%d.%d" % sys.version_info[:2]
"""What a worker of this version declares: pickled functions carry the byte code of one version."""
_ORIGINS = struct.Struct("<I4s")
_ORIGINS_MAGIC = b"MPYI"


_OF_PICKLING = (pickle.PicklingError, TypeError, ValueError, AttributeError)
"""Errors that are made again with another text."""


class Slots(NamedTuple):
    """What the slots of a call stand for."""

    outputs: list[Any]
    """0, 1, …"""
    of_workers: list[Any]
    """-1, -2, …"""


class _Filling(threading.local):
    """What this thread pickles or unpickles right now."""

    found: Slots | None = None
    values: list[Any] | None = None
    inline = False
    """Outputs of closures are waited for, and are their values."""


_filling = _Filling()


def reduce_to_slot(value: Any, what: str, of_workers: bool = False) -> Any:
    """What `__reduce__` of a RemoteValue or PerWorkerValues returns.

    Raises TypeError unless arguments of a closure are being pickled.
    """
    filling = _filling.found
    if _filling.inline and not of_workers:
        return same, (value._fetch(),)
    if filling is None:
        raise TypeError(f"{what} cannot be pickled: pass it as an argument of schedule, at any depth, "
                        "not within the function itself")
    found = filling.of_workers if of_workers else filling.outputs
    for i, other in enumerate(found):  # noqa: B007  used below
        if other is value:
            break
    else:
        i = len(found)
        found.append(value)
    return slot_value, (-1 - i if of_workers else i,)


def unpicklable(error: Exception, of: str, args: Sequence[Any], kwargs: Mapping[str, Any], item: int | None = None
                ) -> Exception | None:
    """Returns an error that names the argument `error` is about; None if it concerns several arguments.

    Args:
        error: What pickling the arguments has raised.
        of: The name of the function.
        args: Positional arguments.
        kwargs: Keyword arguments.
        item: Of `map`, the number of the item that the first element of `args` belongs to.
    """
    if type(error) not in _OF_PICKLING:
        return None
    named = [(f"argument {i + 1}" if item is None else f"item {item + i} of map", value) for i, value in enumerate(args)]
    for name, value in [*named, *((f"argument {key!r}", value) for key, value in kwargs.items())]:
        try:
            dump_arguments((value,), {})
        except Exception as found:
            what = f"{name} of {of}, a {type(value).__name__}," if item is None else f"{name}, a call of {of},"
            return type(error)(f"{what} cannot be pickled: {found}")
    return None


def _variable_of(f: Callable[..., Any]) -> str:
    """Returns a message about the first variable of a function that cannot be pickled; empty if all can be."""
    while isinstance(f, functools.partial):
        f = f.func
    try:
        f = inspect.unwrap(f)
        if not isinstance(f, types.FunctionType):
            return ""
        used = inspect.getclosurevars(f)
    except Exception:  # wrappers in a circle, or a cell that is empty
        return ""
    for name, value in {**used.globals, **used.nonlocals}.items():
        try:
            picklers.dumps(value)
        except Exception:
            return f"it refers to the variable {name!r}, a {type(value).__name__}: "
    return ""


def same(value: Any) -> Any:
    return value


def slot_value(index: int) -> Any:
    """Called while arguments are unpickled on a worker."""
    values = _filling.values
    if values is None or not -len(values) <= index < len(values):
        raise pickle.UnpicklingError(f"value {index} of the arguments is missing")
    return values[index]


def dump(value: Any, take: buffers.Take | None = None, always: bool = False) -> list[Data]:
    """Pickles anything; what ``__main__`` defines goes by value, since workers do not have it. Parts
    of the bytes, which share memory with the value. `take` makes blobs of large ones; `always`: see `framed`."""
    try:
        data, aside = buffers.parts(value, pickle.dumps)
        if not (b"__main__" in data or cloudpickle.list_registry_pickle_by_value()):
            return buffers.framed(data, aside, take, BLOB_MIN, always)
    except (pickle.PicklingError, TypeError, AttributeError):
        for found in _filling.found or ():
            found.clear()
    return buffers.framed(*buffers.parts(value, picklers.dumps), take, BLOB_MIN, always)


def dump_callable(function: Callable[..., Any]) -> bytes:
    """Raises TypeError if it is no callable or cannot be pickled."""
    if not callable(function):
        raise TypeError(f"schedule needs a callable, not {type(function).__name__}")
    try:
        return picklers.dumps(function)
    except Exception as error:
        raise TypeError(f"{name_of(function)} cannot be pickled: {_variable_of(function)}{error}") from error


def dump_arguments(args: tuple[Any, ...], kwargs: dict[str, Any],
                   take: buffers.Take | None = None) -> tuple[list[Data], Slots]:
    """Parts of the pickled pair, and what its slots stand for."""
    _filling.found = found = Slots([], [])
    try:
        return dump((args, kwargs), take), found
    finally:
        _filling.found = None


def dump_inline(args: tuple[Any, ...], kwargs: dict[str, Any], take: buffers.Take | None = None,
                always: bool = False) -> list[Data]:
    """The same of a call that has no slots: waits for outputs of closures among the arguments.
    Raises what these have raised, TypeError: it cannot be pickled; and what `take` raises."""
    _filling.inline = True
    try:
        return dump((args, kwargs), take, always)
    finally:
        _filling.inline = False


def pack(function: bytes, arguments: list[Data], output_in_bytes: bool = False,
         output_as_blob: bool = False) -> bytes:
    length = len(function) | (OUTPUT_IN_BYTES if output_in_bytes else 0)
    length |= OUTPUT_AS_BLOB if output_as_blob else 0
    return b"".join((HEAD.pack(MAGIC, length, 0), function, *arguments))


def origins(pickled: list[bool]) -> bytes:
    """For the end of a call: which of its outputs come from pickled functions."""
    return bytes(pickled) + _ORIGINS.pack(len(pickled), _ORIGINS_MAGIC)


def origins_of(call: Data) -> list[bool] | None:
    """Of a call as it came; None: its client did not say so."""
    if len(call) < HEAD.size + _ORIGINS.size:
        return None
    count, magic = _ORIGINS.unpack_from(call, len(call) - _ORIGINS.size)
    end = len(call) - _ORIGINS.size
    if magic != _ORIGINS_MAGIC or count > end:
        return None
    return [flag == 1 for flag in bytes(call[end - count:end])]


def unpack(call: Data) -> tuple[bytes, memoryview]:
    """The callable and the arguments, pickled. Raises ValueError for anything else."""
    if len(call) < HEAD.size:
        raise ValueError("this is no pickled call")
    magic, length, _ = HEAD.unpack_from(call)
    length &= ~FLAGS
    if magic != MAGIC or len(call) < HEAD.size + length:
        raise ValueError("this is no pickled call, or one of another version of the package")
    end = HEAD.size + length
    return bytes(call[HEAD.size:end]), memoryview(call)[end:]


def output_in_bytes(call: Data, in_json: bool) -> bool:
    """Whether the output of a call, as it was sent, may be bytes."""
    return bool(_flags(call, in_json) & OUTPUT_IN_BYTES)


def output_as_blob(call: Data, in_json: bool) -> bool:
    """Whether the output of a call, as it was sent, may be a blob."""
    return bool(_flags(call, in_json) & OUTPUT_AS_BLOB)


def _flags(call: Data, in_json: bool) -> int:
    """The flags of a call, among the bits of its callable's length; 0: it is none."""
    head = bytes(call[:2 + 4 * HEAD.size // 3])
    if in_json:
        if not head.startswith(b'["' + base64.b64encode(MAGIC[:3])):
            return 0
        head = base64.b64decode(head[2:])
    if len(head) < HEAD.size or not head.startswith(MAGIC):
        return 0
    return int(HEAD.unpack_from(head)[1])


def load_arguments(arguments: memoryview, values: list[Any] | None,
                   blob: buffers.Open | None = None) -> Any:
    """The pair of positional and keyword arguments, with `values` in the slots."""
    if values is None:
        return buffers.load(arguments, blob)
    _filling.values = values
    try:
        return buffers.load(arguments, blob)
    finally:
        _filling.values = None


def name_of(function: Any) -> str:
    """For people."""
    return getattr(function, "__qualname__", None) or repr(function)
