"""Serializes and parses messages with a large bytes field. protobuf would copy such a field two more times in each
direction.
"""
from __future__ import annotations

from typing import Any, Sequence, Union

Data = Union[bytes, memoryview]

LARGE = 256 << 10
"""Minimum size of a message or value for which this code is faster than protobuf."""


def serialize(message: Any, name: str, value: Data) -> bytes:
    """Returns the serialized message with an additional value in the bytes field `name`."""
    head: bytes = message.SerializeToString()
    field = message.DESCRIPTOR.fields_by_name[name].number
    return b"".join((head, _varint(field << 3 | 2), _varint(len(value)), value))


def parse(message_class: Any, raw: bytes, name: str) -> tuple[Any, Sequence[Data]]:
    """Returns the parsed message and the values of the bytes field `name`. A large message is returned without this
    field, and large values are views of `raw`.
    """
    if len(raw) < LARGE:
        message = message_class.FromString(raw)
        return message, getattr(message, name)
    rest, values = _without(raw, message_class.DESCRIPTOR.fields_by_name[name].number)
    return message_class.FromString(rest), [bytes(v) if len(v) < LARGE else v for v in values]


def _without(raw: bytes, field: int) -> tuple[bytes, list[memoryview]]:
    """Returns the serialized message without one field, and the values of this field. Raises ValueError for invalid
    messages.
    """
    view = memoryview(raw)
    rest: list[memoryview] = []
    values: list[memoryview] = []
    at = kept = 0
    while at < len(raw):
        begin = at
        tag, at = _read_varint(raw, at)
        kind = tag & 7
        if kind == 0:
            _, at = _read_varint(raw, at)
        elif kind == 1:
            at += 8
        elif kind == 5:
            at += 4
        elif kind == 2:
            size, at = _read_varint(raw, at)
            if tag >> 3 == field:
                values.append(view[at:at + size])
                rest.append(view[kept:begin])
                kept = at + size
            at += size
        else:
            raise ValueError(f"the message contains a field of the unknown kind {kind}")
    if at != len(raw):
        raise ValueError("the message is truncated")
    rest.append(view[kept:])
    return b"".join(rest), values


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):  # ten bytes, as in protobuf
        if at == len(raw):
            raise ValueError("the message is truncated")
        byte = raw[at]
        number |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return number, at
    raise ValueError("the message contains an integer of more than 64 bits")
