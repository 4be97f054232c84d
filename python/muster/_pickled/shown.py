"""Formats a call's arguments, and the values that calls return, as short strings. The server shows these strings,
because it cannot read pickles.

Only built-in types are shown by value. Other values are shown by type, and arrays also by shape and element type. The
`__repr__` of such values is not called, because for a large table it can take longer than the closure itself.
Thread-safe.

The string is stored at the end of a call, before `calls.origins`: the string in UTF-8, its length (4 bytes), and
b"MPYR". A worker reads the string when the call has failed. Older workers ignore the string. A pickled value ends with
the same bytes, which unpickling ignores.
"""
from __future__ import annotations

import itertools
import struct
import types
from typing import Any, Callable, Mapping, Sequence

from muster._pickled.buffers import Data

MAX = 120
"""Maximum number of characters. A longer string is truncated and ends with an ellipsis."""
_ITEMS = 4
_DEPTH = 2
_STRING = 40
_BITS = 128
TAIL = struct.Struct("<I4s")
_MAGIC = b"MPYR"


def of_call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """Returns the bytes to append to a call. Returns empty bytes if the call has no arguments, or if the arguments
    change during this function.
    """
    if not args and not kwargs:
        return b""
    try:
        data = text(args, kwargs).encode("utf-8", "replace")
    except Exception:  # a call must not fail because of this text
        return b""
    return data + TAIL.pack(len(data), _MAGIC)


def of_value(value: Any) -> str:
    """Returns a description of a value. An array also shows its first elements, and a table shows its column names.
    Returns an empty string if the value changes during this function.
    """
    try:
        found = _value(value) + _beginning(value)
        found.encode()
    except Exception:  # a call must not fail because of this text
        return ""
    return found if len(found) <= MAX else f"{found[:MAX - 1]}…"


def tail(text: str) -> bytes:
    """Returns the bytes to append to a pickle."""
    data = text.encode()
    return data + TAIL.pack(len(data), _MAGIC) if data else b""


def _beginning(value: Any) -> str:
    of = type(value)
    module = of.__module__.partition(".")[0]
    if module == "numpy" and of.__name__ == "ndarray" and value.dtype.kind in "biufc" and value.size:
        first = [f"{x:.6g}" if type(x) is float else repr(x) for x in value.flat[:_ITEMS].tolist()]
        return f" [{', '.join(first)}{', …' if value.size > _ITEMS else ''}]"
    if module == "pandas" and of.__name__ == "DataFrame":
        names = [str(name) for name in value.columns[:_ITEMS]]
        return f" with {', '.join(names)}{', …' if len(value.columns) > _ITEMS else ''}" if names else ""
    return ""


def in_call(call: Data) -> str:
    """Returns the string that `of_call` has added to a call, or an empty string."""
    end = len(call)
    for magic in (b"MPYI", _MAGIC):  # the first part may be missing
        if end < TAIL.size:
            return ""
        size, found = TAIL.unpack_from(call, end - TAIL.size)
        if found != magic:
            continue
        begin = end - TAIL.size - size
        if begin < 0:
            return ""
        if magic == _MAGIC:
            return str(memoryview(call)[begin:end - TAIL.size], "utf-8", "replace")
        end = begin
    return ""


def text(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Returns the arguments in source form, as between the parentheses of a call."""
    found = ""
    for part in itertools.chain(map(_value, args), (f"{name}={_value(value)}" for name, value in kwargs.items())):
        found = f"{found}, {part}" if found else part
        if len(found) > MAX:
            return found[:MAX - 1] + "…"
    return found


def _value(value: Any, depth: int = 0) -> str:
    show = _OWN.get(type(value))
    return _of_type(value) if show is None else show(value, depth)


def _number(value: Any, depth: int) -> str:
    return repr(value)


def _int(value: int, depth: int) -> str:
    bits = value.bit_length()
    return repr(value) if bits <= _BITS else f"<int of {bits} bits>"


def _string(value: str, depth: int) -> str:
    return repr(value) if len(value) <= _STRING else f"{value[:_STRING]!r}…"


def _bytes(value: bytes, depth: int) -> str:
    return repr(bytes(value)) if len(value) <= _STRING // 2 else f"<{type(value).__name__} of {len(value)}>"


def _items(begin: str, end: str) -> Callable[[Any, int], str]:
    def show(value: Any, depth: int) -> str:
        if depth == _DEPTH and value:
            return f"{begin}…{end}"
        shown = [_value(item, depth + 1) for item in itertools.islice(value, _ITEMS)]
        if len(value) > _ITEMS:
            shown.append(f"… {len(value)} in all")
        return f"{begin}{', '.join(shown)}{',' if begin == '(' and len(value) == 1 else ''}{end}"
    return show


def _dict(value: dict[Any, Any], depth: int) -> str:
    if depth == _DEPTH and value:
        return "{…}"
    shown = [f"{_value(key, depth + 1)}: {_value(item, depth + 1)}"
             for key, item in itertools.islice(value.items(), _ITEMS)]
    if len(value) > _ITEMS:
        shown.append(f"… {len(value)} in all")
    return "{" + ", ".join(shown) + "}"


def _named(value: Any, depth: int) -> str:
    return str(getattr(value, "__qualname__", type(value).__name__))


def _of_type(value: Any) -> str:
    of = type(value)
    if of.__module__.partition(".")[0] in _WITH_SHAPES:
        try:
            shape, element = value.shape, getattr(value, "dtype", "")
            return f"{of.__name__}({'x'.join(map(str, shape)) or 'scalar'}{f' {element}' if str(element) else ''})"
        except Exception:  # the class has no shape, or the shape is unknown
            pass
    return f"<{of.__qualname__}>"


_WITH_SHAPES = {"numpy", "torch", "jax", "jaxlib", "tensorflow", "cupy", "pandas", "polars", "pyarrow", "scipy"}
_OWN: dict[type, Callable[[Any, int], str]] = {
    int: _int, float: _number, bool: _number, complex: _number, type(None): _number, str: _string,
    bytes: _bytes, bytearray: _bytes, list: _items("[", "]"), tuple: _items("(", ")"), dict: _dict,
    set: _items("{", "}"), frozenset: _items("{", "}"), type: _named, types.FunctionType: _named,
    types.BuiltinFunctionType: _named}
