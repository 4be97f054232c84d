"""Shared memory of a coordinator. Contains large arguments, which workers of the same host map, and values that this
process maps.

If a buffer is passed again while its copy is still stored, the buffer is compared with the copy, and an equal copy is
reused. The last few copies are kept a little longer than their closures, so that successive calls can reuse the copies.
A copy is dropped earlier if the object that owns the bytes is garbage-collected, because the same object cannot be
passed again. A loop that creates a new array for each call therefore reuses the same memory. Methods can be called from
any thread.
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
"""Seconds for which a stored value is kept after its last use."""
STAYING_MAX = 8
VIEWS_MAX = 32
"""Number of nested views that are followed to the owner of the bytes."""
VALUE_BYTES_MAX = 1 << 30
"""Maximum size in bytes of a value from a different host, which is stored in memory of this process. Equal to the limit
of a blob.
"""


def _check_size(size: int) -> None:
    if size > VALUE_BYTES_MAX:
        raise OSError(f"the value has {size} bytes, the limit is {VALUE_BYTES_MAX}")


class SharedContent:
    """A shared value that unfinished closures refer to. The memory is freed when the last reference is dropped."""

    __slots__ = ("digest", "view", "__weakref__")

    def __init__(self, digest: bytes, view: memoryview) -> None:
        self.digest = digest
        self.view = view


class _Staying(NamedTuple):
    until: float
    content: SharedContent
    source: Data | None
    """The stored buffer, or None if the buffer must be compared again."""
    watch: weakref.ref[Any] | None
    """Weak reference to the owner of the bytes, or None if the garbage collection of the owner cannot be detected."""


def _owner(data: Data) -> Any | None:
    """Returns the object that owns the bytes. Returns None if the owner is unknown, because some objects create a new
    object each time their bytes are requested.
    """
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
    """The shared memory of a coordinator. The memory is set up for the first large argument or value."""

    def __init__(self, channels: Channels, bytes_max: int, make_room: Callable[[], bool] = lambda: False) -> None:
        """Creates the object. `make_room` releases values that are not strictly needed, and returns False if there are
        no such values.
        """
        self._channels = channels
        self._make_room = make_room
        self._bytes_max = bytes_max
        self._lock = threading.Lock()  # protects the fields below
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
        """Copies a value of this process to the server. Returns False if this process does not have the value, or if
        the value cannot be stored.
        """
        process = self._process
        return process is not None and process.holding.put(name)

    def content(self, data: Data, timeout: float) -> SharedContent | None:
        """Returns the shared copy of a buffer, or None if the buffer must be sent to the server. The first call waits
        up to `timeout` seconds for the server to report whether shared memory is supported.
        """
        process = self._started(timeout)
        if process is None:
            return None
        place = memory.address(data)
        with self._lock:
            found = self._by_place.get(place)
            known = None if found is None else self._staying.get(found.digest)
        is_same = known is not None and known.source is not None  # the source exists, so its address was not reused
        if found is None or not (is_same or memory.same(found.view, data)):
            if found is not None:  # the buffer has new content at the same address
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
        """Sets whether the program promises not to change arguments."""
        with self._lock:
            self._unchanged = yes
            before = list(self._staying.items())
            if not yes:
                self._staying.update({name: each._replace(source=None) for name, each in before})
        del before  # without the lock

    def get(self, name: bytes, timeout: float) -> memoryview | None:
        """Returns the mapped value, or None if the value must be fetched from the server."""
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

    def record_server_time(self, size: int, seconds: float) -> None:
        """Records that a value of `size` bytes was fetched from the server in `seconds`."""
        if self._process is not None:
            self._process.record_server_time(size, seconds)

    def outputs_may_stay(self) -> bool:
        """Returns whether, according to the server, some values may be stored only on the worker that computed the
        values.
        """
        process = self._process
        return process is not None and process.holding.outputs_may_stay

    def is_lost(self, name: bytes) -> bool:
        """Returns whether the value no longer exists anywhere."""
        process = self._process
        return process is not None and process.is_lost(name)

    def put_names(self) -> list[bytes]:
        """Returns the names of this process's values that are also stored on the server."""
        process = self._process
        return [] if process is None else process.holding.all_put()

    def gone(self, names: list[bytes]) -> None:
        """Records that the server no longer has these values. The server requests needed values again."""
        if self._process is not None:
            self._process.holding.gone(names)

    def look(self) -> None:
        """Called after a new connection to the server is opened."""
        if self._process is not None:
            self._process.holding.look()

    def tick(self, now: float) -> bool:
        """Drops values that have not been used for a while. Returns whether any values are left."""
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

        def source_gone(_: Any) -> None:  # takes no lock, because the garbage collector calls it
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
        """Drops the values whose source objects were garbage-collected. Runs on the store's thread."""
        while not self._sources_gone.empty():
            with self._lock:
                found = self._staying.pop(self._sources_gone.get(), None)
            del found  # without the lock
