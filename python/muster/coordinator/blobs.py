"""Blobs of a coordinator: large callables, arguments and values, identified by their SHA-256 hash.

Arguments are stored on the server before their closures are scheduled. This process keeps a copy until the closures
that refer to the arguments have ended. A request renews the leases of the blobs every LEASE_EVERY seconds. If a blob is
missing on the server, for example after a restart, the blob is stored again. Data in shared memory, which other
processes of this host map (`shared`), is stored on the server only on request.
"""
from __future__ import annotations

import hashlib
import threading
import time
import weakref
from typing import Any, Iterable, Sequence, Union

import grpc

from muster._pickled.buffers import Data
from muster._pickled.calls import BLOB_MIN
from muster._tls import Tls
from muster._wire import blobs
from muster._wire.credentials import with_token
from muster.coordinator.lineage import Lineage
from muster.coordinator.made_again import LostValue
from muster.coordinator.shared import Shared, SharedContent
from muster.errors import FailureKind, UnavailableError
from muster.objects.call import Kept

LEASE_EVERY = 5.0
ROOM_WAIT = 60.0
"""Seconds to wait until the server has room for a blob."""
CALL_TIMEOUT = 10.0
TICK = 1.0
SHARED_WAIT = 1.0
"""Seconds that the first call waits for the server to report its support of shared memory."""


def _lost() -> LostValue:
    return LostValue(FailureKind.DEPENDENCY_LOST, "muster.ClusterCoordinator",
                     "the value was stored only in the memory of a worker that was lost")


class Content:
    """A blob that unfinished closures refer to."""

    __slots__ = ("digest", "data", "__weakref__")

    def __init__(self, digest: bytes, data: bytes) -> None:
        self.digest = digest
        self.data = data


AnyContent = Union[Content, SharedContent]


class Naming:
    """Collects the blobs that one request refers to."""

    def __init__(self, of: Blobs) -> None:
        self._of = of
        self.contents: list[AnyContent] = []

    def take(self, data: Data) -> bytes:
        return self._named(self._of.put(data))

    def take_callable(self, data: Data) -> bytes:
        """Stores a callable and returns its hash, which identifies the callable to workers."""
        return self._named(self._of.put_hashed(data))

    def _named(self, content: AnyContent) -> bytes:
        self.contents.append(content)
        return content.digest


