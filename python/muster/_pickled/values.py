"""Encodes the outputs of functions as JSON, so that closures in any language can use them as arguments.

Values that JSON represents exactly are written as plain JSON, which people and other languages can read. These values
are None, bool, str, 64-bit integers, finite floats, and small lists and str-keyed dicts of such values. All other values
are pickled, in one of three forms:

- As JSON: ``{"$pickle": "<base64>"}``.
- As bytes, if no other closure can use the value as an argument.
- As a blob, if the pickle is large. The JSON is then ``{"$blob": "<SHA-256>", "bytes": N, "text": "<description>"}``.

The first two forms also contain the description, at the end of the pickle; see `shown`. Without a description, "text" is
missing.

The forms with `$` represent a pickle only if they are the whole output of a pickled function, because any function can
return such JSON.
"""
from __future__ import annotations

import base64
import json
import math
from typing import Any, Callable

from muster._pickled import buffers, shown
from muster._pickled.buffers import Data
from muster._pickled.calls import BLOB_MIN, dump
from muster._wire.messages import BYTES, INPUT_JSON, INPUT_PICKLE, JSON

PICKLED = "$pickle"
_PREFIX = b'{"$pickle":"'
BLOB = "$blob"
_BLOB_PREFIX = b'{"$blob":"'
Keep = Callable[[list[Data]], bytes]
"""Stores concatenated parts as a blob and returns the blob's SHA-256."""
NODES_MAX = 256
"""Maximum number of nodes in plain JSON. Larger structures are pickled, which is faster than checking each part."""

_write_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _nodes(value: Any, left: int) -> int:
    """Counts the nodes of a value and returns how many of `left` nodes remain. Returns a negative number if JSON cannot
    represent the value exactly.
    """
    kind = type(value)
    left -= 1
    if kind is str:
        return left if value.isascii() or _is_utf8(value) else -1
    if value is None or kind is bool:
        return left
    if kind is int:
        return left if -(1 << 63) <= value < (1 << 63) else -1
    if kind is float:
        return left if math.isfinite(value) else -1
    if kind is list:
        for item in value:
            left = _nodes(item, left)
            if left < 0:
                return -1
        return left
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or key.startswith("$") or not _is_utf8(key):
                return -1
            left = _nodes(item, left)
            if left < 0:
                return -1
        return left
    return -1


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode(value: Any, in_bytes: bool = False, keep: Keep | None = None,
           take: buffers.Take | None = None, reads_text: bool = True) -> tuple[bytes, int]:
    """Returns the encoded output and its encoding: JSON text, or a pickle if JSON cannot represent the output and
    `in_bytes` allows it.

    `keep` stores a large output as a blob, and `take` stores each large part as a blob. `reads_text` states whether the
    client accepts a description in the JSON of a blob. Raises the exceptions of
    pickling and of these functions.
    """
    if value is None:
        return b"null", JSON
    if type(value) is int and -(1 << 63) <= value < (1 << 63):
        return b"%d" % value, JSON
    if _nodes(value, NODES_MAX) >= 0:
        return _write_json(value).encode(), JSON
    parts = dump(value, take)
    described = shown.of_value(value)
    if keep is not None:
        size = sum(len(p) if isinstance(p, bytes) else p.nbytes for p in parts)
        if size > BLOB_MIN:
            text = b',"text":' + _write_json(described).encode() if described and reads_text else b""
            return b'{"$blob":"%s","bytes":%d%s}' % (keep(parts).hex().encode(), size, text), JSON
    pickled = b"".join((*parts, shown.tail(described)))
    if in_bytes:
        return pickled, BYTES
    return b"".join((_PREFIX, base64.b64encode(pickled), b'"}')), JSON


def decode(text: Data, blob: buffers.Open | None = None) -> Any:
    """Returns the value of the JSON output of a pickled function.

    The JSON as a whole may represent a pickle, so the function's code must be trusted. Nested values are plain JSON.
    """
    if text[:len(_PREFIX)] == _PREFIX and text[-2:] == b'"}':
        return buffers.load(base64.b64decode(memoryview(text)[len(_PREFIX):-2]))
    return unpickled(decode_json(text), blob)


def decode_json(text: Data) -> Any:
    """Returns the value of JSON text from any source. Never unpickles."""
    return json.loads(str(text, "utf-8"))


def decode_input(value: Data, form: int, blob: buffers.Open, pickled: bool = False) -> Any:
    """Returns the value of an input that was sent separately from the bytes of the arguments. `pickled` is true if a
    pickled function has returned the input.
    """
    if form == INPUT_JSON:
        return decode(value, blob) if pickled else decode_json(value)
    return buffers.load(value, blob) if form == INPUT_PICKLE else bytes(value)


def unpickled(found: Any, blob: buffers.Open | None = None) -> Any:
    """Returns the value that a decoded JSON value represents; see `decode`."""
    if type(found) is dict:
        if len(found) == 1 and PICKLED in found:
            return buffers.load(base64.b64decode(found[PICKLED]))
        named = None if blob is None else blob_of(found)
        if named is not None and blob is not None:
            return buffers.load(blob(named))
    return found


def may_be_name(text: Data) -> bool:
    """Returns whether JSON text may represent a value that is stored as a blob."""
    return text[:len(_BLOB_PREFIX)] == _BLOB_PREFIX


def blob_of(found: dict[str, Any]) -> bytes | None:
    """Returns the SHA-256 of the blob that a JSON value represents, or None."""
    if BLOB in found and "bytes" in found and len(found) == 2 + ("text" in found):
        try:
            return bytes.fromhex(found[BLOB])
        except (TypeError, ValueError):
            pass
    return None
