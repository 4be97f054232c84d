"""One call of an object, as its caller has it."""
from __future__ import annotations

import logging
from typing import Any, Callable, Optional, Sequence

from muster._pickled import buffers, values
from muster._wire.messages import JSON
from muster.errors import ClosureError
from muster.objects.large import Kept
from muster.variables import arrays

log = logging.getLogger("muster.session")

Of = tuple[str, str]
"""The task of an object, and what it is."""


class Call:
    __slots__ = ("number", "object", "method", "args", "ticket", "plain", "json", "answered", "raw", "encoding",
                 "value", "error", "waiters", "of", "kept", "views", "tries")

    def __init__(self, number: int, object: int, method: str, args: bytes, ticket: bytes,
                 plain: bool, of: Of, json: bool = False, kept: Sequence[Kept] = ()) -> None:
        self.number = number
        self.object = object
        self.method = method
        self.args = args
        self.ticket = ticket
        self.plain = plain
        """Its answer is arrays or JSON: whoever has the object cannot make this process run code."""
        self.json = json
        """Its arguments are JSON, and so is its answer, or bytes."""
        self.of = of
        self.answered = False
        self.raw: bytes = b""
        self.encoding = -1
        """-1: the answer is in `value`."""
        self.value: Any = None
        self.error: Optional[ClosureError] = None
        self.waiters: Optional[list[Callable[[], None]]] = None
        self.kept = kept
        """What its arguments name, until it is answered."""
        self.views: Optional[dict[bytes, memoryview]] = None
        """What its result names."""
        self.tries = 0


def run_all(callbacks: list[Callable[[], None]]) -> None:
    """Where answers are read: whatever one raises, the others are called and the session goes on."""
    for f in callbacks:
        try:
            f()
        except BaseException:  # the user's, also sys.exit
            log.exception("a callback of a RemoteValue has failed")


def decoded(call: Call, raw: bytes, encoding: int, open: Optional[buffers.Open]) -> Any:
    if call.json:
        from muster.objects import named

        return named.loads(raw) if encoding == JSON else raw
    if call.plain:
        return values.decode_json(raw) if encoding == JSON else arrays.answer_of(raw, open)
    if encoding == JSON:
        return values.decode(raw)
    return buffers.load(raw, open)
