"""A call of a pickled callable, encoded as the argument of the function that Python workers declare.

A call contains the following parts:

- b"MPY2".
- The length of the callable (4 bytes, little endian). If the highest bit is set, the output may be bytes, because no
  other closure uses the output as an argument.
- A byte with READS_TEXT. Earlier clients stored the limit of lost workers here, and workers ignored it.
- The pickled callable, or b"MPBC" and the SHA-256 of a blob that contains the pickled callable.
- The pickled pair of positional and keyword arguments, in the format of `buffers`.

Arguments can contain outputs of other closures and PerWorkerValues at any nesting depth. Pickling replaces these values
with numbered slots. Outputs have the numbers 0, 1, … in the list of the closure's inputs. Per-worker values have the
numbers -1, -2, …, counted from the end of this list. The values of the slots are sent separately. An older server
inserts values only into JSON; the call is then ``["<base64 of the bytes>", value of slot 0, value of slot 1, …, value of
slot -1]``.

A call with outputs ends with a list that marks the outputs of pickled functions, because only their JSON can represent
a pickle. The list consists of one byte for each output (1 for a pickled function), the number of outputs (4 bytes), and
b"MPYI". JSON of any other function is data, even if the JSON looks like a pickle. Older workers do not read this list.
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
READS_TEXT = 1 << 7
"""Marks calls of clients that accept a description in the JSON of a blob; see `values`."""
BLOB_MIN = 1 << 20
"""Size in bytes above which arguments, buffers and values are stored as blobs."""
CALLABLE_BLOB_MIN = 16 << 10
"""Size in bytes above which a callable is stored as a blob, which is uploaded once and sent to each worker once."""
CALLABLE = b"MPBC"
FUNCTION = "python:%d.%d" % sys.version_info[:2]
"""Name that workers of this Python version declare, because pickled functions contain byte code of one version."""
_ORIGINS = struct.Struct("<I4s")
_ORIGINS_MAGIC = b"MPYI"


_OF_PICKLING = (pickle.PicklingError, TypeError, ValueError, AttributeError)
"""Errors that are raised again with a longer message."""


class Slots(NamedTuple):
    """Closure outputs and per-worker values that a call's pickled arguments refer to by slot number."""

    outputs: list[Any]
    """Slots 0, 1, …"""
    of_workers: list[Any]
    """Slots -1, -2, …"""


class _Filling(threading.local):
    """State of the pickling or unpickling in progress on this thread."""

    found: Slots | None = None
    values: list[Any] | None = None
    inline = False
    """Whether outputs of closures are awaited and replaced by their values."""


_filling = _Filling()


def reduce_to_slot(value: Any, what: str, of_workers: bool = False) -> Any:
    """Returns the result of `__reduce__` for a RemoteValue or PerWorkerValues.

    Raises TypeError unless the arguments of a closure are being pickled.
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
    """Returns an error that names the argument that caused `error`, or None if several arguments may have caused it.

    Args:
        error: The exception that was raised when the arguments were pickled.
        of: The function name.
        args: Positional arguments.
        kwargs: Keyword arguments.
        item: For `map`, the number of the item to which the first element of `args` belongs.
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
    """Returns a message about a function's first variable that cannot be pickled. Returns "" if all variables can be
    pickled.
    """
    while isinstance(f, functools.partial):
        f = f.func
    try:
        f = inspect.unwrap(f)
        if not isinstance(f, types.FunctionType):
            return ""
        used = inspect.getclosurevars(f)
    except Exception:  # the function has circular wrappers or an empty cell
        return ""
    for name, value in {**used.globals, **used.nonlocals}.items():
        try:
            picklers.dumps(value)
        except Exception:
            return f"the function refers to the variable {name!r}, a {type(value).__name__}: "
    return ""


def same(value: Any) -> Any:
    return value


def slot_value(index: int) -> Any:
    """Returns the value of a slot. This function is called while a worker unpickles arguments."""
    values = _filling.values
    if values is None or not -len(values) <= index < len(values):
        raise pickle.UnpicklingError(f"value {index} of the arguments is missing")
    return values[index]


def dump(value: Any, take: buffers.Take | None = None, always: bool = False) -> list[Data]:
    """Pickles a value. Returns the parts of the pickle, which share memory with the value.

    Definitions in ``__main__`` are pickled by value, because workers do not have this module. `take` is called for each
    large part and stores the part as a blob. For `always`, see `framed`.
    """
    try:
        data, aside = buffers.parts(value, pickle.dumps)
        if not (b"__main__" in data or cloudpickle.list_registry_pickle_by_value()):
            return buffers.framed(data, aside, take, BLOB_MIN, always)
    except (pickle.PicklingError, TypeError, AttributeError):
        for found in _filling.found or ():
            found.clear()
    return buffers.framed(*buffers.parts(value, picklers.dumps), take, BLOB_MIN, always)


