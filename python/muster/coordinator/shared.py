"""Large arguments of a coordinator in memory that workers of its host take, and values taken from there.

A buffer that is passed again while its content is still there is the same content, if it has not changed. The last
few stay a little longer than the closures that name them, for calls that follow each other; but not longer than the
object whose bytes they are, which nobody can pass again. So a loop that makes an array for each call writes to the
same memory again. Any thread.
"""
from __future__ import annotations

import array
import collections
import mmap
import os
import queue
import sys
import threading
import time
import weakref
from typing import Any, Callable, NamedTuple

from muster._pickled.buffers import Data
from muster._shared import memory
from muster._shared.holding import Channels
from muster._shared.process import Process, Taken
from muster._shared.store import Full

STAYS = 5.0
"""Seconds after its last use."""
STAYING_MAX = 8
VIEWS_MAX = 32
"""That are looked through for whose bytes they show."""
VALUE_BYTES_MAX = 1 << 30
"""Of a value from another host, which is memory of this process: the limit of a blob."""


def _check_size(size: int) -> None:
    if size > VALUE_BYTES_MAX:
        raise OSError(f"{size} bytes, the limit of a value is {VALUE_BYTES_MAX}")


class SharedContent:
    """What closures which have not ended name. Goes with the last reference."""

    __slots__ = ("digest", "view", "__weakref__")

    def __init__(self, digest: bytes, view: memoryview) -> None:
        self.digest = digest
        self.view = view


class _Staying(NamedTuple):
    until: float
    content: SharedContent
    source: Data | None
    """The buffer that it is of, where that is not to be compared again."""
    watch: weakref.ref[Any] | None
    """On whose bytes it is of; none, where its end is not told."""


def _owner(data: Data) -> Any | None:
    """Whose memory its bytes are, where that is known: others may make a new object each time they are asked for their bytes."""
    found: Any = memoryview(data).obj
    for _ in range(VIEWS_MAX):
        below = found.obj if isinstance(found, memoryview) else getattr(found, "base", None)
        if below is None:
            break
        found = below
    numpy = sys.modules.get("numpy")
    owners = (mmap.mmap, array.array, *((numpy.ndarray,) if numpy is not None else ()))
    return found if isinstance(found, owners) else None


