"""Large arguments and results of calls: they stay in memory of the process that has made them, others of its host map it, and
those of other hosts have it by a ticket or from the server. The call says names, as closures do.

Whether who has an object can do that is asked by a call of METHOD, once, before the first large one; the worker answers it
beside the object's own calls. The same call says which results are here, so that their memory is let go.

    add --large arguments, `kept`--> answered: let go
    answered with names --take, on a thread beside--> here, told by METHOD
                              └── it is gone: reads of variables are called again, others are UNAVAILABLE

Never imports grpc. Any thread.
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
"""No class has it: names of methods have no dot. Arguments: numbers of its caller's calls whose results are here, 8 bytes each."""
MIN = BLOB_MIN
ASK_WITHIN = 1.0
"""Seconds that a large call waits, once for each object, to know whether it can stay here."""
ASKED_MAX = 10_000
"""Objects of which it is known; of the others it is asked again."""
TRIES = 3
"""Of reads whose memory was gone when it was to be taken."""
BYTES_MAX = 1 << 30
"""Kept for calls that are not answered. More: who calls waits."""
SETTLE_WITHIN = 1.0
"""Seconds for these calls to be answered before what they were given is put at the server, so that it outlives this
process."""
_NUMBER = struct.Struct("<Q")
_MARKS = (arrays.MAGIC_ELSEWHERE, buffers.SHARED)


class Memory(Protocol):
    """Of this process."""

    def keep(self, data: Data) -> Kept:
        """A copy. Raises OSError, ValueError, ClosureError: there is no room."""

    def let_go(self, kept: Kept) -> None:
        """Waits for nothing."""

    def put(self, kept: Kept) -> None:
        """The server has it, too, when this returns. Raises OSError."""

    def open(self, name: bytes) -> memoryview:
        """Its bytes, which may be written to. Raises whatever there is to raise."""


class NotKept(Exception):
    """A call is to go whole."""


def is_marked(data: Data) -> bool:
    """Whether arguments or a result may name what is elsewhere. Who has sent such arguments takes such results."""
    return bytes(data[:8]).startswith(_MARKS)


def names_of(data: Data) -> list[bytes]:
    """Raises ValueError, struct.error."""
    return arrays.names_of(data) if arrays.may_be_elsewhere(data) else buffers.names_of(data)


def numbers(args: bytes) -> list[int]:
    """Of a call of METHOD."""
    return [n for n, in _NUMBER.iter_unpack(args[:len(args) // _NUMBER.size * _NUMBER.size])]


class Keeping:
    """What the arguments of one call name."""

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
    """Makes the calls; see `Calls`."""

    def add(self, object: int, method: str, args: bytes, ticket: bytes, waits: bool = True, plain: bool = False,
            of: Of = ("", "")) -> Call: ...

    def call_again(self, call: Call) -> bool: ...

    def finish(self, call: Call, error: ClosureError | None = None) -> None: ...

    def wait(self, call: Call, timeout: float | None) -> None: ...

    def when_answered(self, call: Call, f: Callable[[], None]) -> None: ...


class Large:
    """Of one caller."""

    def __init__(self, calls: Caller, memory: Callable[[], Memory | None]) -> None:
        """`memory`: None: nothing is kept here."""
        self._calls = calls
        self._memory = memory
        self._lock = threading.Lock()  # protects all below
        self._asked: collections.OrderedDict[int, Call] = collections.OrderedDict()
        self._slow: set[int] = set()

    def keeping(self, object: int, ticket: bytes, of: Any, asks: bool = True) -> Keeping | None:
        """For a call of this object. None: it goes whole. `asks`: also where it is not known yet, which takes a while."""
        if not asks and object not in self._asked:
            return None
        memory = self._memory()
        return Keeping(memory) if memory is not None and self._is_known(object, ticket, of, asks) else None

    def ask(self, object: int, ticket: bytes, of: Any) -> Call | None:
        """For the next time."""
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
            except (WaitTimeout, RuntimeError):  # also: on the thread that takes answers
                with self._lock:
                    self._slow.add(object)
        return asked.answered and asked.error is None

    def take(self, call: Call) -> None:
        """What its result names. On a thread beside the one that reads; the call is answered when this returns, or later."""
        try:
            memory = self._memory()
            if memory is None:
                raise OSError("this process keeps no memory")
            views = {name: memory.open(name) for name in names_of(call.raw)}
        except Exception as error:
            log.info("a result of %s is called for again: %s", call.method, error)
            self._gone(call)
            return
        try:
            self._calls.add(call.object, METHOD, _NUMBER.pack(call.number), call.ticket, waits=False, plain=True,
                            of=call.of)
        except ClosureError:
            pass  # it is over
        call.views = views
        self._calls.finish(call)

    def _gone(self, call: Call) -> None:
        if self._calls.call_again(call):
            return
        try:  # whoever lost it is asked how it is: its own loss is known to the server
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
                log.warning("what a call was given goes with this process: %s", error)


def _said(asked: Call) -> ClosureError | None:
    return asked.error if asked.error is not None and asked.error.kind is FailureKind.DEPENDENCY_LOST else None


def is_named(encoding: int, raw: Data) -> bool:
    """Whether a result is elsewhere."""
    if encoding != BYTES or not is_marked(raw):
        return False
    try:
        return bool(names_of(raw))
    except (ValueError, struct.error):
        return False  # who fetches it is told
