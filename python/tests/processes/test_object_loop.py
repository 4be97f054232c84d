"""The event loop of an object with asynchronous methods answers each call, whatever a method raises or ignores."""
from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Any, Iterator

import pytest

from muster.objects.calls import Calls
from muster.worker.object_loop import Loop

DEADLINE = 10.0


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.stop()


async def raises(kind: type[BaseException]) -> None:
    raise kind()


async def returns() -> int:
    return 1


async def stops_loop() -> int:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    return 2


async def ignores_cancels(runs: threading.Event) -> None:
    runs.set()
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass


def run(loop: Loop, coroutine: Any) -> Any:
    """Returns the future of a call on a daemon thread."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def call() -> None:
        try:
            future.set_result(loop.run(coroutine, Calls(lambda: None)))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_loop_continues_after_a_method_has_raised(loop: Loop, kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        run(loop, raises(kind)).result(DEADLINE)
    assert run(loop, returns()).result(DEADLINE) == 1


def test_loop_continues_after_a_method_has_stopped_it(loop: Loop) -> None:
    assert run(loop, stops_loop()).result(DEADLINE) == 2
    assert run(loop, returns()).result(DEADLINE) == 1


def test_stop_ends_calls_that_ignore_cancellation(loop: Loop) -> None:
    runs = threading.Event()
    call = run(loop, ignores_cancels(runs))
    assert runs.wait(DEADLINE)
    loop.stop()
    loop.stop()
    with pytest.raises(concurrent.futures.CancelledError):
        call.result(DEADLINE)
    with pytest.raises(RuntimeError, match="the object was deleted"):
        run(loop, returns()).result(DEADLINE)
