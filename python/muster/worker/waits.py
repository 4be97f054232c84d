"""Closures that wait for values of others, and threads that execute meanwhile.

A closure that waits gives its slot back: another thread of the process takes what comes. When it
goes on, more closures may execute for a while than there are slots. It does not wait for a slot: what
has it may need a lock that the closure holds, and would never give it back.
"""
from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, Iterator

from muster.worker.job import Job

WORTH_TELLING = 0.01
"""Seconds that a closure has waited when its slot is given back."""


class Waits:
    """Everything under the runner's lock `changed`. `work_beside` is what threads run; there are as
    many as closures have waited at one time, which is `nested_max` at most."""

    def __init__(self, nested_max: int, changed: threading.Condition,
                 work_beside: Callable[[], None]) -> None:
        self._nested_max = nested_max
        self._changed = changed
        self._work_beside = work_beside
        self.granted = 0
        """By the server; 0: it does not know of waits."""
        self.over = 0
        """Closures that execute beside the runner's own threads, less those that gave a slot back."""
        self.threads = 0
        self._waiting: dict[Any, float] = {}  # jobs, and since when
        self._given = 0  # slots: how many of them are told
        self._back = 0  # of the runner's own threads, those that stand back

    @property
    def untold(self) -> bool:
        """May be read without the lock."""
        return len(self._waiting) > self._given

    def begin(self, job: Job, task: str) -> None:
        limit = min(self._nested_max, self.granted)
        if job.waits == 0 and limit > 0:
            if len(self._waiting) >= limit:
                raise RuntimeError(
                    f"{limit} closures of {task} wait for values of others already, which is as many "
                    "as may: nest less deeply, or start the worker with a larger nested_max")
            self._waiting[job] = time.monotonic()
        job.waits += 1

    def end(self, job: Job) -> bool:
        """Whether the server is to be told: it goes on."""
        if job.waits == 0:
            return False  # it has been answered
        job.waits -= 1
        return job.waits == 0 and self._go_on(job)

    def forget(self, job: Job) -> None:
        """It is about to be answered, whatever still waits."""
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
        """Those that have waited for long enough: their slots are free."""
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
        """Whether one of the runner's own threads is to take nothing: others execute in its place."""
        return self._back < self.over

    @contextlib.contextmanager
    def standing_back(self) -> Iterator[None]:
        """Of such a thread, while it waits for anything."""
        counts = self.keeps_back()
        self._back += counts
        try:
            yield
        finally:
            self._back -= counts
