"""A single call of an object, as stored by its caller."""
from __future__ import annotations

import logging
from typing import Any, Callable, NamedTuple, Sequence

from muster._pickled import buffers, values
from muster._wire.messages import JSON
from muster.errors import ClosureError
from muster.objects import arrays

log = logging.getLogger("muster.session")

Of = tuple[str, str]
"""The task of an object, and its description."""


class Kept(NamedTuple):
    """Memory that this process keeps for a call."""

    name: bytes
    size: int
    content: Any


class Call:
    __slots__ = ("number", "object", "method", "args", "ticket", "plain", "loads", "answered", "raw", "encoding",
                 "value", "error", "waiters", "of", "kept", "views", "tries")

    def __init__(self, number: int, object: int, method: str, args: bytes, ticket: bytes,
                 plain: bool, of: Of, loads: Callable[[bytes], Any] | None = None,
                 kept: Sequence[Kept] = ()) -> None:
        self.number = number
        self.object = object
        self.method = method
        self.args = args
        self.ticket = ticket
        self.plain = plain
        """Whether the answer must be arrays or JSON, so that the object's process cannot make this process run code."""
        self.loads = loads
        """Decodes the answer of a call with JSON arguments. None if the answer has a different encoding."""
        self.of = of
        self.answered = False
        self.raw: bytes = b""
        self.encoding = -1
        """Encoding of `raw`, or -1 if the answer is in `value`."""
        self.value: Any = None
        self.error: ClosureError | None = None
        self.waiters: list[Callable[[], None]] | None = None
        self.kept = kept
        """Memory that the arguments refer to, until the call is answered."""
        self.views: dict[bytes, memoryview] | None = None
        """Memory that the result refers to."""
        self.tries = 0


def run_all(callbacks: list[Callable[[], None]]) -> None:
    """Runs all callbacks on the thread that reads answers. Exceptions are logged, so that an exception stops neither
    the other callbacks nor the session.
    """
    for f in callbacks:
        try:
            f()
        except BaseException:  # user code can raise anything, including SystemExit
            log.exception("a callback of a RemoteValue raised an exception")


def decoded(call: Call, raw: bytes, encoding: int, open: buffers.Open | None) -> Any:
    if call.loads is not None:
        return call.loads(raw) if encoding == JSON else raw
    if call.plain:
        return values.decode_json(raw) if encoding == JSON else arrays.answer_of(raw, open)
    if encoding == JSON:
        return values.decode(raw)
    return buffers.load(raw, open)
