"""Large arguments and results of calls, which remain in the memory of the process that created them. Processes on the
same host map this memory. All other processes fetch the data with a ticket, or from the server. As with closures, a
call contains only the names of its large data.

A call of METHOD asks whether the process of an object supports large data. The request is sent once, before the first
large call. The worker answers immediately, without waiting for other calls of the object. Calls of METHOD also report
received results, so that the memory of these results can be released.

    add --large arguments, `kept`--> answered: released
    answered with names --take, on another thread--> received, reported by METHOD
                              └── lost: reads of variables are repeated, other calls fail as UNAVAILABLE

Never imports grpc. Functions can be called on any thread.
"""
from __future__ import annotations

import collections
import logging
import struct
import threading
from typing import Any, Callable, Protocol, Sequence

from muster._pickled import buffers
from muster._pickled.buffers import Data
from muster._pickled.calls import BLOB_MIN
from muster._wire.messages import BYTES
from muster.errors import ClosureError, FailureKind, WaitTimeout
from muster.objects import arrays, reasons
from muster.objects.call import Call, Kept, Of

log = logging.getLogger("muster.session")

METHOD = "muster.large"
"""Name of a special method. No class has this method, because method names cannot contain a dot. The arguments are the
numbers of the caller's calls whose results have been received, 8 bytes each.
"""
MIN = BLOB_MIN
ASK_WITHIN = 1.0
"""Seconds that the first large call of each object waits for the answer of METHOD."""
ASKED_MAX = 10_000
"""Maximum number of objects whose answer is stored. All other objects are asked again."""
TRIES = 3
"""Maximum number of attempts of a read whose result is lost before it is received."""
BYTES_MAX = 1 << 30
"""Maximum number of bytes that are kept for unanswered calls. Beyond this limit, callers wait."""
SETTLE_WITHIN = 1.0
"""Seconds within which calls must be answered at the end of this process. After this time, the arguments are stored on
the server, because they must outlive this process.
"""
_NUMBER = struct.Struct("<Q")
_MARKS = (arrays.MAGIC_ELSEWHERE, buffers.SHARED)


class Memory(Protocol):
    """Shared memory that this process owns."""

    def keep(self, data: Data) -> Kept:
        """Copies data into shared memory. Raises OSError, ValueError or ClosureError if there is no room."""

    def let_go(self, kept: Kept) -> None:
        """Releases a copy. Does not block."""

    def put(self, kept: Kept) -> None:
        """Stores a copy on the server and waits until the copy is stored. Raises OSError if the copy cannot be stored.
        """

    def open(self, name: bytes) -> memoryview:
        """Returns the bytes with this name, as a writable view. Can raise any exception."""


class NotKept(Exception):
    """Raised if the arguments must be sent as a whole."""


def is_marked(data: Data) -> bool:
    """Returns whether arguments or a result can refer to data outside the message. A caller that has sent such
    arguments also accepts such a result.
    """
    return bytes(data[:8]).startswith(_MARKS)


def names_of(data: Data) -> list[bytes]:
    """Returns the names of data that is stored outside the message. Raises ValueError or struct.error if `data` is
    invalid.
    """
    return arrays.names_of(data) if arrays.may_be_elsewhere(data) else buffers.names_of(data)