class Shared:
    """Starts with the first large argument or value."""

    def __init__(self, channels: Channels, bytes_max: int, make_room: Callable[[], bool] = lambda: False) -> None:
        """`make_room`: has others let go of some contents that they could do without; false: there are no more."""
        self._channels = channels
        self._make_room = make_room
        self._bytes_max = bytes_max
        self._lock = threading.Lock()  # protects all below
        self._process: Process | None = None
        self._closed = False
        self._by_place: weakref.WeakValueDictionary[tuple[int, int], SharedContent] = weakref.WeakValueDictionary()
        self._staying: collections.OrderedDict[bytes, _Staying] = collections.OrderedDict()
        self._unchanged = False
        self._sources_gone: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    @property
    def there(self) -> bool:
        return bool(self._bytes_max)

    def put(self, name: bytes) -> bool:
        """What is held here, at the server, too."""
        process = self._process
        return process is not None and process.holding.put(name)

    def content(self, data: Data, timeout: float) -> SharedContent | None:
        """None: it is to be put. `timeout`: for the server to say that it knows of this, the first time."""
        process = self._started(timeout)
        if process is None:
            return None
        place = memory.address(data)
        with self._lock:
            found = self._by_place.get(place)
            known = None if found is None else self._staying.get(found.digest)
        is_same = known is not None and known.source is not None  # which is there, so nothing else is in its place
        if found is None or not (is_same or memory.same(found.view, data)):
            if found is not None:  # what is there now has taken the place of what it is of
                with self._lock:
                    known = self._staying.pop(found.digest, None)
            del known
            found = self._made(process, data)
            if found is None:
                return None
            with self._lock:
                self._by_place[place] = found
        self._stays(found, data, process)
        return found

    def unchanged(self, yes: bool) -> None:
        """The program does not change arguments meanwhile."""
        with self._lock:
            self._unchanged = yes
            before = list(self._staying.items())
            if not yes:
                self._staying.update({name: each._replace(source=None) for name, each in before})
        del before  # without the lock

    def get(self, name: bytes, timeout: float) -> memoryview | None:
        """None: it is to be had from the server."""
        process = self._started(timeout)
        if process is None:
            return None
        views: list[memoryview] = []

        def got(fd: int) -> None:
            try:
                views.append(memory.mapped(fd))
            finally:
                os.close(fd)

        def taken(of: Taken) -> None:
            got(of.fd)

        try:
            got(process.store.opened(name))
        except KeyError:
            process.take(name, False, taken, _check_size, taken)
        return views[0] if views else None

    def by_server(self, size: int, seconds: float) -> None:
        """A value came from the server."""
        if self._process is not None:
            self._process.by_server(size, seconds)

    def outputs_may_stay(self) -> bool:
        """With who made them, as far as was said."""
        process = self._process
        return process is not None and process.holding.outputs_may_stay

    def is_lost(self, name: bytes) -> bool:
        """It is nowhere any more."""
        process = self._process
        return process is not None and process.is_lost(name)

    def put_names(self) -> list[bytes]:
        """What is held here and was put at the server as well."""
        process = self._process
        return [] if process is None else process.holding.all_put()

    def gone(self, names: list[bytes]) -> None:
        """The server has these no more; it asks for them again."""
        if self._process is not None:
            self._process.holding.gone(names)

    def look(self) -> None:
        """The connection is another."""
        if self._process is not None:
            self._process.holding.look()

    def tick(self, now: float) -> bool:
        """Lets go of what nobody has used for a while. Whether some is left."""
        with self._lock:
            gone = [self._staying.pop(name) for name, each in list(self._staying.items()) if each.until <= now]
        del gone  # without the lock
        return bool(self._staying)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
            staying = list(self._staying.values())
            self._staying.clear()
        del staying
        if process is not None:
            process.close()

    def _started(self, timeout: float) -> Process | None:
        if not self._bytes_max or self._closed:
            return None
        with self._lock:
            if self._process is None and not self._closed:
                self._process = Process(self._channels, self._bytes_max)
            process = self._process
        return process if process is not None and process.holding.ready(timeout) else None

    def _made(self, process: Process, data: Data) -> SharedContent | None:
        size = memoryview(data).nbytes
        if not self._reserved(process, size):
            return None
        name = os.urandom(32)
        try:
            fd = memory.make(name, [data], min(self._bytes_max // 4, process.store.free()))
            try:
                view = memory.mapped(fd)
            except OSError:
                os.close(fd)
                raise
        except OSError:
            process.store.unreserve(size)
            return None
        made = SharedContent(name, view)
        process.hold(name, fd, size)
        weakref.finalize(made, process.drop_soon, name).atexit = False
        return made

    def _reserved(self, process: Process, size: int) -> bool:
        if size > self._bytes_max:
            return False
        ticked = False
        while True:
            try:
                process.store.reserve(size)
                return True
            except Full:
                if not ticked:
                    self.tick(float("inf"))
                    ticked = True
                elif not self._make_room():
                    return False
            process.drop_now()

    def _stays(self, content: SharedContent, data: Data, process: Process) -> None:
        name, until = content.digest, time.monotonic() + STAYS

        def source_gone(_: Any) -> None:  # while something is collected: takes no lock
            self._sources_gone.put(name)
            process.soon(self._forget_sources)

        owner = _owner(data)
        watch = None if owner is None else weakref.ref(owner, source_gone)
        del owner
        with self._lock:
            before = self._staying.pop(name, None)
            self._staying[name] = _Staying(until, content, data if self._unchanged else None, watch)
            gone = self._staying.popitem(last=False) if len(self._staying) > STAYING_MAX else None
        del before, gone  # without the lock

    def _forget_sources(self) -> None:
        """The store's thread."""
        while not self._sources_gone.empty():
            with self._lock:
                found = self._staying.pop(self._sources_gone.get(), None)
            del found  # without the lock
