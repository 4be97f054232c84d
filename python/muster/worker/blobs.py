"""Blobs in the processes that execute closures. The blobs are files in a directory that all processes of a worker
share.

Never imports grpc, because the worker's own process, which holds the connection, provides blobs that are not in the
directory. Each blob is mapped privately. A page is copied only when a function writes to its argument, and processes
that only read a blob share the memory. Values in the shared memory of this host are links in the directory; see
`shared`.
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import threading
import time
from typing import Callable

from muster._pickled.buffers import Data
from muster._shared import memory
from muster.worker.context import waiting

Ask = Callable[[str, bytes, bytes], None]
"""Asks the worker's own process for an operation on a blob.

- "get": fetches it into the folder. "put": uploads it to the server.
- "take": like "get", but fails soon if the blob is not available.
- "hold": holds the memory that OFFER describes while a value refers to it.
- "own": holds it until "drop", which has no answer.

Raises ConnectionError if the server cannot be reached, and OSError with the reason otherwise.
"""
ASKS = {"get": b"\0get", "take": b"\0tak", "put": b"\0put", "hold": b"\0hld", "own": b"\0own", "drop": b"\0drp"}
"""Prefixes of frames about blobs between a child and its worker. No protocol message begins with these prefixes."""
ANSWER = b"\0end"
DIGEST = 32
OFFER = struct.Struct("<iiQ")
"""Process id, the descriptor in that process, and the size in bytes."""
TRIES = 3
SLOT_KEPT = 2.0
"""Seconds after which a closure that waits for a blob releases its slot."""
REFUSED_FOR = 1.0
"""Seconds to wait after a refused offer before making another offer."""


UNREACHABLE = "\0"
"""Prefix of an answer that reports a ConnectionError."""


class BlobError(Exception):
    """Raised if a blob cannot be fetched or stored."""


class Unreachable(BlobError):
    """Raised if the worker has given up because the server was unreachable."""


class Blobs:
    """Fetches and stores the blobs of one process. Thread-safe."""

    def __init__(self, folder: str, ask: Ask, shared: bool = False, free_bytes_max: int = 0) -> None:
        """If `shared` is set, values can remain in memory that the worker holds. `free_bytes_max` is the maximum number
        of unused bytes that are kept for later values.
        """
        self._folder = folder
        self._ask = ask
        self._free_bytes_max = free_bytes_max
        self._offers_from = 0.0 if shared else float("inf")

    def open(self, digest: bytes, what: str = "get") -> memoryview:
        """Returns the bytes of a blob in a private mapping. `what` is "get", or "take" to fail early if the process
        that holds the value may have exited. Raises BlobError or Unreachable.
        """
        path = os.path.join(self._folder, digest.hex())
        why = "the worker has no free space for the value"
        for _ in range(TRIES):  # the file may be deleted before it is opened
            try:
                return _mapped(path, digest)
            except OSError as error:
                if not isinstance(error, FileNotFoundError):
                    why = str(error)
                try:
                    self._ask(what, digest, b"")
                except ConnectionError as reason:
                    raise Unreachable(f"blob {digest.hex()} cannot be fetched: {reason}") from reason
                except OSError as reason:
                    raise BlobError(f"blob {digest.hex()} is not available: {reason}") from reason
        raise BlobError(f"blob {digest.hex()} was deleted before it could be opened: {why}")

    def keep(self, parts: list[Data]) -> bytes:
        """Stores the parts of a value as a blob, in memory or on the server. Raises BlobError or Unreachable."""
        if time.monotonic() >= self._offers_from:
            try:
                return self._offer(parts)
            except OSError:
                self._offers_from = time.monotonic() + REFUSED_FOR
        return self._put(parts)

    @property
    def shared(self) -> bool:
        """True if values can be held in shared memory."""
        return self._offers_from != float("inf")

    def own(self, data: Data) -> bytes:
        """Holds a copy of `data` in memory until `drop` is called or this process exits. Returns the name of the copy.
        Raises OSError if there is not enough memory.
        """
        return self._offer([data], "own")

    def drop(self, name: bytes) -> None:
        """Drops a value that this process owns. Does not block."""
        with contextlib.suppress(OSError):
            self._ask("drop", name, b"")

    def put(self, name: bytes) -> None:
        """Uploads a value that this process owns. Returns when the server has stored the value. Raises OSError if the
        upload fails.
        """
        self._ask("put", name, b"")

    def _offer(self, parts: list[Data], what: str = "hold") -> bytes:
        """Offers a memory segment to the worker and returns the segment's name. Raises OSError if the value must be
        uploaded instead.
        """
        name = os.urandom(DIGEST)
        fd = memory.make(name, parts, self._free_bytes_max)
        try:
            self._ask(what, name, OFFER.pack(os.getpid(), fd, memory.size_of(fd)))
            return name
        finally:
            os.close(fd)

    def _put(self, parts: list[Data]) -> bytes:
        sha = hashlib.sha256()
        path = ""
        try:
            fd, path = tempfile.mkstemp(dir=self._folder, prefix="new-")
            with open(fd, "wb", buffering=0) as file:
                for part in parts:
                    sha.update(part)
                    view = memoryview(part).cast("B")
                    while len(view):
                        view = view[file.write(view):]
            digest = sha.digest()
            os.rename(path, os.path.join(self._folder, digest.hex()))
            self._ask("put", digest, b"")
            return digest
        except OSError as error:
            try:
                os.unlink(path)
            except OSError:
                pass
            kind = Unreachable if isinstance(error, ConnectionError) else BlobError
            raise kind(f"the value cannot be stored as a blob: {error}") from error


def _mapped(path: str, digest: bytes) -> memoryview:
    # O_NONBLOCK: the open fails at once if a lease holder is writing another value into this
    # memory.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not memory.is_named(fd, digest):  # the link's descriptor was closed, and its number was used again
            raise FileNotFoundError(path)
        os.utime(fd)  # marks it as recently used
        return memory.mapped(fd)
    finally:
        os.close(fd)


class Asking:
    """Sends the requests of a child process to its worker and waits for the answers, which another thread reads."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._lock = threading.Lock()  # protects _answers
        self._answers: dict[bytes, tuple[threading.Event, list[str]]] = {}

    def ask(self, what: str, digest: bytes, beside: bytes = b"") -> None:
        if what == "drop":
            return self._send(ASKS[what] + digest)
        with self._lock:
            asked = digest in self._answers
            event, said = self._answers.setdefault(digest, (threading.Event(), []))
        if not asked:
            self._send(ASKS[what] + digest + beside)
        _wait_for(event)
        if said[0].startswith(UNREACHABLE):
            raise ConnectionError(said[0][len(UNREACHABLE):])
        if said[0]:
            raise OSError(said[0])

    def answered(self, frame: bytes) -> None:
        digest = frame[len(ANSWER):len(ANSWER) + DIGEST]
        with self._lock:
            found = self._answers.pop(digest, None)
        if found:
            found[1].append(frame[len(ANSWER) + DIGEST:].decode())
            found[0].set()


