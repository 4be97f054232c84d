"""Reports to the server over a stream (`Hold`) which values this process holds, and uploads values that the server
requests.

If the stream breaks, it is opened again and all held values are reported again. If the server does not support this
call, the process retries after ASK_AGAIN and holds no values until then. Thread-safe. One thread reads the stream. A
second thread, which starts with the first request, uploads values. The number of unreported values never exceeds the
number of held values.
"""
from __future__ import annotations

import hashlib
import itertools
import logging
import os
import queue
import threading
import time
from typing import AbstractSet, Any, Callable, Iterator, Protocol

import grpc

from muster._shared import memory
from muster._shared.store import Store
from muster._wire import blobs, messages

log = logging.getLogger("muster.shared")

PAUSE_MIN, PAUSE_MAX = 0.05, 2.0
ASK_AGAIN = 30.0
"""Seconds before retrying an older server without `Hold`, which may have been upgraded."""
SAID_EVERY = 1.0
"""Seconds between reports of taken values, and between repeated reports of refused values."""
STRANGER_TRIES = 8
"""Number of attempts to upload a value while the server does not know this holder. A restarted server knows the holder
once the stream is open again.
"""
_FINAL = (grpc.StatusCode.OUT_OF_RANGE, grpc.StatusCode.INVALID_ARGUMENT)


class Channels(Protocol):
    def channel(self) -> Any:
        """Returns the channel to the current server."""

    def failed(self) -> None:
        """Switches to the next server. Called if the server does not answer."""


