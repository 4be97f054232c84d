"""What a session keeps of a closure, and of a value that workers keep. Under the session's lock,
but for an ended record, whose output does not change any more."""
from __future__ import annotations

import threading
from typing import Any, Callable, Sequence

from muster._pickled.buffers import Data
from muster._pickled.names import Called
from muster.coordinator.options import ClosureOptions
from muster.errors import ClosureError

PICKLE = 2
"""Beside the protocol's encodings: bytes of a pickled function, which are a pickle."""
PICKLE_IN_JSON = 3
"""JSON of a function whose code is trusted: all of it may stand for a pickle."""


class Record:
    """Fields up to `generation` are what it takes to schedule it again after a broken stream."""

    __slots__ = ("token", "function", "args", "encoding", "inputs", "per_worker", "options",
                 "generation", "contents", "called", "cancelled", "ended", "raw", "value", "error", "closure",
                 "references", "waiters", "is_large")

    def __init__(self, token: int, function: int, args: bytes, encoding: int,
                 options: ClosureOptions | None, generation: int) -> None:
        self.token = token
        self.function = function
        self.args = args
        self.encoding = encoding
        """Of the arguments; once ended of the output, and -1 when that is in `value`."""
        self.inputs: tuple[tuple[Record | None, int, int, bool], ...] = ()
        """A record of this session or the closure's number at the server; offset in JSON arguments,
        and whether it is a pickle where it is bytes."""
        self.per_worker: tuple[Built, ...] = ()
        self.options = options
        self.generation = generation
        """0: of none, as it has an error of its own."""
        self.contents: Sequence[Any] = ()
        """Blobs that `args` name."""
        self.called: Called | None = None
        self.cancelled = False
        """By itself, which the server is told on each stream."""
        self.ended = False
        self.raw: Data = b""
        self.value: Any = None
        self.error: ClosureError | None = None
        self.closure = 0
        self.references = 1
        """The handle, and closures that have not ended and use it."""
        self.waiters: list[Callable[[], None]] | None = None
        self.is_large = False
        """Its value was somewhere else when it ended."""


class Built:
    """A PerWorkerValue."""

    __slots__ = ("token", "function", "args", "name", "contents", "handle", "error", "references",
                 "answered")

    def __init__(self, token: int, function: int, args: bytes, name: str) -> None:
        self.token = token
        self.function = function
        self.args = args
        self.name = name
        self.contents: Sequence[Any] = ()
        """Blobs that `args` name."""
        self.handle = 0
        """At the server, once it has answered."""
        self.error: ClosureError | None = None
        """It refused."""
        self.references = 1
        self.answered = threading.Event()
