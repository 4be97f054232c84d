"""Waiting closures of a worker process, and the reports of their waits."""
from __future__ import annotations

import threading
import time

from muster._wire.messages import ServerMessage, WorkerMessage
from muster.worker.held import Held
from muster.worker.job import Job
from muster.worker.waits import WORTH_TELLING, Waits


def some_job(closure: int) -> Job:
    return Job(closure, 1, 0, b"[]", 0)


def some_waits(nested_max: int = 2) -> Waits:
    made = Waits(nested_max, threading.Condition(), lambda: None)
    made.granted = 10
    return made


def test_short_wait_is_not_reported() -> None:
    waits, job = some_waits(), some_job(1)
    waits.begin(job, "worker:0")
    assert waits.untold
    assert list(waits.tell(waits._waiting[job])) == []
    assert not waits.end(job)
    assert not waits.untold and waits.threads == 0


def test_long_wait_is_reported_once_with_its_end() -> None:
    waits, job = some_waits(), some_job(1)
    waits.begin(job, "worker:0")
    waits.begin(job, "worker:0")  # two waits at the same time
    later = time.monotonic() + WORTH_TELLING
    with waits._changed:
        assert list(waits.tell(later)) == [job]
        assert list(waits.tell(later)) == []
    assert (waits.over, waits.threads, job.told) == (-1, 1, True)
    assert not waits.end(job)
    assert waits.end(job)
    assert (waits.over, job.told) == (0, False)
    assert not waits.end(job)  # ended a second time


def test_slot_is_kept_where_the_server_does_not_support_releasing_it() -> None:
    waits, job = some_waits(), some_job(1)
    waits.granted = 0
    waits.begin(job, "worker:0")
    assert not waits.untold
    assert not waits.end(job)


def test_waiting_closures_are_tracked_and_not_blamed() -> None:
    held = Held()
    held.sent(ServerMessage(closure=[1, 2, 3], attempt=[1, 1, 1]))
    held.waits(WorkerMessage(wait_closure=[1, 3, 3, 9], wait_attempt=[1, 1, 1, 1],
                             waits=[True, True, False, True]))
    assert held.waiting == {1}
    suspect = held.suspect()
    assert suspect is not None and suspect[0] == 2
    before = set(held.waiting)
    held.waits(WorkerMessage(wait_closure=[1, 2], wait_attempt=[1, 1], waits=[False, True]))
    changed = held.waits_since(before)
    assert (list(changed.wait_closure), list(changed.waits)) == ([1, 2], [False, True])
    held.answered(WorkerMessage(closure=[2], attempt=[1], value=[b"1"]), b"")
    assert held.waiting == set()
