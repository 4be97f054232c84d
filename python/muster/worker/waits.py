"""Closures that wait for values of others, and the threads that execute other closures during these waits.

A waiting closure gives its slot back: another thread of the process executes the next closure. When the waiting
closure continues, more closures than slots may execute for a while. It does not wait for a slot: the closure in the
slot may need a lock that the continuing closure holds, and would then never end.
"""
from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, Iterator

from muster.worker.job import Job

WORTH_TELLING = 0.01
"""Seconds of waiting after which a closure gives its slot back."""


class Waits:
    """All methods require the runner's lock `changed`. Threads execute `work_beside`; there are as many as closures
    have
    waited at one time, at most `nested_max`.
    """

    def __init__(self, nested_max: int, changed: threading.Condition,
                 work_beside: Callable[[], None]) -> None:
        self._nested_max = nested_max
        self._changed = changed
        self._work_beside = work_beside
        self.granted = 0
        """Maximum number of waits that the server allows; 0 if it does not support waits."""
        self.over = 0
        """Number of closures on additional threads, minus the number of slots given back."""
        self.threads = 0
        self._waiting: dict[Any, float] = {}  # waiting jobs, and the start of their wait
        self._given = 0  # number of slots given back, which the server knows
        self._back = 0  # number of the runner's own threads that stand back

    @property
    def untold(self) -> bool:
        """Whether a wait is not reported yet. May be read without the lock."""
        return len(self._waiting) > self._given

    def begin(self, job: Job, task: str) -> None:
        limit = min(self._nested_max, self.granted)
        if job.waits == 0 and limit > 0:
            if len(self._waiting) >= limit:
                raise RuntimeError(
                    f"{limit} closures of {task} already wait for values of others, which is the "
                    "limit: nest less deeply, or start the worker with a larger nested_max")
            self._waiting[job] = time.monotonic()
        job.waits += 1

    def end(self, job: Job) -> bool:
        """Ends a wait. Returns whether to report to the server that the closure continues."""
        if job.waits == 0:
            return False  # the closure was answered
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
        """Gives back the slots of closures that have waited for long enough, and yields these closures."""
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
        """Returns whether one of the runner's own threads must take no closure, because additional threads execute in
        its
        place.
        """
        return self._back < self.over

    @contextlib.contextmanager
    def standing_back(self) -> Iterator[None]:
        """Counts a thread as standing back while it waits."""
        counts = self.keeps_back()
        self._back += counts
        try:
            yield
        finally:
            self._back -= counts