class BlobMemory:
    """Stores large arguments and results of object method calls as blobs; see `muster.objects.large`."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.open = blobs.get

    def keep(self, data: Data) -> Kept:
        content = self._blobs.put(data)
        return Kept(content.digest, memoryview(data).nbytes, content)

    def let_go(self, kept: Kept) -> None:
        pass  # the memory is freed with its content

    def put(self, kept: Kept) -> None:
        if isinstance(kept.content, SharedContent) and not self._blobs.put_named(kept.name):
            raise OSError(f"{kept.name.hex()} cannot be uploaded to the server")


class Blobs:
    """The blobs of one session. Methods can be called from any thread."""

    def __init__(self, servers: Sequence[str], patience: float, tls: Tls = Tls(),
                 token: str = "", shm_bytes_max: int = 0) -> None:
        self.lineage = Lineage()
        self._shared = Shared(self, shm_bytes_max, self.lineage.give_up_oldest)
        self._memory = BlobMemory(self)
        self._servers = list(servers)
        self._tls = tls
        self._token = token
        self.patience = patience
        """Seconds for which calls are repeated while the server is unreachable."""
        self._lock = threading.Lock()  # protects the fields below
        self._current = 0
        self._channels: dict[str, Any] = {}
        self._contents: weakref.WeakValueDictionary[bytes, Content] = weakref.WeakValueDictionary()
        self._putting: dict[bytes, threading.Lock] = {}
        self._max: int | None = None
        self._over = threading.Event()
        self._look = threading.Event()
        self._known = threading.Event()
        self._waited = False
        self._thread = threading.Thread(target=self._run, name="muster-blobs", daemon=True)
        self._thread.start()

    def limit(self, timeout: float) -> int:
        """Returns the maximum size of a blob in bytes. Returns 0 if the server does not support blobs or does not
        answer in time.
        """
        if not self._known.is_set() and not self._waited:
            self._waited = not self._known.wait(timeout)  # only the first caller waits
        return self._max or 0

    def naming(self) -> Naming:
        return Naming(self)

    def put(self, data: Data) -> AnyContent:
        """Stores data for workers to fetch. Raises ValueError if the data is too large, or UnavailableError if the
        session has ended.
        """
        size = self._checked(data)
        shared = self._shared.content(data, SHARED_WAIT) if size > BLOB_MIN else None
        return shared or self.put_hashed(data)

    def _checked(self, data: Data) -> int:
        size = memoryview(data).nbytes
        if size > self.limit(0):
            raise ValueError(f"an argument has {size} bytes, the limit is {self._max}")
        return size

    def put_hashed(self, data: Data) -> Content:
        """Stores data on the server and waits until the data is stored. Raises ValueError if the data is too large, or
        UnavailableError if the server is unreachable.
        """
        self._checked(data)
        digest = hashlib.sha256(data).digest()
        with self._lock:
            content = self._contents.get(digest)
            one = self._putting.setdefault(digest, threading.Lock())
        with one:
            with self._lock:
                content = content or self._contents.get(digest)
            if content is not None:
                return content
            content = Content(digest, bytes(data))
            self._put(content)
            with self._lock:
                self._contents[digest] = content
                self._putting.pop(digest, None)
        return content

    @property
    def memory(self) -> BlobMemory | None:
        """Returns the shared memory of this process for object method calls, or None if other processes cannot map the
        memory.
        """
        return self._memory if self._shared.there and self.limit(SHARED_WAIT) else None

    def put_named(self, name: bytes) -> bool:
        """Copies a blob of this process to the server and waits for the copy. Returns False if this process does not
        have the blob, or if the blob cannot be stored.
        """
        return self._shared.put(name)

    def outputs_may_stay(self) -> bool:
        """Returns whether some values may be stored only in the memory of a single worker, and can be lost with this
        worker.
        """
        return self._shared.outputs_may_stay()

    def get(self, digest: bytes) -> memoryview:
        """Returns the bytes of a blob, as a writable view. Raises LostValue if the value was lost, or UnavailableError
        if the server is unreachable.
        """
        taken = self._shared.get(digest, SHARED_WAIT)
        if taken is not None:
            return taken
        if self._shared.is_lost(digest):
            raise _lost()
        end = time.monotonic() + self.patience
        while True:
            made = bytearray()
            at = 0

            def begin(size: int) -> None:
                nonlocal made
                made = bytearray(size)

            def take(piece: Data) -> None:
                nonlocal at
                made[at:at + len(piece)] = piece  # noqa: B023  called only in this iteration
                at += len(piece)

            began = time.monotonic()
            try:
                blobs.get(self.channel(), digest, begin, take)
                self._shared.record_server_time(len(made), time.monotonic() - began)
                return memoryview(made)
            except (grpc.RpcError, EOFError) as error:
                if isinstance(error, grpc.RpcError) and error.code() is grpc.StatusCode.NOT_FOUND:
                    raise _lost() from error
                self._next_try(error, end, "a value that is a blob cannot be fetched")

    def close(self) -> None:
        self._over.set()
        self._look.set()
        self.lineage.close()
        self._shared.close()
        with self._lock:
            channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.close()

    def look(self) -> None:
        """Called after a new connection is opened, because blobs can be missing on the server."""
        self._look.set()
        self._shared.look()

    def unchanged(self, yes: bool) -> None:
        """Sets whether the program promises not to change arguments. With this promise, arguments that are passed again
        are not compared with their stored copies.
        """
        self._shared.unchanged(yes)

    def failed(self) -> None:
        """Switches to the next server. Called when the current server does not answer."""
        with self._lock:
            self._current += 1

    def _put(self, content: Content) -> None:
        end = time.monotonic() + self.patience
        room_by = time.monotonic() + ROOM_WAIT
        pause = 0.05
        while True:
            try:
                blobs.put(self.channel(), content.digest, len(content.data),
                          blobs.pieces_of([content.data]))
                return
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and time.monotonic() < room_by:
                    end = time.monotonic() + self.patience
                    if not self._over.wait(pause):
                        pause = min(pause * 2, 1.0)
                        continue
                self._next_try(error, end, "an argument cannot be uploaded as a blob")

    def _next_try(self, error: Exception, end: float, what: str) -> None:
        """Waits before the next attempt. Raises UnavailableError if the error is permanent, the time limit has expired,
        or the session closes.
        """
        if not blobs.is_transient(error) or time.monotonic() > end or self._over.is_set():
            raise UnavailableError(FailureKind.DEPENDENCY_LOST, "muster.ClusterCoordinator",
                                   f"{what}: {blobs.reason_of(error)}") from error
        self.failed()
        self._over.wait(0.1)

    def channel(self) -> Any:
        with self._lock:
            server = self._servers[self._current % len(self._servers)]
            if server not in self._channels:
                self._channels[server] = with_token(self._tls.channel(server, blobs.CHANNEL_OPTIONS),
                                                    self._token)
            return self._channels[server]

    # Methods of the thread that renews leases.

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._renew()
                self._wait()
            except (grpc.RpcError, UnavailableError, ValueError):  # ValueError: the channel is closed
                self.failed()
                self._over.wait(0.2)
            self._look.clear()

    def _wait(self) -> None:
        """Waits until the leases must be renewed."""
        end = time.monotonic() + LEASE_EVERY
        while not self._look.wait(min(TICK, max(0.0, end - time.monotonic()))):
            now = time.monotonic()
            self._shared.tick(now)
            self.lineage.tick(now)
            if now >= end:
                return

    def _renew(self) -> None:
        with self._lock:
            contents = list(self._contents.values())
        for some in _in_parts(contents) or [[]]:
            there, limit = blobs.has(self.channel(), [c.digest for c in some], CALL_TIMEOUT)
            self._max = limit
            self._known.set()
            for content, is_there in zip(some, there):
                if not is_there and limit:
                    self._put(content)
        names = self._shared.put_names()
        for at in range(0, len(names), blobs.ASKED_AT_ONCE):
            asked = names[at:at + blobs.ASKED_AT_ONCE]
            there, _ = blobs.has(self.channel(), asked, CALL_TIMEOUT)
            self._shared.gone([name for name, is_there in zip(asked, there) if not is_there])


def _in_parts(all: list[Content]) -> Iterable[list[Content]]:
    return [all[i:i + blobs.ASKED_AT_ONCE] for i in range(0, len(all), blobs.ASKED_AT_ONCE)]
