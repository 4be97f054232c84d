"""Methods of objects that are coroutines."""
from __future__ import annotations

import asyncio
import pathlib
import sys
from typing import Any

import cloudpickle
import pytest

import muster
from conftest import Cluster, until


class Account:
    def __init__(self) -> None:
        self.balance = 0
        self._opened: asyncio.Event | None = None
        self.loops: set[int] = set()

    async def add(self, amount: int) -> int:
        before = self.balance
        await asyncio.sleep(0.01)
        self.balance = before + amount
        self.loops.add(id(asyncio.get_running_loop()))
        return self.balance

    def opened(self) -> asyncio.Event:
        if self._opened is None:  # Python 3.9 binds it to the running loop
            self._opened = asyncio.Event()
        return self._opened

    async def wait(self) -> str:
        await self.opened().wait()
        return "opened"

    async def wait_for_cancel(self, cancelled: pathlib.Path) -> None:
        self.opened().set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.touch()
            raise

    async def open(self) -> int:
        self.opened().set()
        return len(self.loops)

    async def fail(self) -> None:
        await asyncio.sleep(0)
        raise KeyError("no")

    async def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.add(5))

    async def started(self) -> int:
        return await self.task

    async def parts(self) -> Any:
        yield 1

    async def other(self, account: muster.RemoteObject) -> int:
        done: int = await account.add(1)
        return done


@pytest.fixture(params=[(), ("--threads", "2")], ids=["processes", "threads"])
def coordinator(request: pytest.FixtureRequest, make_cluster: Any) -> muster.ClusterCoordinator:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    made: Cluster = make_cluster()
    made.add(*request.param)
    return made.coordinator()


def test_calls_of_one_object_run_one_after_the_other(coordinator: muster.ClusterCoordinator) -> None:
    account = coordinator.create(Account, task="worker:0")
    assert coordinator.fetch([account.add(1) for _ in range(5)], timeout=20) == [1, 2, 3, 4, 5]
    assert account.open().fetch(20) == 1, "one event loop"


def test_calls_overlap_with_concurrency(coordinator: muster.ClusterCoordinator) -> None:
    account = coordinator.create(Account, task="worker:0", concurrency=3)
    waiting = [account.wait(), account.wait()]
    account.open().fetch(20)
    assert coordinator.fetch(waiting, timeout=20) == ["opened", "opened"]


def test_tasks_continue_between_calls_and_errors_are_raised(coordinator: muster.ClusterCoordinator) -> None:
    account = coordinator.create(Account, task="worker:0")
    account.start().fetch(20)
    assert account.started().fetch(20) == 5
    with pytest.raises(KeyError):
        account.fail().fetch(20)
    with pytest.raises(TypeError, match="Account.parts is a generator, which cannot be sent; return a list instead"):
        account.parts().fetch(20)
    with pytest.raises(TypeError, match="Account.balance is an attribute of the object, not a method: define a method"):
        account.balance().fetch(20)


def test_coroutine_awaits_calls_of_other_objects(coordinator: muster.ClusterCoordinator) -> None:
    first, second = (coordinator.create(Account, task="worker:0") for _ in range(2))
    assert first.other(second).fetch(20) == 1


def test_deleted_object_ends_its_coroutines(coordinator: muster.ClusterCoordinator, tmp_path: pathlib.Path) -> None:
    cancelled = tmp_path / "cancelled"
    account = coordinator.create(Account, task="worker:0", concurrency=2)
    waiting = account.wait_for_cancel(cancelled)
    account.wait().fetch(20)
    account.delete()
    with pytest.raises(muster.ClosureError):
        waiting.fetch(20)
    until(cancelled.exists, "the coroutine is cancelled")
    assert coordinator.create(Account, task="worker:0").add(1).fetch(20) == 1
