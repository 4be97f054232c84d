"""Closures that wait for values of other closures, and threads that execute additional closures during these waits.

A waiting closure releases its slot, and another thread of the process executes the next closure. When the waiting
closure continues, the number of running closures may temporarily exceed the number of slots. The waiting closure must
not wait for a free slot. The closure that occupies the slot may need a lock that the waiting closure holds, and would
then never finish.
"""
from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, Iterator

from muster.worker.job import Job

WORTH_TELLING = 0.01
"""Seconds of waiting after which a closure releases its slot."""


class Waits:
    """The waits of a runner's closures. All methods except `untold` require the runner's lock `changed`. Additional
    threads execute `work_beside`. The number of additional threads is the largest number of closures that have waited
    at the same time, at most `nested_max`.
    """

    def __init__(self, nested_max: int, changed: threading.Condition,
                 work_beside: Callable[[], None]) -> None:
        self._nested_max = nested_max
        self._changed = changed
        self._work_beside = work_beside
        self.granted = 0
        """Maximum number of waits that the server allows, or 0 if the server does not support waits."""
        self.over = 0
        """Number of closures on additional threads, minus the number of released slots."""
        self.threads = 0
        self._waiting: dict[Any, float] = {}  # waiting jobs and the start times of their waits
        self._given = 0  # number of released slots that the server knows of
        self._back = 0  # number of the runner's own threads that are currently held back

    @property
    def untold(self) -> bool:
        """True if a wait has not been reported yet. Can be read without the lock."""
        return len(self._waiting) > self._given

    def begin(self, job: Job, task: str) -> None:
        limit = min(self._nested_max, self.granted)
        if job.waits == 0 and limit > 0:
            if len(self._waiting) >= limit:
                raise RuntimeError(
                    f"{limit} closures of {task} already wait for values of other closures, which is the limit; nest "
                    "calls less deeply, or start the worker with a larger nested_max")
            self._waiting[job] = time.monotonic()
        job.waits += 1

    def end(self, job: Job) -> bool:
        """Ends a wait. Returns whether the server must be informed that the closure continues."""
        if job.waits == 0:
            return False  # the closure has already been answered
        job.waits -= 1
        return job.waits == 0 and self._go_on(job)

    def forget(self, job: Job) -> None:
        """Ends all waits of a closure that is about to be answered."""
        job.waits = 0
        self._go_on(job)

    def _go_on(self, job: Job) -> bool:
        self._waiting.pop(job, None)
        told, job.told = job.told, False
        if told:
            self._given -= 1
            self.over += 1
        return told

    def tell(self, now: float) -> Iterator[Job]:
        """Releases the slots of closures that have waited long enough and yields these closures."""
        for job, since in self._waiting.items():
            if job.told or now - since < WORTH_TELLING:
                continue
            job.told = True
            self._given += 1
            self.over -= 1
            if self.threads < self._given:
                self.threads += 1
                threading.Thread(target=self._work_beside, name=f"muster-beside-{self.threads}",
                                 daemon=True).start()
            self._changed.notify_all()
            yield job

    def keeps_back(self) -> bool:
        """Returns whether one of the runner's own threads must not take a closure, because additional threads are
        executing closures in its place.
        """
        return self._back < self.over

    @contextlib.contextmanager
    def standing_back(self) -> Iterator[None]:
        """Counts the calling thread as held back while the thread waits in the ``with`` block."""
        counts = self.keeps_back()
        self._back += counts
        try:
            yield
        finally:
            self._back -= counts
