"""Waits for the values in nested structures, and iterates over values in the order in which their calls end."""
from __future__ import annotations

import asyncio
import copy
import dataclasses
import queue
import time
from typing import Any, Callable, Iterable, Iterator

from muster.coordinator.progress import Bar
from muster.coordinator.remote_value import RemoteValue
from muster.errors import WaitTimeout
from muster.worker.context import waiting


def fetch_structure(structure: Any, timeout: float | None, stops: bool = True) -> Any:
    """Returns the structure with the fetched values in place of RemoteValues. ClosureError.again describes `stops`."""
    end = None if timeout is None else time.monotonic() + timeout
    return _fetch(structure, end, stops)


def _fetch(s: Any, end: float | None, stops: bool) -> Any:
    if isinstance(s, RemoteValue):
        return s._fetch(None if end is None else max(0.0, end - time.monotonic()), stops)
    if isinstance(s, tuple):
        items = [_fetch(item, end, stops) for item in s]
        return type(s)(*items) if hasattr(s, "_fields") else type(s)(items)
    if isinstance(s, list):
        return [_fetch(item, end, stops) for item in s]
    if isinstance(s, dict):
        made = copy.copy(s)  # a copy keeps the class, the order and default_factory
        for key, item in s.items():
            made[key] = _fetch(item, end, stops)
        return made
    if _is_dataclass(s) and _has_values(s):
        made = copy.copy(s)
        for name, item in _fields(s):
            object.__setattr__(made, name, _fetch(item, end, stops))  # works for frozen dataclasses too
        return made
    return s


def _is_dataclass(s: Any) -> bool:
    return dataclasses.is_dataclass(s) and not isinstance(s, type)


def _fields(s: Any) -> list[tuple[str, Any]]:
    return [(f.name, getattr(s, f.name)) for f in dataclasses.fields(s) if hasattr(s, f.name)]


def _has_values(s: Any) -> bool:
    return any(True for _ in values_of(s))


def values_of(s: Any) -> Iterator[RemoteValue[Any]]:
    """Yields the RemoteValues that `fetch_structure` replaces."""
    if isinstance(s, RemoteValue):
        yield s
    items: Iterable[Any] = ()
    if isinstance(s, (tuple, list)):
        items = s
    elif isinstance(s, dict):
        items = s.values()
    elif _is_dataclass(s):
        items = [item for _, item in _fields(s)]
    for item in items:
        yield from values_of(item)


class as_completed:
    """Iterates over values in the order in which their calls end, with ``for`` or ``async for``.

    Args:
        values: RemoteValues, which can belong to several coordinators.
        timeout: Seconds after the creation of the iterator within which all calls must end. None means no limit.
        progress: Whether to show a progress bar, if tqdm is installed.

    Raises:
        WaitTimeout: Raised during iteration if some calls do not end within `timeout`.

    Example:
        ```python
        import muster

        with muster.LocalCluster(workers=2) as cluster, cluster.coordinator() as c:
            for value in muster.as_completed([c.submit(pow, i, 2) for i in range(3)]):
                print(value.fetch())
        ```
    """

    def __init__(self, values: Iterable[RemoteValue[Any]], timeout: float | None = None, *,
                 progress: bool = False) -> None:
        self._ended: queue.SimpleQueue[RemoteValue[Any]] = queue.SimpleQueue()
        self._end = None if timeout is None else time.monotonic() + timeout
        self._timeout = timeout
        self._left = 0
        self._open: dict[int, RemoteValue[Any]] = {}
        self._wakes: set[Callable[[], None]] = set()  # functions that wake waiting coroutines
        for value in values:
            self._left += 1
            self._open[id(value)] = value
            value.add_done_callback(lambda value=value: self._came(value))  # type: ignore[misc]
        self._bar = Bar(progress, self._left)
        if not self._left:
            self._bar.close()

    def __iter__(self) -> Iterator[RemoteValue[Any]]:
        while self._left:
            yield self._next()

    def _next(self) -> RemoteValue[Any]:
        left = None if self._end is None else max(0.0, self._end - time.monotonic())
        try:
            with waiting():
                value = self._ended.get(timeout=left)
        except queue.Empty:
            raise self._too_late() from None
        return self._taken(value)

    def _came(self, value: RemoteValue[Any]) -> None:
        """Adds a value whose call has ended. Called on a thread of the library."""
        self._ended.put(value)
        for wake in list(self._wakes):
            wake()

    def _too_late(self) -> WaitTimeout:
        self._bar.close()
        value = next(iter(self._open.values()), None)
        why = value._reason(self._timeout) if value is not None else ""
        return WaitTimeout(f"{self._left} closure{'s' * (self._left != 1)} did not finish in time{why}")

    def _taken(self, value: RemoteValue[Any]) -> RemoteValue[Any]:
        self._left -= 1
        self._open.pop(id(value), None)
        self._bar.add(1)
        if not self._left:
            self._bar.close()
        return value

    def __aiter__(self) -> as_completed:
        return self

    async def __anext__(self) -> RemoteValue[Any]:
        if not self._left:
            raise StopAsyncIteration
        with waiting():
            while True:
                # There is no await between here and the return, so a cancelled coroutine loses no value.
                try:
                    return self._taken(self._ended.get_nowait())
                except queue.Empty:
                    pass
                if not await self._wait_for_one():
                    raise self._too_late()

    async def _wait_for_one(self) -> bool:
        """Waits for the next value. Returns False if the time limit has expired."""
        left = None if self._end is None else max(0.0, self._end - time.monotonic())
        loop = asyncio.get_running_loop()
        came = asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(came.set)
            except RuntimeError:  # the event loop was closed
                pass

        self._wakes.add(wake)
        try:
            if self._ended.empty():  # checked again, because a value may have ended before `wake` was added
                await asyncio.wait_for(came.wait(), left)
            return True
        except asyncio.TimeoutError:
            return False
        finally:
            self._wakes.discard(wake)
