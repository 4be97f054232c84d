"""Pickles with separate large buffers (protocol 5). An array is copied only once when it is sent and once when it is
received.

A value has one of three formats, with numbers in little-endian order:

- If no buffer has ASIDE_MIN bytes or more: a plain pickle.
- If no part is a blob: b"MPB5", the number of buffers (4 bytes), the length of the pickle (8 bytes), the offset and the
  length of each buffer (8 bytes each), the pickle, and the buffers.
- If large parts are blobs: b"MPB6", the number of parts (4 bytes), an entry for each part, and the parts that are not
  blobs. The parts are the pickle and its buffers. An entry contains the offset of the part (8 bytes; ELSEWHERE for a
  blob), its length (8 bytes) and the blob's SHA-256 (32 bytes).
"""
from __future__ import annotations

import pickle
import struct
from typing import Any, Callable, Union

from muster._pickled.unpicklers import loads

ASIDE_MIN = 16 << 10
"""Minimum size of a separate buffer."""
ALIGNMENT = 64
MAGIC = b"MPB5"
_HEAD = struct.Struct("<4sIQ")
_PLACE = struct.Struct("<QQ")

ELSEWHERE = (1 << 64) - 1
SHARED = b"MPB6"
_SHARED_HEAD = struct.Struct("<4sI")
_SHARED_PLACE = struct.Struct("<QQ32s")

Data = Union[bytes, memoryview]
Take = Callable[[Data], bytes]
"""Stores bytes as a blob and returns the blob's SHA-256."""
Open = Callable[[bytes], memoryview]
"""Returns the bytes of a blob. The caller may change these bytes; no other code writes to them."""


def parts(value: Any, dumps: Callable[..., bytes]) -> tuple[bytes, list[memoryview]]:
    """Pickles a value. Returns the pickle and its separate buffers.

    The buffers share memory with `value`, so they must be joined before the value changes. `dumps` is a function of
    pickle or cloudpickle; its exceptions propagate.
    """
    aside: list[memoryview] = []
    return dumps(value, protocol=5, buffer_callback=lambda b: _goes_in(b, aside)), aside


def framed(data: bytes, aside: list[memoryview], take: Take | None = None,
           above: int = 0, always: bool = False) -> list[Data]:
    """Frames the pickled bytes and their separate buffers, and returns the parts in sending order. Parts of more than
    `above` bytes are passed to `take` instead.

    If `always` is set, the format for blobs is used even if no part is a blob.
    """
    if take is None or not (always or max(len(data), *(raw.nbytes for raw in aside), 0) > above):
        return _framed(data, aside) if aside else [data]
    all_parts: list[Data] = [data, *aside]
    made: list[Data] = [_SHARED_HEAD.pack(SHARED, len(all_parts))]
    at = _SHARED_HEAD.size + _SHARED_PLACE.size * len(all_parts)
    inline: list[Data] = []
    for part in all_parts:
        size = len(part) if isinstance(part, bytes) else part.nbytes
        if size > above:
            made.append(_SHARED_PLACE.pack(ELSEWHERE, size, take(part)))
            continue
        padding = -at % ALIGNMENT
        made.append(_SHARED_PLACE.pack(at + padding, size, b""))
        inline += (bytes(padding), part)
        at += padding + size
    return made + inline


def _goes_in(buffer: pickle.PickleBuffer, aside: list[memoryview]) -> bool:
    try:
        raw = buffer.raw()
    except BufferError:  # the buffer is not contiguous
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


def load(data: Data, blob: Open | None = None) -> Any:
    """Unpickles a value. The arrays in the value are writable, unless the pickled arrays were read-only.

    Raises the exceptions of unpickling and of `blob`, and ValueError or struct.error for truncated bytes.
    """
    view = memoryview(data)
    if view[:len(SHARED)] == SHARED:
        return _load_shared(view, blob)
    if view[:len(MAGIC)] != MAGIC:
        return loads(view)
    _, count, length = _HEAD.unpack_from(view)
    at = _HEAD.size + _PLACE.size * count
    buffers = []
    for offset, size in _PLACE.iter_unpack(view[_HEAD.size:at]):
        if offset + size > len(view):
            raise ValueError("the buffers of the pickle are incomplete")
        # Bytes from gRPC are read-only, but functions may modify their arguments.
        part = view[offset:offset + size]
        buffers.append(bytearray(part) if view.readonly else part)
    return loads(view[at:at + length], buffers)


def names_of(data: Data) -> list[bytes]:
    """Returns the SHA-256 of each part that is a blob. Raises struct.error for truncated bytes."""
    view = memoryview(data)
    _, count = _SHARED_HEAD.unpack_from(view)
    end = _SHARED_HEAD.size + _SHARED_PLACE.size * count
    if end > len(view):
        raise struct.error("the offsets of the pickle's parts are incomplete")
    return [name for offset, _, name in _SHARED_PLACE.iter_unpack(view[_SHARED_HEAD.size:end]) if offset == ELSEWHERE]


def _load_shared(view: memoryview, blob: Open | None) -> Any:
    _, count = _SHARED_HEAD.unpack_from(view)
    end = _SHARED_HEAD.size + _SHARED_PLACE.size * count
    found: list[memoryview | bytearray] = []
    for offset, size, digest in _SHARED_PLACE.iter_unpack(view[_SHARED_HEAD.size:end]):
        if offset != ELSEWHERE:
            if offset + size > len(view):
                raise ValueError("the buffers of the pickle are incomplete")
            found.append(bytearray(view[offset:offset + size]))
            continue
        if blob is None:
            raise ValueError("blobs are not supported here")
        opened = blob(digest)
        if len(opened) != size:
            raise ValueError(f"a blob has {len(opened)} bytes, not {size}")
        found.append(opened)
    return loads(found[0], found[1:])
