"""Caches a worker's blobs in a directory that the worker's processes share. Blobs are fetched from other processes or
from the server.
"""
from __future__ import annotations

import os
import tempfile
import threading
import time
from typing import Any, Sequence

import grpc

from muster._pickled.buffers import Data
from muster._tls import Tls
from muster._wire import blobs
from muster._wire.credentials import with_token
from muster.worker.shared import Shared, listening

NEW = "new-"
"""Prefix of files that are being written."""
GONE_AFTER = 5.0
"""Seconds that an unknown holder of a value has to reconnect. Must be longer than the server waits."""
CALL_TIMEOUT = 10.0
PAUSE_MAX = 1.0
"""Maximum seconds between two attempts of a call after the connection broke."""


class BlobCache:
    """Stores at most `bytes_max` bytes in the directory `folder` and deletes the least recently used files.
    Thread-safe.
    """

    def __init__(self, folder: str, bytes_max: int, servers: Sequence[str],
                 tls: Tls = Tls(),
                 token: str = "", shm_bytes_max: int = 0, used_again: bool = False, transfer: tuple[str, str] = ("", "")) -> None:
        """`shm_bytes_max` is the maximum number of bytes that are held for other processes; if 0, shared memory is not
        used. If `used_again` is set, a quarter of these bytes is reserved for unused memory that the processes keep.
        `transfer` contains the address to listen on and the address to which other hosts connect; see `WorkerOptions`.
        """
        self._transfer = transfer
        self.folder = folder
        self.shm_bytes_max = shm_bytes_max
        self.free_bytes_max = shm_bytes_max // 4 if used_again else 0
        self._token = token
        self._bytes_max = bytes_max
        self._tls = tls
        self._over = threading.Event()
        self._lock = threading.Lock()  # protects all below
        self._server = servers[0]
        self._channels: dict[str, Any] = {}
        self._loading: dict[bytes, threading.Lock] = {}
        self._shared: Shared | None = None

    def use_server(self, server: str, task: str) -> None:
        """Sets the server and the task of an attachment."""
        with self._lock:
            self._server = server
            if self._shared is None and self.shm_bytes_max:
                self._shared = Shared(self.folder, self, self.shm_bytes_max - self.free_bytes_max, task,
                                      listening(*self._transfer, server))
        if self._shared is not None:
            self._shared.look()

    def tick(self, now: float) -> None:
        """Performs the periodic work of the cache. Called regularly."""
        if self._shared is not None:
            self._shared.tick(now)

    def leave(self) -> None:
        """Uploads the worker's values that other processes may still need."""
        if self._shared is not None:
            self._shared.leave()

    def close(self) -> None:
        self._over.set()
        if self._shared is not None:
            self._shared.close()
        with self._lock:
            channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.close()

    def ask(self, what: str, digest: bytes, beside: bytes = b"") -> None:
        """Handles a request of a process; see `Ask`. The request is retried if the connection breaks, because the
        server may be restarting. A put is also retried while the server does not have enough space.

        Raises:
            ConnectionError: The server could not be reached for RETRY_WITHIN seconds.
            OSError: The server rejected the request. The message contains the reason.
        """
        if what in ("hold", "own", "drop"):
            if self._shared is None:
                raise OSError("this worker stores no values")
            return self._shared.drop(digest) if what == "drop" else self._shared.offer(digest, beside, what == "own")
        if what == "put" and self._shared is not None and self._shared.owns(digest):
            return self._shared.put(digest)
        end = time.monotonic() + blobs.RETRY_WITHIN
        pause = 0.1
        while True:
            try:
                if what == "take":
                    self._take(digest)
                elif what == "get":
                    self._load(digest)
                else:
                    self._store(digest)
                return
            except (grpc.RpcError, EOFError) as error:
                waits_for_room = what == "put" and time.monotonic() < end and self._may_get_room(digest, error)
                if not (waits_for_room or blobs.is_transient(error)):
                    raise OSError(blobs.reason_of(error)) from error
                if time.monotonic() > end or self._over.wait(pause):
                    raise ConnectionError(blobs.reason_of(error)) from error
            pause = min(pause * 2, PAUSE_MAX)

    def _may_get_room(self, digest: bytes, error: Exception) -> bool:
        """Returns whether the server rejected a put only for a temporary lack of space. This requires that the blob
        would fit into an empty server.
        """
        if not isinstance(error, grpc.RpcError) or error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            return False
        try:
            _, most = blobs.has(self.channel(), [], CALL_TIMEOUT)
            return os.stat(os.path.join(self.folder, digest.hex())).st_size <= most
        except (grpc.RpcError, OSError):
            return False

    def left(self, pid: int) -> None:
        """Drops the values of a process of this worker that has exited."""
        if self._shared is not None:
            self._shared.left(pid)

    def failed(self) -> None:
        """Does nothing, because the attachment itself connects to another server."""

    def channel(self) -> Any:
        with self._lock:
            if self._server not in self._channels:
                self._channels[self._server] = with_token(
                    self._tls.channel(self._server, blobs.CHANNEL_OPTIONS), self._token)
            return self._channels[self._server]

    def _take(self, digest: bytes) -> None:
        """Fetches a value from another process or from the server. Raises OSError if the value is not available."""
        if self._shared is not None and not os.path.exists(os.path.join(self.folder, digest.hex())):
            if self._shared.take(digest):
                return
            end = time.monotonic() + GONE_AFTER
            while self._shared.is_lost(digest):
                if time.monotonic() > end:
                    raise OSError(f"{digest.hex()} was in the memory of a process that has exited")
                time.sleep(0.1)
        self._load(digest)

    def _load(self, digest: bytes) -> None:
        """Loads a blob once for all processes that request the blob."""
        with self._lock:
            one = self._loading.setdefault(digest, threading.Lock())
        with one:
            path = os.path.join(self.folder, digest.hex())
            if os.path.exists(path):
                return
            if self._shared is not None and self._shared.take(digest):
                with self._lock:
                    self._loading.pop(digest, None)
                return
            file: Any | None = None

            def begin(size: int) -> None:
                nonlocal file
                self._make_room(size)
                file = tempfile.NamedTemporaryFile(  # noqa: SIM115  closed below
                    dir=self.folder, prefix=NEW, delete=False, buffering=0)

            def take(piece: Data) -> None:
                assert file
                view = memoryview(piece)
                while len(view):
                    view = view[file.write(view):]

            began = time.monotonic()
            try:
                blobs.get(self.channel(), digest, begin, take)
                assert file
                os.rename(file.name, path)
                if self._shared is not None:
                    self._shared.record_server_time(os.stat(path).st_size, time.monotonic() - began)
            except BaseException:
                if file:
                    os.unlink(file.name)
                raise
            finally:
                if file:
                    file.close()
                with self._lock:
                    self._loading.pop(digest, None)

    def _store(self, digest: bytes) -> None:
        path = os.path.join(self.folder, digest.hex())
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            blobs.put(self.channel(), digest, size, iter(lambda: file.read(blobs.PIECE), b""))
        self._make_room(0)

    def _make_room(self, wanted: int) -> None:
        files = []
        for entry in os.scandir(self.folder):
            if entry.is_symlink():  # a link to shared memory
                continue
            try:
                files.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
            except FileNotFoundError:
                pass
        files.sort()
        there = sum(size for _, size, _ in files)
        for _, size, path in files:
            if there + wanted <= self._bytes_max:
                return
            if not os.path.basename(path).startswith(NEW):
                try:
                    os.unlink(path)  # existing mappings remain valid
                except FileNotFoundError:
                    pass
                there -= size
