"""Blobs where closures run: files in a folder that the processes of a worker share. Never imports
grpc: what is not in the folder is asked of the worker's own process, which has the connection.

A blob is mapped, privately: nothing is copied until a function writes to its argument, and those
that only read share the memory.
"""
from __future__ import annotations

import hashlib
import mmap
import os
import tempfile
import threading
from typing import Callable, Optional

from muster._pickled.buffers import Data

Ask = Callable[[str, bytes], None]
"""Of the worker, "get" or "put" a blob: it is then in the folder, or at the server. Raises OSError
with the reason."""
ASKS = {"get": b"\0get", "put": b"\0put"}
"""How frames between a child and its worker begin that are about blobs; no message does."""
ANSWER = b"\0end"
DIGEST = 32
TRIES = 3


class BlobError(Exception):
    """It cannot be had, or kept."""


class Blobs:
    """Any thread."""

    def __init__(self, folder: str, ask: Ask) -> None:
        self._folder = folder
        self._ask = ask

    def open(self, digest: bytes) -> memoryview:
        """Its bytes; writing to them is seen by nobody else. Raises BlobError."""
        path = os.path.join(self._folder, digest.hex())
        for _ in range(TRIES):  # it may go again before it is opened
            try:
                return _mapped(path)
            except FileNotFoundError:
                try:
                    self._ask("get", digest)
                except OSError as error:
                    raise BlobError(f"blob {digest.hex()} cannot be had: {error}") from error
        raise BlobError(f"blob {digest.hex()} does not stay: the worker has no room for it")

    def keep(self, parts: list[Data]) -> bytes:
        """Makes a blob of the parts of a value, at the server. Raises BlobError."""
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
            self._ask("put", digest)
            return digest
        except OSError as error:
            try:
                os.unlink(path)
            except OSError:
                pass
            raise BlobError(f"the value cannot be kept as a blob: {error}") from error


def _mapped(path: str) -> memoryview:
    with open(path, "rb") as file:
        os.utime(file.fileno())  # used just now
        return memoryview(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE,
                                    mmap.PROT_READ | mmap.PROT_WRITE))


class Asking:
    """A child's questions, and the answers that another thread reads."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._lock = threading.Lock()  # protects _answers
        self._answers: dict[bytes, tuple[threading.Event, list[str]]] = {}

    def ask(self, what: str, digest: bytes) -> None:
        with self._lock:
            asked = digest in self._answers
            event, said = self._answers.setdefault(digest, (threading.Event(), []))
        if not asked:
            self._send(ASKS[what] + digest)
        event.wait()  # no deadline: the worker answers, or is gone and this process with it
        if said[0]:
            raise OSError(said[0])

    def answered(self, frame: bytes) -> None:
        digest = frame[len(ANSWER):len(ANSWER) + DIGEST]
        with self._lock:
            found = self._answers.pop(digest, None)
        if found:
            found[1].append(frame[len(ANSWER) + DIGEST:].decode())
            found[0].set()


def question(frame: bytes) -> Optional[tuple[str, bytes]]:
    """What a child asks for, if that is what it says."""
    for what, begins in ASKS.items():
        if frame[:len(begins)] == begins:
            return what, bytes(frame[len(begins):])
    return None


def answer(digest: bytes, error: str) -> bytes:
    return ANSWER + digest + error.encode()
