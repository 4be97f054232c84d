"""Blobs where closures run: files in a folder that the processes of a worker share. Never imports
grpc: what is not in the folder is asked of the worker's own process, which has the connection.

A blob is mapped, privately: nothing is copied until a function writes to its argument, and those
that only read share the memory. What processes of this host share lies there as a link to memory, see `shared`.
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
"""Of the worker, "get" or "put" a blob: it is then in the folder, or at the server; "take", which gets what can be had soon or not
at all; or "hold" the memory that OFFER describes, as long as a value names it, or "own" it until it is told to "drop" it, which has
no answer. Raises ConnectionError: the server cannot be reached; OSError with the reason."""
ASKS = {"get": b"\0get", "take": b"\0tak", "put": b"\0put", "hold": b"\0hld", "own": b"\0own", "drop": b"\0drp"}
"""How frames between a child and its worker begin that are about blobs; no message does."""
ANSWER = b"\0end"
DIGEST = 32
OFFER = struct.Struct("<iiQ")
"""Process, descriptor there, bytes."""
TRIES = 3
SLOT_KEPT = 2.0
"""Seconds for which a closure keeps its slot while it waits for a blob."""
REFUSED_FOR = 1.0
"""Seconds in which nothing is offered after something was refused."""


UNREACHABLE = "\0"
"""How an answer begins that tells of a ConnectionError."""


class BlobError(Exception):
    """It cannot be had, or kept."""


class Unreachable(BlobError):
    """The server could not be reached for so long that the worker gave up."""


class Blobs:
    """Any thread."""

    def __init__(self, folder: str, ask: Ask, shared: bool = False, free_bytes_max: int = 0) -> None:
        """`shared`: values may stay in memory, which the worker holds. `free_bytes_max`: of such memory that stays for
        the next value when nobody has it any more."""
        self._folder = folder
        self._ask = ask
        self._free_bytes_max = free_bytes_max
        self._offers_from = 0.0 if shared else float("inf")

    def open(self, digest: bytes, what: str = "get") -> memoryview:
        """Its bytes; writing to them is seen by nobody else. "take": of who may be gone. Raises BlobError,
        Unreachable."""
        path = os.path.join(self._folder, digest.hex())
        why = "the worker has no room for it"
        for _ in range(TRIES):  # it may go again before it is opened
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
                    raise BlobError(f"blob {digest.hex()} cannot be had: {reason}") from reason
        raise BlobError(f"blob {digest.hex()} does not stay: {why}")

    def keep(self, parts: list[Data]) -> bytes:
        """Makes a blob of the parts of a value, in memory or at the server. Raises BlobError, Unreachable."""
        if time.monotonic() >= self._offers_from:
            try:
                return self._offer(parts)
            except OSError:
                self._offers_from = time.monotonic() + REFUSED_FOR
        return self._put(parts)

    @property
    def shared(self) -> bool:
        """Memory may be held."""
        return self._offers_from != float("inf")

    def own(self, data: Data) -> bytes:
        """Holds a copy in memory until `drop`, or this process ends; its name. Raises OSError: there is no room."""
        return self._offer([data], "own")

    def drop(self, name: bytes) -> None:
        """What this process owns. Waits for nothing."""
        with contextlib.suppress(OSError):
            self._ask("drop", name, b"")

    def put(self, name: bytes) -> None:
        """The server has what this process owns when this returns, too. Raises OSError."""
        self._ask("put", name, b"")

    def _offer(self, parts: list[Data], what: str = "hold") -> bytes:
        """Raises OSError: it is to be put."""
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
            raise kind(f"the value cannot be kept as a blob: {error}") from error


def _mapped(path: str, digest: bytes) -> memoryview:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # whoever has a lease on it is writing another
    try:
        if not memory.is_named(fd, digest):  # a link to a number that was closed, and is another's
            raise FileNotFoundError(path)
        os.utime(fd)  # used just now
        return memory.mapped(fd)
    finally:
        os.close(fd)


class Asking:
    """A child's questions, and the answers that another thread reads."""

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
    """For functions that run on threads of the worker's own process: they give their slots back, too."""

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
        except RuntimeError:  # there can be no more: it keeps its slot
            return ask(what, digest, beside)
        _wait_for(answered)
        if reasons:
            raise reasons.pop()

    return asked


def _wait_for(answered: threading.Event) -> None:
    if answered.wait(SLOT_KEPT):
        return
    # It may be made again, by a closure that needs this slot.
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(RuntimeError):  # too many wait already: it keeps its slot
            stack.enter_context(waiting())
        answered.wait()  # no deadline: it is answered, or the worker is gone and this process with it


def question(frame: bytes) -> tuple[str, bytes, bytes] | None:
    """What a child asks for, if that is what it says; see `Ask`."""
    for what, begins in ASKS.items():
        if frame[:len(begins)] == begins:
            named = len(begins) + DIGEST
            return what, bytes(frame[len(begins):named]), bytes(frame[named:])
    return None


def answer(digest: bytes, error: Exception | None) -> bytes:
    """Returns the frame that tells a child how its question ended."""
    said = "" if error is None else str(error) or type(error).__name__
    return ANSWER + digest + (UNREACHABLE * isinstance(error, ConnectionError) + said).encode()
