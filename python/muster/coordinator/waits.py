"""Functions that wait until the calls of some RemoteValues have ended."""
from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, Callable, Iterable

from muster.coordinator.remote_value import RemoteValue
from muster.coordinator.session_waits import LOOK_EVERY
from muster.worker.context import waiting

Values = list[RemoteValue[Any]]


def wait(values: Iterable[RemoteValue[Any]], num_returns: int = 1, timeout: float | None = None
         ) -> tuple[Values, Values]:
    """Waits until the calls of `num_returns` values have ended, with a result or an error.

    The values can belong to several coordinators.

    Args:
        values: RemoteValues, without duplicates.
        num_returns: Number of values to wait for.
        timeout: Seconds to wait. None means no limit.

    Returns:
        Two lists: at most `num_returns` completed values, and all remaining values. Both lists have the order of
        `values`. If `timeout` expires, the first list can be shorter than `num_returns`.

    Raises:
        ValueError: `num_returns` is less than 1 or larger than the number of values, or a value occurs twice.
        TypeError: An element is not a RemoteValue.
        RuntimeError: `wait` was called in a callback, which would block the thread that delivers the results.

    Example:
        ```python
        import muster

        with muster.LocalCluster(workers=2) as cluster, cluster.coordinator() as c:
            values = [c.submit(pow, i, 2) for i in range(3)]
            ended, pending = muster.wait(values, num_returns=3)
            print(c.fetch(ended), pending)  # [0, 1, 4] []
        ```
    """
    each = _checked(values, num_returns)
    ended = threading.Event()
    with _Counter(each, num_returns, ended.set) as counter:
        if not counter.enough and (timeout is None or timeout > 0):
            _check_thread(each)
            end = None if timeout is None else time.monotonic() + timeout
            with waiting():
                while not ended.wait(LOOK_EVERY if end is None else min(LOOK_EVERY, max(0.0, end - time.monotonic()))):
                    if end is not None and time.monotonic() >= end:
                        break
                    pending = next((v for v in each if not v.done()), None)
                    if pending is not None:
                        pending._warn()
    return _divided(each, num_returns)


async def async_wait(values: Iterable[RemoteValue[Any]], num_returns: int = 1, timeout: float | None = None
                     ) -> tuple[Values, Values]:
    """Asynchronous version of `wait`. If the awaiting task is cancelled, the calls continue to run.

    Args:
        values: RemoteValues, without duplicates.
        num_returns: Number of values to wait for.
        timeout: Seconds to wait. None means no limit.

    Returns:
        Two lists, as in `wait`: at most `num_returns` completed values, and all remaining values.

    Raises:
        ValueError, TypeError: See `wait`.
    """
    each = _checked(values, num_returns)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(ended.set)
        except RuntimeError:  # the event loop was closed
            pass

    with _Counter(each, num_returns, wake) as counter, waiting():
        if not counter.enough:
            try:
                await asyncio.wait_for(ended.wait(), timeout)
            except asyncio.TimeoutError:
                pass
    return _divided(each, num_returns)


class _Counter:
    """Calls `notify` once, when `count` of the values are completed. Removes its callbacks when the wait ends."""

    def __init__(self, values: Values, count: int, notify: Callable[[], None]) -> None:
        self._values = values
        self._notify = notify
        self._lock = threading.Lock()  # protects _left
        self._left = 0 if sum(v.done() for v in values) >= count else count
        self._added: list[tuple[RemoteValue[Any], Callable[[], None]]] = []

    @property
    def enough(self) -> bool:
        return self._left <= 0

    def __enter__(self) -> _Counter:
        for value in self._values:
            if self.enough:
                break
            self._added.append((value, self._ended))
            value.add_done_callback(self._ended)  # called immediately if the value has ended
        return self

    def __exit__(self, *error: object) -> None:
        for value, callback in self._added:
            if not value.done():
                value._forget_callback(callback)

    def _ended(self) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._notify()


def _checked(values: Iterable[RemoteValue[Any]], num_returns: int) -> Values:
    if isinstance(values, RemoteValue):
        raise TypeError("wait() needs a list of values, not a single value: wait([value])")
    each = list(values)
    for value in each:
        if not isinstance(value, RemoteValue):
            raise TypeError(f"wait() accepts only RemoteValues, not {type(value).__name__}")
    if len(set(map(id, each))) < len(each):
        raise ValueError("values: a value occurs twice")
    if not 0 < num_returns <= len(each):
        raise ValueError(f"num_returns: {num_returns}, must be at least 1 and at most {len(each)}, the number of values")
    return each


def _check_thread(values: Values) -> None:
    if any(v._owner is not None and v._owner.session._is_reading() for v in values):
        raise RuntimeError("a callback cannot wait, because its thread delivers the results; wait on another thread")


def _divided(values: Values, count: int) -> tuple[Values, Values]:
    ready: Values = []
    pending: Values = []
    for value in values:
        (ready if len(ready) < count and value.done() else pending).append(value)
    return ready, pending