def asking_beside(ask: Ask) -> Ask:
    """Wraps `ask` for functions on threads of the worker's own process, so that the functions release their slots while
    waiting.
    """

    def asked(what: str, digest: bytes, beside: bytes) -> None:
        if what != "get":
            return ask(what, digest, beside)
        answered = threading.Event()
        reasons: list[Exception] = []

        def get() -> None:
            try:
                ask(what, digest, beside)
            except Exception as reason:
                reasons.append(reason)
            finally:
                answered.set()

        try:
            threading.Thread(target=get, name="muster-blob", daemon=True).start()
        except RuntimeError:  # the system has no more threads, so the closure keeps its slot
            return ask(what, digest, beside)
        _wait_for(answered)
        if reasons:
            raise reasons.pop()

    return asked


def _wait_for(answered: threading.Event) -> None:
    if answered.wait(SLOT_KEPT):
        return
    # The blob may have to be produced again by a closure that needs this slot.
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(RuntimeError):  # too many closures are waiting, so this closure keeps its slot
            stack.enter_context(waiting())
        answered.wait()  # no deadline: the worker answers, or this process exits with it


def question(frame: bytes) -> tuple[str, bytes, bytes] | None:
    """Returns the request in a child's frame, or None if the frame is not a request; see `Ask`."""
    for what, begins in ASKS.items():
        if frame[:len(begins)] == begins:
            named = len(begins) + DIGEST
            return what, bytes(frame[len(begins):named]), bytes(frame[named:])
    return None


def answer(digest: bytes, error: Exception | None) -> bytes:
    """Returns the frame that reports the result of a request to a child."""
    said = "" if error is None else str(error) or type(error).__name__
    return ANSWER + digest + (UNREACHABLE * isinstance(error, ConnectionError) + said).encode()
