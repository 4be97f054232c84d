"""Serialized messages that are waiting to be written to a stream."""
from __future__ import annotations

import queue
import threading
import time
from typing import Iterator

OUT_BYTES_MAX = 8 << 20
"""Maximum number of bytes that wait to be written. At this limit, the child's messages are delayed, and therefore also
its output.
"""


class Out:
    """Queue of messages for a stream. Any thread can add messages. gRPC iterates over the queue until the stream is
    half-closed or closed.
    """

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = threading.Condition()
        self._bytes = 0
        self._closed = False
        self.written_at = time.monotonic()

    def put(self, data: bytes) -> None:
        with self._room:
            self._bytes += len(data)
        self._queue.put(data)

    def put_when_room(self, data: bytes) -> None:
        with self._room:
            # Returns at the latest when the stream is closed.
            self._room.wait_for(lambda: self._closed or self._bytes < OUT_BYTES_MAX)
        self.put(data)

    def put_if_room(self, data: bytes) -> None:
        with self._room:
            full = self._bytes >= OUT_BYTES_MAX
        if not full:
            self.put(data)

    def half_close(self) -> None:
        self._queue.put(None)

    def close(self) -> None:
        with self._room:
            self._closed = True
            self._room.notify_all()
        self._queue.put(None)

    def __iter__(self) -> Iterator[bytes]:
        while True:
            data = self._queue.get()
            if data is None:
                return
            with self._room:
                was_full = self._bytes >= OUT_BYTES_MAX
                self._bytes -= len(data)
                if was_full:
                    self._room.notify_all()
            self.written_at = time.monotonic()
            yield data