def numbers(args: bytes) -> list[int]:
    """Returns the call numbers in the arguments of a call of METHOD."""
    return [n for n, in _NUMBER.iter_unpack(args[:len(args) // _NUMBER.size * _NUMBER.size])]


class Keeping:
    """Stores the large arguments of a call."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.kept: list[Kept] = []

    def take(self, data: Data) -> bytes:
        try:
            self.kept.append(self._memory.keep(data))
        except (OSError, ValueError, ClosureError) as error:
            raise NotKept(str(error)) from error
        return self.kept[-1].name

    def undo(self) -> None:
        for one in self.kept:
            self._memory.let_go(one)
        self.kept = []


class Caller(Protocol):
    """Makes calls of objects; see `Calls`."""

    def add(self, object: int, method: str, args: bytes, ticket: bytes, waits: bool = True, plain: bool = False,
            of: Of = ("", "")) -> Call: ...

    def call_again(self, call: Call) -> bool: ...

    def finish(self, call: Call, error: ClosureError | None = None) -> None: ...

    def wait(self, call: Call, timeout: float | None) -> None: ...

    def when_answered(self, call: Call, f: Callable[[], None]) -> None: ...


class Large:
    """The large arguments and results of a caller."""

    def __init__(self, calls: Caller, memory: Callable[[], Memory | None]) -> None:
        """`memory` returns None if this process does not share memory."""
        self._calls = calls
        self._memory = memory
        self._lock = threading.Lock()  # protects all below
        self._asked: collections.OrderedDict[int, Call] = collections.OrderedDict()
        self._slow: set[int] = set()

    def keeping(self, object: int, ticket: bytes, of: Any, asks: bool = True) -> Keeping | None:
        """Returns the storage for the arguments of a call of this object, or None if the call must be sent as a whole.
        With `asks`, the object's process is asked if its answer is unknown, which takes some time.
        """
        if not asks and object not in self._asked:
            return None
        memory = self._memory()
        return Keeping(memory) if memory is not None and self._is_known(object, ticket, of, asks) else None

    def ask(self, object: int, ticket: bytes, of: Any) -> Call | None:
        """Asks the object's process whether it supports large values, so that the answer is known for the next call."""
        with self._lock:
            asked = self._asked.get(object)
        if asked is not None or self._memory() is None:
            return asked
        asked = self._calls.add(object, METHOD, b"", ticket, waits=False, plain=True, of=of)
        with self._lock:
            if len(self._asked) >= ASKED_MAX:
                self._slow.discard(self._asked.popitem(last=False)[0])
            return self._asked.setdefault(object, asked)

    def _is_known(self, object: int, ticket: bytes, of: Any, asks: bool) -> bool:
        asked = self._asked.get(object)
        if asked is None and asks:
            asked = self.ask(object, ticket, of)
        if asked is None:
            return False
        if not asked.answered and asks and object not in self._slow:
            try:
                self._calls.wait(asked, ASK_WITHIN)
            except (WaitTimeout, RuntimeError):  # RuntimeError: this thread processes answers
                with self._lock:
                    self._slow.add(object)
        return asked.answered and asked.error is None

    def take(self, call: Call) -> None:
        """Fetches the memory that a result refers to, and marks the call as answered. A call whose memory is lost can
        be repeated first. Runs on a separate thread.
        """
        try:
            memory = self._memory()
            if memory is None:
                raise OSError("this process does not use shared memory")
            views = {name: memory.open(name) for name in names_of(call.raw)}
        except Exception as error:
            log.info("a result of %s is requested again: %s", call.method, error)
            self._gone(call)
            return
        try:
            self._calls.add(call.object, METHOD, _NUMBER.pack(call.number), call.ticket, waits=False, plain=True,
                            of=call.of)
        except ClosureError:
            pass  # the caller's session has ended
        call.views = views
        self._calls.finish(call)

    def _gone(self, call: Call) -> None:
        if self._calls.call_again(call):
            return
        try:  # a call to the same object reveals whether its task was lost
            asked = self._calls.add(call.object, METHOD, b"", call.ticket, waits=False, plain=True, of=call.of)
        except ClosureError as over:
            return self._calls.finish(call, over)
        self._calls.when_answered(asked, lambda: self._calls.finish(call, _said(asked) or reasons.result_gone(call)))

    def let_go(self, kept: Sequence[Kept]) -> None:
        memory = self._memory()
        if memory is not None:
            for one in kept:
                memory.let_go(one)

    def put(self, kept: Sequence[Kept]) -> None:
        memory = self._memory()
        for one in kept if memory is not None else ():
            try:
                memory.put(one)  # type: ignore[union-attr]
            except OSError as error:
                log.warning("an argument of a call will be lost when this process exits: %s", error)


def _said(asked: Call) -> ClosureError | None:
    return asked.error if asked.error is not None and asked.error.kind is FailureKind.DEPENDENCY_LOST else None


def is_named(encoding: int, raw: Data) -> bool:
    """Returns whether a result is stored outside the message."""
    if encoding != BYTES or not is_marked(raw):
        return False
    try:
        return bool(names_of(raw))
    except (ValueError, struct.error):
        return False  # decoding the result reports the error
