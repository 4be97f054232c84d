"""Memory with large results of objects. This process owns the memory until the callers have mapped or copied the
results.

A result belongs to a single call. If the result is the current value of a variable (`show`), it belongs to all calls
until the variable changes. A result is dropped when no call is waiting for it. Thread-safe. Requests to the worker,
which holds the memory, are made without holding the lock. Never imports grpc.
"""
from __future__ import annotations

import threading
import time
from typing import Callable, Iterable, Sequence

from muster._pickled.buffers import Data
from muster.objects.within import Name, within
from muster.worker.blobs import Blobs

WAITED_FOR = 60.0
"""Seconds that a caller has to take its result. After this time, the result of a dead or disconnected caller is
dropped.
"""
SHOWN_FOR = 10.0
"""Seconds for which a shown value is kept after its last use."""
LOOK_EVERY = 1.0


class _Content:
    def __init__(self, by: Name | None) -> None:
        self.waiting: set[Name] = set() if by is None else {by}
        self.shown = False
        self.used = time.monotonic()


class Shelf:
    def __init__(self, blobs: Callable[[], Blobs | None]) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()  # protects all below
        self._contents: dict[bytes, _Content] = {}
        self._calls: dict[Name, tuple[float, list[bytes]]] = {}
        """Expiry time and awaited values of each call, ordered by expiry time."""
        self._watched = False

    def there(self) -> bool:
        blobs = self._blobs()
        return blobs is not None and blobs.shared

    # Used for results; see `muster.objects.within`.

    def take(self, data: Data) -> bytes:
        blobs = self._blobs()
        if blobs is None:
            raise OSError("this worker stores no values")
        try:
            name = blobs.own(data)
        except OSError:
            if not self._let_go(float("inf")):
                raise
            name = blobs.own(data)
        with self._lock:
            self._contents[name] = _Content(None)
            self._wait(within.call, [name])
            begun, self._watched = self._watched, True
        if not begun:
            threading.Thread(target=self._watch, name="muster-shelf", daemon=True).start()
        return name

    def undo(self) -> None:
        if within.call is not None:
            self.taken([within.call])

    def show(self, names: Sequence[bytes]) -> None:
        with self._lock:
            for name in names:
                self._contents[name].shown = True

    def again(self, names: Sequence[bytes]) -> bool:
        with self._lock:
            if not all(name in self._contents for name in names):
                return False
            self._wait(within.call, names)
            return True

    def hide(self, names: Sequence[bytes]) -> None:
        with self._lock:
            for name in names:
                if name in self._contents:
                    self._contents[name].shown = False
            gone = self._unneeded(names)
        self._drop(gone)

    # Notices from callers.

    def taken(self, calls: Iterable[Name]) -> None:
        """Records that callers have received their results."""
        with self._lock:
            names = [name for call in calls for name in self._forget(call)]
            gone = self._unneeded(names)
        self._drop(gone)

    # The lock is held during the following calls.

    def _wait(self, call: Name | None, names: Sequence[bytes]) -> None:
        now = time.monotonic()
        for name in names:
            self._contents[name].used = now
        if call is not None:
            _, before = self._calls.pop(call, (0.0, []))
            self._calls[call] = now + WAITED_FOR, [*before, *names]
            for name in names:
                self._contents[name].waiting.add(call)

    def _forget(self, call: Name) -> list[bytes]:
        _, names = self._calls.pop(call, (0.0, []))
        for name in names:
            if name in self._contents:
                self._contents[name].waiting.discard(call)
        return names

    def _unneeded(self, names: Iterable[bytes], shown_until: float = 0.0) -> list[bytes]:
        """Removes the values that no call is waiting for, unless they are shown and were used after `shown_until`.
        Returns the names of the removed values.
        """
        gone = [name for name in names if (content := self._contents.get(name)) is not None and not content.waiting and
                not (content.shown and content.used > shown_until)]
        for name in gone:
            self._contents.pop(name, None)
        return gone

    # The lock is not held during the following calls.

    def _drop(self, names: Sequence[bytes]) -> None:
        blobs = self._blobs()
        for name in names if blobs is not None else ():
            blobs.drop(name)  # type: ignore[union-attr]

    def _let_go(self, shown_until: float) -> bool:
        """Drops results that were not fetched in time, and values that are only shown. Returns whether any result or
        value was dropped.
        """
        now = time.monotonic()
        with self._lock:
            for call in [call for call, (until, _) in self._calls.items() if until <= now]:
                self._forget(call)
            gone = self._unneeded(list(self._contents), shown_until)
        self._drop(gone)
        return bool(gone)

    def _watch(self) -> None:
        """Drops values regularly. Returns when no values remain."""
        while True:
            time.sleep(LOOK_EVERY)
            self._let_go(time.monotonic() - SHOWN_FOR)
            with self._lock:
                if not self._contents:
                    self._watched = False
                    return
