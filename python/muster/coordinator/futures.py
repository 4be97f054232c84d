"""Standard library futures for outputs of calls. The slot of a function on a worker is free while the function waits
for such a future.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
from typing import Any, Callable, ContextManager, Iterator

from muster import _forks
from muster.worker.context import current, waiting


class _Waiters(list):  # type: ignore[type-arg]
    """List of the waiters of concurrent.futures.wait and as_completed. A thread that adds a waiter is marked as waiting
    until the waiter is removed.
    """

    def append(self, waiter: Any) -> None:
        entered = waiting()
        entered.__enter__()
        super().append((waiter, entered))

    def remove(self, waiter: Any) -> None:
        found = next(pair for pair in super().__iter__() if pair[0] is waiter)
        super().remove(found)
        found[1].__exit__()

    def __iter__(self) -> Iterator[Any]:
        return (waiter for waiter, _ in super().__iter__())


class Future(concurrent.futures.Future):  # type: ignore[type-arg]
    """The future of an output. The context manager `noted` is active during each wait for this future; see RemoteValue.
    `noted` is not active while a thread waits for several futures, because any future can end the wait.
    """

    def __init__(self, noted: Callable[[], ContextManager[Any]] = contextlib.nullcontext) -> None:
        super().__init__()
        self._noted = noted
        if current() is not None:
            self._waiters = _Waiters()

    def forked(self) -> None:
        """Makes every wait for an unfinished future, including `concurrent.futures.wait`, raise RuntimeError."""
        if self._state not in (concurrent.futures._base.FINISHED, concurrent.futures._base.CANCELLED_AND_NOTIFIED):
            self._condition: Any = _forks.LostLock("future")

    def result(self, timeout: float | None = None) -> Any:
        with waiting(), self._noted():
            return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        with waiting(), self._noted():
            return super().exception(timeout)
