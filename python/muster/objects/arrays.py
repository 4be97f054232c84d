"""Wire format of the arrays that calls of objects contain. Every language can read the format, because it contains no
pickles. Each length is checked before it is used. All numbers are little endian::

    8 bytes  b"\\x93ARRAYS\\x01"
    u32      count
    count x  u8 and the name of the dtype, u8 dimensions (0 to 8), u64 each, u64 bytes of data
    count x  data in C order, from a multiple of 16 on

A string has the dtype "utf8" and one dimension. None has the dtype "none" and no data.

If large data can be stored outside the message (see `muster.objects.large`), the magic number ends in \\x02. After the
data length of each array, a u8 then contains the length of a name, 0 or 32. The name follows, and replaces the data.
"""
from __future__ import annotations

import mmap
import operator
import struct
from typing import Any, NamedTuple, Sequence

from muster._pickled import buffers

MAGIC = b"\x93ARRAYS\x01"
MAGIC_ELSEWHERE = b"\x93ARRAYS\x02"
ALIGNMENT = 16
NAME = 32
COUNT_MAX = 1000
DIMENSIONS_MAX = 8
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
          "float32", "float64", "complex64", "complex128")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Encoded(NamedTuple):
    """The result of a method that was encoded while the method ran."""

    data: bytes


def numpy() -> Any:
    """Returns the numpy module. Raises ImportError with the reason why numpy is needed."""
    try:
        import numpy
    except ImportError as error:
        raise ImportError("variables need numpy, which this process does not have: pip install numpy") from error
    return numpy


def integer(field: str, value: Any) -> int:
    """Converts a value to an integer. Raises TypeError with the name of the field."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{field}: {value!r} is not an integer") from None


def is_arrays(data: Any) -> bool:
    return bytes(data[:len(MAGIC)]) in (MAGIC, MAGIC_ELSEWHERE)


def may_be_elsewhere(data: Any) -> bool:
    return bytes(data[:len(MAGIC)]) == MAGIC_ELSEWHERE


def encode(values: Sequence[Any], take: buffers.Take | None = None, above: int = 0) -> bytes:
    """Encodes arrays, scalars, strings and None in the wire format. `take` stores data of more than `above` bytes
    outside the message and returns a name. Raises TypeError if a dtype is not supported, or an exception of `take`.
    """
    head = [MAGIC if take is None else MAGIC_ELSEWHERE, _U32.pack(len(values))]
    parts: list[Any] = []
    for value in values:
        name, shape, data = _described(value)
        size = _size(data)
        head.append(bytes((len(name),)) + name.encode() + bytes((len(shape),)) +
                    b"".join(map(_U64.pack, shape)) + _U64.pack(size))
        if take is not None:
            kept = take(data) if size > above else b""
            head.append(bytes((len(kept),)) + kept)
            data = b"" if kept else data
        parts.append(data)
    at = sum(map(len, head))
    for data in parts:
        padding = -at % ALIGNMENT
        head += (bytes(padding), data)
        at += padding + _size(data)
    return b"".join(head)


def _size(data: Any) -> int:
    return data.nbytes if isinstance(data, memoryview) else len(data)


def _described(value: Any) -> tuple[str, tuple[int, ...], Any]:
    if value is None:
        return "none", (), b""
    if isinstance(value, str):
        text = value.encode()
        return "utf8", (len(text),), text
    np = numpy()
    array = np.asarray(value)
    if array.dtype.name not in DTYPES:
        raise TypeError(f"an array of dtype {array.dtype} cannot be sent; supported dtypes are {', '.join(DTYPES)}")
    if array.ndim > DIMENSIONS_MAX:
        raise TypeError(f"an array of {array.ndim} dimensions cannot be sent; the limit is {DIMENSIONS_MAX}")
    shape = array.shape  # ascontiguousarray adds a dimension to scalars
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return array.dtype.name, shape, memoryview(array.reshape(-1).view(np.uint8)) if array.size else b""


class _Reader:
    def __init__(self, data: Any) -> None:
        self.view = memoryview(data)
        self.at = 0

    def take(self, size: int, field: str) -> memoryview:
        if size > len(self.view) - self.at:
            raise ValueError(f"arrays: {field}: {size} bytes needed at offset {self.at}, but the data has only "
                             f"{len(self.view)}")
        self.at += size
        return self.view[self.at - size:self.at]

    def u8(self, field: str) -> int:
        return self.take(1, field)[0]

    def u64(self, field: str) -> int:
        return int(_U64.unpack(self.take(8, field))[0])


class _Head(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    size: int
    name: bytes


def decode(data: Any, copies: bool = False, open: buffers.Open | None = None) -> list[Any]:
    """Decodes arrays, strings and None from the wire format.

    Arrays are read-only views of `data` or, with `copies`, writable copies. For data that is stored outside the
    message, the returned array is a writable view of the shared memory. Raises ValueError with the name of the field,
    or an exception of `open`.
    """
    r = _Reader(data)
    heads = _heads(r)
    return [_value(r, f"array {i}", head, copies, open) for i, head in enumerate(heads)]


def names_of(data: Any) -> list[bytes]:
    """Returns the names of data that is stored outside the message. Raises ValueError if `data` is invalid."""
    return [head.name for head in _heads(_Reader(data)) if head.name]


def is_mapped(array: Any) -> bool:
    """Returns whether the array's data is a memory mapping that no other array in this process uses."""
    base = array
    while base is not None and not isinstance(base, memoryview):
        base = getattr(base, "base", None)
    return isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap)