class Holding:
    def __init__(self, store: Store, channels: Channels, task: str = "",
                 on_unneeded: Callable[[bytes], None] = lambda name: None,
                 peer: str = "",
                 on_unlisted: Callable[[bytes], None] = lambda name: None, host: str | None = None) -> None:
        """`peer` is the address at which the store serves other hosts, or empty if the store serves only this host.
        `on_unlisted` is called for copies that the server does not list. `host` is used instead of this host's
        identity.
        """
        self._store = store
        self.peer = peer
        self._channels = channels
        self._task = task
        self._on_unneeded = on_unneeded
        self._on_unlisted = on_unlisted
        self.host = memory.this_host() if host is None else host
        self._settled = threading.Event()
        self._over = threading.Event()
        self._wanted: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued: set[bytes] = set()  # the names in _wanted; used by both threads
        self._lock = threading.Lock()  # protects all below
        self._copies: set[bytes] = set()
        """Held values that another process has created."""
        self._unlisted: set[bytes] = set()
        """Subset of _copies that are not reported to the server."""
        self._news: queue.SimpleQueue[tuple[bytes, int]] | None = None
        """Names not yet reported on the current stream, with the sizes of the values. A size of -1 means that the value
        was dropped. None if there is no stream.
        """
        self._call: Any = None
        self._channel: Any = None
        self._holder = 0
        self._former = 0  # holder number of the previous stream
        self._bytes_max = 0
        self._outputs_stay = False
        self.outputs_may_stay = False
        """The server's last setting, which stays valid between two streams."""
        self._refused: set[bytes] = set()
        self._taken = 0
        self._copied = 0
        self._putting: threading.Thread | None = None
        self._put_names: set[bytes] = set()
        """Held values that are also stored on the server."""
        threading.Thread(target=self._run, name="muster-hold", daemon=True).start()

    def ready(self, timeout: float = 0.0) -> bool:
        """Returns whether more values can be held, which requires that a server has received and accepted the whole
        list. Waits at most `timeout` seconds.
        """
        self._settled.wait(timeout)
        return self._news is not None and self._holder != 0 and not self._refused

    def outputs_stay(self) -> bool:
        return self._outputs_stay and self.ready()

    def may_hold(self, size: int) -> bool:
        """Returns whether the server could store a value of this size. The server must store the value if another
        process cannot reach this process.
        """
        return not self._bytes_max or size <= self._bytes_max

    def announce(self, name: bytes, size: int) -> None:
        """Reports a value to the server. Other processes can then take the value."""
        with self._lock:
            if self._news is not None:
                self._news.put((name, size))

    def announce_copy(self, name: bytes, size: int, listed: bool) -> None:
        """Records a copy of a value that another process has created. If `listed` is set, the copy is also reported to
        the server.
        """
        with self._lock:
            self._copies.add(name)
            if not listed:
                self._unlisted.add(name)
            elif self._news is not None:
                self._news.put((name, size))

    def dropped(self, name: bytes) -> None:
        with self._lock:
            self._put_names.discard(name)
            self._refused.discard(name)
            self._copies.discard(name)
            unlisted = name in self._unlisted
            self._unlisted.discard(name)
            if self._news is not None and not unlisted:
                self._news.put((name, -1))

    def all_put(self) -> list[bytes]:
        """Returns the held values that are also stored on the server."""
        with self._lock:
            return list(self._put_names)

    def gone(self, names: list[bytes]) -> None:
        """Records that these values are no longer stored on the server."""
        with self._lock:
            self._put_names.difference_update(names)

    def taken(self, size: int) -> None:
        with self._lock:
            self._taken += size

    def copied(self, size: int) -> None:
        """Adds the size of a value that was copied from another host to the total of copied bytes."""
        with self._lock:
            self._copied += size

    def look(self) -> None:
        """Reconnects if the current server has changed."""
        if self._call is not None and self._channels.channel() is not self._channel:
            self._call.cancel()

    def put(self, name: bytes) -> bool:
        """Uploads the value unless the server has already stored it. Returns whether the value is stored on the server.
        """
        return name in self._put_names or self._put(name, time.monotonic() + blobs.RETRY_WITHIN)

    def put_all(self, timeout: float, but: AbstractSet[bytes] = frozenset()) -> None:
        """Uploads the held values, except for the values in `but` and for copies that the server has not requested.
        Values that cannot be uploaded are skipped.
        """
        end = time.monotonic() + timeout
        for name in self._store.held():
            if not self.ready() or time.monotonic() > end:
                return
            is_copy = name in self._copies and name not in self._queued
            if name not in self._put_names and name not in but and not is_copy:
                self._put(name, end)  # a failed upload must not delay the other uploads

    def close(self) -> None:
        self._over.set()
        self._wanted.put(None)
        with self._lock:
            call, self._news = self._call, None
        if call is not None:
            call.cancel()

    # The reading thread.

    def _run(self) -> None:
        pause = PAUSE_MIN
        while not self._over.is_set():
            code = self._serve()
            if self._holder:
                pause = PAUSE_MIN
            with self._lock:
                self._news, self._holder, self._outputs_stay = None, 0, False
            self._settled.set()
            if code == grpc.StatusCode.UNIMPLEMENTED:
                self._over.wait(ASK_AGAIN)
                continue
            if not self._over.is_set() and code == grpc.StatusCode.UNAVAILABLE:
                self._channels.failed()
            self._over.wait(pause)
            pause = min(2 * pause, PAUSE_MAX)

    def _serve(self) -> Any:
        """Runs a single stream and returns its status."""
        news: queue.SimpleQueue[tuple[bytes, int]] = queue.SimpleQueue()
        ended = threading.Event()
        call: Any = None
        try:
            with self._lock:
                for name, size in self._store.held().items():
                    if name not in self._unlisted:
                        news.put((name, size))
                self._news, self._refused = news, set()
            channel = self._channels.channel()
            call = blobs.hold(channel, self._say(news, ended))
            with self._lock:
                self._channel, self._call = channel, call
            if self._over.is_set():
                call.cancel()
            for message in call:
                self._hear(message)
            return grpc.StatusCode.OK
        except grpc.RpcError as error:
            return error.code()
        except ValueError:  # the channel is closed
            return grpc.StatusCode.UNAVAILABLE
        except Exception:  # for example if memory runs out: the held values are reported again
            log.exception("the stream that reports stored values failed; reopening it")
            return grpc.StatusCode.UNAVAILABLE
        finally:
            ended.set()
            if call is not None:
                call.cancel()

    def _say(self, news: queue.SimpleQueue[tuple[bytes, int]], ended: threading.Event) -> Iterator[Any]:
        """Yields the messages of the stream. Runs on a thread of gRPC."""
        yield messages.HoldRequest(unix_socket=self._store.socket_name, task=self._task, former=self._former, host=self.host,
                                   peer=self.peer)
        while not ended.is_set():
            said = messages.HoldRequest()
            try:
                self._add(said, *news.get(timeout=SAID_EVERY))
                while len(said.held) + len(said.dropped) < blobs.ASKED_AT_ONCE:
                    self._add(said, *news.get_nowait())
            except queue.Empty:
                pass
            with self._lock:
                said.shared_bytes, self._taken = self._taken, 0
                said.peer_bytes, self._copied = self._copied, 0
                if self._refused and not said.held:
                    held = self._store.held()
                    for name in self._refused & set(held):
                        self._add(said, name, held[name])
                    self._refused = set()
            if said.held or said.dropped or said.shared_bytes or said.peer_bytes:
                yield said

    def _add(self, said: Any, name: bytes, size: int) -> None:
        if size < 0:
            said.dropped.append(name)
        else:
            said.held.append(name)
            said.size.append(size)
            said.copy.append(name in self._copies)

    def _hear(self, message: Any) -> None:
        if self.peer:
            self._hear_of_peers(message)
        if message.holder:
            self._outputs_stay = self.outputs_may_stay = message.outputs_stay
            self._bytes_max = message.blob_bytes_max
            self._holder = self._former = message.holder
            self._settled.set()
        with self._lock:
            self._refused.update(message.refused)
        for name in message.unneeded:
            self._on_unneeded(name)
        for name in message.unlisted:
            with self._lock:
                if name in self._copies:
                    self._unlisted.add(name)
            self._on_unlisted(name)
        if message.wanted and self._putting is None:
            self._putting = threading.Thread(target=self._put_wanted, name="muster-put", daemon=True)
            self._putting.start()
        for name in message.wanted:
            if name not in self._queued:
                self._queued.add(name)
                self._wanted.put(name)

    def _hear_of_peers(self, message: Any) -> None:
        try:
            if message.holder:
                self._store.use_certificate(message.certificate, message.key)
            for ticket in message.ticket:
                self._store.expect(ticket.ticket, ticket.name)
        except OSError as error:
            log.error("other hosts cannot fetch values from this process: %s", error)

    # The uploading thread.

    def _put_wanted(self) -> None:
        while True:
            name = self._wanted.get()
            if name is None or self._over.is_set():
                return
            try:
                self._put(name, time.monotonic() + blobs.RETRY_WITHIN)
            except Exception:  # for example out of memory: the server will request the value again
                log.exception("%s cannot be uploaded", name.hex())
            finally:
                self._queued.discard(name)

    def _put(self, name: bytes, end: float) -> bool:
        """Uploads a value. Returns False if the value was dropped, or could not be uploaded before the time `end`."""
        for attempt in itertools.count(1):
            try:
                fd = self._store.opened(name)
                try:
                    data = memory.mapped(fd)
                finally:
                    os.close(fd)
                blobs.put(self._channels.channel(), hashlib.sha256(data).digest(), len(data), blobs.pieces_of([data]),
                          name, self._holder)
                if name in self._store.held():
                    with self._lock:
                        self._put_names.add(name)
                return True
            except KeyError:
                return False  # the value was dropped
            except (grpc.RpcError, OSError, ValueError) as error:
                last = error
                code = error.code() if isinstance(error, grpc.RpcError) else None
                is_stranger = code is grpc.StatusCode.PERMISSION_DENIED
                if code in _FINAL or (is_stranger and attempt >= STRANGER_TRIES) or time.monotonic() > end:
                    break
                if self._over.wait(min(0.1 * attempt, 1.0)):
                    return False
        log.warning("value %s cannot be uploaded: %s", name.hex(), last)
        return False
