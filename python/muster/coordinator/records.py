"""The data that a session stores about a closure or a per-worker value. The session's lock protects the data. A record
does not change after its closure has ended, so its output can be read without the lock.
"""
from __future__ import annotations

import threading
from typing import Any, Callable, Sequence

from muster._pickled.buffers import Data
from muster._pickled.names import Called
from muster.coordinator.options import ClosureOptions
from muster.errors import ClosureError

PICKLE = 2
"""An encoding that is not part of the protocol. The bytes are the pickled output of a pickled function."""
PICKLE_IN_JSON = 3
"""An encoding for JSON that can contain pickles, because the code of the function is trusted."""


class Record:
    """A closure. The fields up to `generation` are sent again after a break of the stream."""

    __slots__ = ("token", "function", "args", "encoding", "inputs", "per_worker", "options",
                 "generation", "contents", "called", "cancelled", "ended", "raw", "value", "error", "closure",
                 "references", "waiters", "is_large")

    def __init__(self, token: int, function: int, args: bytes, encoding: int,
                 options: ClosureOptions | None, generation: int) -> None:
        self.token = token
        self.function = function
        self.args = args
        self.encoding = encoding
        """Encoding of the arguments. After the closure has ended, the encoding of the output, or -1 if the output is in
        `value`.
        """
        self.inputs: tuple[tuple[Record | None, int, int, bool], ...] = ()
        """A tuple for each input. The tuple contains the input's record in this session or its number on the server. It
        also contains the input's offset in JSON arguments, and whether the input's bytes are a pickle.
        """
        self.per_worker: tuple[Built, ...] = ()
        self.options = options
        self.generation = generation
        """Generation of the closure. If 0, the closure fails independently and belongs to no generation."""
        self.contents: Sequence[Any] = ()
        """Blobs that `args` refers to."""
        self.called: Called | None = None
        self.cancelled = False
        """Whether this closure was cancelled individually. The cancellation is sent on each stream."""
        self.ended = False
        self.raw: Data = b""
        self.value: Any = None
        self.error: ClosureError | None = None
        self.closure = 0
        self.references = 1
        """Number of references to the output, from the handle and from unfinished closures."""
        self.waiters: list[Callable[[], None]] | None = None
        self.is_large = False
        """Whether the value was stored outside this process when the closure ended."""


class Built:
    """A per-worker value."""

    __slots__ = ("token", "function", "args", "name", "contents", "handle", "error", "references",
                 "answered")

    def __init__(self, token: int, function: int, args: bytes, name: str) -> None:
        self.token = token
        self.function = function
        self.args = args
        self.name = name
        self.contents: Sequence[Any] = ()
        """Blobs that `args` refers to."""
        self.handle = 0
        """Number that identifies the value on the server, after the server has answered."""
        self.error: ClosureError | None = None
        """The server's error if the server has rejected the value, otherwise None."""
        self.references = 1
        self.answered = threading.Event()