def dump_callable(function: Callable[..., Any]) -> bytes:
    """Returns the pickled callable. Raises TypeError if `function` is not callable or cannot be pickled."""
    if not callable(function):
        raise TypeError(f"schedule needs a callable, not {type(function).__name__}")
    try:
        return picklers.dumps(function)
    except Exception as error:
        raise TypeError(f"{name_of(function)} cannot be pickled: {_variable_of(function)}{error}") from error


def dump_arguments(args: tuple[Any, ...], kwargs: dict[str, Any],
                   take: buffers.Take | None = None) -> tuple[list[Data], Slots]:
    """Pickles a pair of arguments. Returns the parts of the pickle, and the values of its slots."""
    _filling.found = found = Slots([], [])
    try:
        return dump((args, kwargs), take), found
    finally:
        _filling.found = None


def dump_inline(args: tuple[Any, ...], kwargs: dict[str, Any], take: buffers.Take | None = None,
                always: bool = False) -> list[Data]:
    """Waits for the closure outputs in a call's arguments and pickles the arguments with the values of these outputs.
    Returns the parts of the pickle.

    Raises the errors of these outputs, TypeError if an argument cannot be pickled, and the exceptions of `take`.
    """
    _filling.inline = True
    try:
        return dump((args, kwargs), take, always)
    finally:
        _filling.inline = False


def pack(function: bytes, arguments: list[Data], output_in_bytes: bool = False,
         output_as_blob: bool = False) -> bytes:
    length = len(function) | (OUTPUT_IN_BYTES if output_in_bytes else 0)
    length |= OUTPUT_AS_BLOB if output_as_blob else 0
    return b"".join((HEAD.pack(MAGIC, length, READS_TEXT), function, *arguments))


def origins(pickled: list[bool]) -> bytes:
    """Returns the last part of a call, which marks the outputs of pickled functions."""
    return bytes(pickled) + _ORIGINS.pack(len(pickled), _ORIGINS_MAGIC)


def origins_of(call: Data) -> list[bool] | None:
    """Decodes the list that `origins` has added to a received call. Returns None if the call does not contain the list.
    """
    if len(call) < HEAD.size + _ORIGINS.size:
        return None
    count, magic = _ORIGINS.unpack_from(call, len(call) - _ORIGINS.size)
    end = len(call) - _ORIGINS.size
    if magic != _ORIGINS_MAGIC or count > end:
        return None
    return [flag == 1 for flag in bytes(call[end - count:end])]


def unpack(call: Data) -> tuple[bytes, memoryview]:
    """Returns the pickled callable and the pickled arguments of a call. Raises ValueError if the bytes are not a call.
    """
    if len(call) < HEAD.size:
        raise ValueError("this is not a pickled call")
    magic, length, _ = HEAD.unpack_from(call)
    length &= ~FLAGS
    if magic != MAGIC or len(call) < HEAD.size + length:
        raise ValueError("this is not a pickled call, or it was pickled by another version of the package")
    end = HEAD.size + length
    return bytes(call[HEAD.size:end]), memoryview(call)[end:]


def output_in_bytes(call: Data, in_json: bool) -> bool:
    """Returns whether the output of a received call may be encoded as bytes."""
    return bool(_head(call, in_json)[0] & OUTPUT_IN_BYTES)


def output_as_blob(call: Data, in_json: bool) -> bool:
    """Returns whether the output of a received call may be stored as a blob."""
    return bool(_head(call, in_json)[0] & OUTPUT_AS_BLOB)


def reads_text(call: Data, in_json: bool) -> bool:
    """Returns whether the client of a received call accepts a description in the JSON of a blob."""
    return bool(_head(call, in_json)[1] & READS_TEXT)


def _head(call: Data, in_json: bool) -> tuple[int, int]:
    """Returns the callable's length, whose high bits are flags, and the byte after it. Returns zeros if the bytes are
    not a call.
    """
    head = bytes(call[:2 + 4 * HEAD.size // 3])
    if in_json:
        if not head.startswith(b'["' + base64.b64encode(MAGIC[:3])):
            return 0, 0
        head = base64.b64decode(head[2:])
    if len(head) < HEAD.size or not head.startswith(MAGIC):
        return 0, 0
    _, length, marks = HEAD.unpack_from(head)
    return length, marks


def load_arguments(arguments: memoryview, values: list[Any] | None,
                   blob: buffers.Open | None = None) -> Any:
    """Unpickles the pair of positional and keyword arguments and inserts `values` into the slots."""
    if values is None:
        return buffers.load(arguments, blob)
    _filling.values = values
    try:
        return buffers.load(arguments, blob)
    finally:
        _filling.values = None


def name_of(function: Any) -> str:
    """Returns the name of a function for use in messages."""
    return getattr(function, "__qualname__", None) or repr(function)
