"""Pickles with their large buffers beside them, as protocol 5 has it, so that arrays are copied once
into what is sent, and once out of it.

Bytes: a plain pickle, where nothing in it has ASIDE_MIN bytes; else b"MPB5", the number of buffers
(4 bytes), the length of the pickle (8), offset and length of each buffer (8 each, little endian),
the pickle, and the buffers.
"""
from __future__ import annotations

import pickle
import struct
from typing import Any, Callable, Union

ASIDE_MIN = 16 << 10
"""Bytes of a buffer that does not go into the pickle."""
ALIGNMENT = 64
MAGIC = b"MPB5"
_HEAD = struct.Struct("<4sIQ")
_PLACE = struct.Struct("<QQ")

Data = Union[bytes, memoryview]


def pickled(value: Any, dumps: Callable[..., bytes]) -> list[Data]:
    """Parts of the bytes. They share memory with `value`, and are to be joined before that changes.
    `dumps` is that of pickle or of cloudpickle, and so is what this raises."""
    aside: list[memoryview] = []
    data = dumps(value, protocol=5, buffer_callback=lambda b: _goes_in(b, aside))
    return _framed(data, aside) if aside else [data]


def _goes_in(buffer: pickle.PickleBuffer, aside: list[memoryview]) -> bool:
    try:
        raw = buffer.raw()
    except BufferError:  # it is not contiguous
        return True
    if raw.nbytes < ASIDE_MIN:
        return True
    aside.append(raw)
    return False


def _framed(data: bytes, aside: list[memoryview]) -> list[Data]:
    parts: list[Data] = [_HEAD.pack(MAGIC, len(aside), len(data))]
    at = _HEAD.size + _PLACE.size * len(aside) + len(data)
    places: list[bytes] = []
    buffers: list[Data] = []
    for raw in aside:
        padding = -at % ALIGNMENT
        places.append(_PLACE.pack(at + padding, raw.nbytes))
        buffers += (bytes(padding), raw)
        at += padding + raw.nbytes
    return [*parts, *places, data, *buffers]


def load(data: Data) -> Any:
    """The value. Arrays in it may be written to, unless the pickled one was read-only. Raises what
    unpickling raises, and ValueError or struct.error for bytes that are cut off."""
    view = memoryview(data)
    if view[:len(MAGIC)] != MAGIC:
        return pickle.loads(view)
    _, count, length = _HEAD.unpack_from(view)
    at = _HEAD.size + _PLACE.size * count
    buffers = []
    for offset, size in _PLACE.iter_unpack(view[_HEAD.size:at]):
        if offset + size > len(view):
            raise ValueError("the pickle's buffers are cut off")
        # What came from gRPC is read-only, and functions change their arguments.
        buffers.append(bytearray(view[offset:offset + size]))
    return pickle.loads(view[at:at + length], buffers=buffers)