def _heads(r: _Reader) -> list[_Head]:
    magic = bytes(r.take(len(MAGIC), "magic"))
    if magic not in (MAGIC, MAGIC_ELSEWHERE):
        raise ValueError("arrays: magic: these bytes are not encoded arrays")
    count = int(_U32.unpack(r.take(4, "count"))[0])
    if count > COUNT_MAX:
        raise ValueError(f"arrays: count: {count}, the limit is {COUNT_MAX}")
    return [_head(r, f"array {i}", magic == MAGIC_ELSEWHERE) for i in range(count)]


def _head(r: _Reader, field: str, named: bool) -> _Head:
    raw = bytes(r.take(r.u8(f"{field}: dtype"), f"{field}: dtype"))
    name = raw.decode("ascii", "replace")
    if name not in DTYPES and name not in ("utf8", "none"):
        raise ValueError(f"arrays: {field}: dtype: unsupported {name!r}")
    dimensions = r.u8(f"{field}: dimensions")
    if dimensions > DIMENSIONS_MAX:
        raise ValueError(f"arrays: {field}: dimensions: {dimensions}, the limit is {DIMENSIONS_MAX}")
    shape = tuple(r.u64(f"{field}: shape") for _ in range(dimensions))
    size = r.u64(f"{field}: bytes")
    length = r.u8(f"{field}: name") if named else 0
    if length not in (0, NAME):
        raise ValueError(f"arrays: {field}: name: must have {NAME} bytes, got {length}")
    return _Head(name, shape, size, bytes(r.take(length, f"{field}: name")))


def _value(r: _Reader, field: str, head: _Head, copies: bool, open: buffers.Open | None) -> Any:
    name, shape, size, elsewhere = head
    count = 1
    for n in shape:
        count *= n  # the count can be very large, so it is only compared
    if name in ("utf8", "none"):
        good = size == count and len(shape) == 1 if name == "utf8" else size == 0
        np = dtype = None
    else:
        np = numpy()
        dtype = np.dtype(name).newbyteorder("<")
        good = size == count * dtype.itemsize
    if not good:
        raise ValueError(f"arrays: {field}: bytes: {size} does not match dtype {name} and shape {shape}")
    if elsewhere:
        if open is None:
            raise ValueError(f"arrays: {field}: name: arrays stored under a name are not supported here")
        raw, copies = memoryview(open(elsewhere)), False
        if raw.nbytes != size:
            raise ValueError(f"arrays: {field}: bytes: {size}, but the named data has {raw.nbytes}")
    else:
        if size:
            r.take(-r.at % ALIGNMENT, f"{field}: padding")
        raw = r.take(size, f"{field}: data")
    if np is None:
        return str(raw, "utf-8") if name == "utf8" else None
    if not count and max(shape) > 1 << 40:
        raise ValueError(f"arrays: {field}: shape: {shape}")
    array = np.frombuffer(raw, np.uint8 if name == "bool" else dtype)
    if name == "bool":
        if array.size and array.max() > 1:
            raise ValueError(f"arrays: {field}: data: a bool must be 0 or 1")
        array = array.view(np.bool_)
    array = array.reshape(shape)
    return array.copy() if copies else array


def answer_of(data: Any, open: buffers.Open | None = None) -> Any:
    """Returns the result of a method: a single array, or a list of several arrays."""
    values = decode(data, copies=True, open=open)
    return values[0] if len(values) == 1 else values
