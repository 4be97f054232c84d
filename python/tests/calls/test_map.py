"""`map`: independent calls whose results are returned in order."""
from __future__ import annotations

import asyncio
import gc
import itertools
import os
import pathlib
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Iterator

import numpy
import pytest

import muster
from closures import add, bad, one, wait_until_stopped
from conftest import DEADLINE, Cluster, until
from muster.coordinator.work import Chunk, PartialResults

MakeCluster = Callable[..., Cluster]


def inverse(x: float) -> float:
    return 1 / x


def noted(error: BaseException) -> str:
    """Returns the message and the notes of an error, as a traceback shows them."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def total(item: Any) -> float:
    return float(item[0].sum())


def record(folder: str, item: int, bad_item: int) -> int:
    with open(os.path.join(folder, str(item)), "a") as file:
        file.write("x")
    if item == bad_item:
        raise ValueError(f"no {item}")
    return item


def calls_made(folder: pathlib.Path) -> dict[int, int]:
    return {int(file.name): file.stat().st_size for file in folder.iterdir()}


def test_error_of_one_map_affects_no_other_call(cluster: Cluster) -> None:
    c = cluster.coordinator()
    bad_map = c.map(inverse, [1, 0, 2])
    good = c.map(lambda x: (time.sleep(0.1), x)[1], range(6))
    assert list(good) == list(range(6))
    assert c.submit(one).fetch(DEADLINE) == 1 and c.schedule(one).fetch(DEADLINE) == 1
    with pytest.raises(ZeroDivisionError):
        list(bad_map)
    c.join(DEADLINE)
    assert c.failures() == []


def test_map_whose_results_are_not_read_makes_all_its_calls(cluster: Cluster,
                                                                       tmp_path: pathlib.Path) -> None:
    c = cluster.coordinator()
    c.map(inverse, [1, 0, 2])
    unread = c.map(record, itertools.repeat(str(tmp_path)), range(300), itertools.repeat(0))
    del unread
    for _ in range(3):
        assert list(c.map(abs, [-1, 2])) == [1, 2]
    c.join(DEADLINE)
    assert sorted(calls_made(tmp_path)) == list(range(300))


def test_error_of_a_scheduled_call_cancels_no_map_and_no_put(cluster: Cluster) -> None:
    c = cluster.coordinator()
    held = [c.submit(wait_until_stopped) for _ in range(3)]  # all workers are busy
    results = c.map(add, [1, 2], [3, 4])
    value = c.put("value")
    scheduled = c.schedule(bad)
    held[0].cancel()
    with pytest.raises(ValueError):
        scheduled.fetch(DEADLINE)
    for other in held[1:]:
        other.cancel()
    assert list(results) == [4, 6] and value.fetch(DEADLINE) == "value"
    with pytest.raises(ValueError):
        c.join(DEADLINE)


@pytest.mark.parametrize("chunksize", [1, 40, 1000])
def test_results_before_the_item_that_fails_are_returned(cluster: Cluster, tmp_path: pathlib.Path,
                                                         chunksize: int) -> None:
    c = cluster.coordinator()
    got = []
    with pytest.raises(ValueError, match="no 477") as caught:
        for result in c.map(record, [str(tmp_path)] * 1000, range(1000), [477] * 1000, chunksize=chunksize):
            got.append(result)
    assert got == list(range(477))
    assert "item 477 of map" in noted(caught.value)
    if sys.version_info >= (3, 11):
        assert f"called as record({str(tmp_path)[:20]!r}"[:-1] in noted(caught.value)
    made = calls_made(tmp_path)
    assert made.pop(477) == (1 if chunksize == 1 else 2)  # made again, in a closure of its own
    assert {made[i] for i in range(477)} == {1}


def test_error_names_the_item(cluster: Cluster) -> None:
    c = cluster.coordinator()
    numbers = list(range(1, 600))
    numbers[432] = 0
    with pytest.raises(ZeroDivisionError) as caught:
        list(c.map(inverse, numbers))
    assert "item 432 of map" in noted(caught.value)
    assert "called as inverse(0)" in noted(caught.value)
    with pytest.raises(ZeroDivisionError) as caught:
        list(cluster.coordinator(show_arguments=False).map(inverse, numbers))
    assert "item 432 of map" in noted(caught.value) and "called as" not in noted(caught.value)


def test_the_iteration_ends_with_the_first_error(cluster: Cluster) -> None:
    results = cluster.coordinator().map(inverse, [1, 0, 2])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert list(results) == []


def test_item_that_ends_its_process_fails_alone(make_cluster: MakeCluster) -> None:
    made = make_cluster()
    made.add("--processes", "2")
    c = made.coordinator(max_worker_failures=3)
    got: list[int] = []
    with pytest.raises(muster.AbortedError) as caught:
        for x in c.map(lambda x: os._exit(1) if x == 17 else x, range(40), chunksize=20):
            got.append(x)
    assert got == list(range(17))
    assert "item 17 of map" in noted(caught.value) and "(17)" in noted(caught.value)


def test_items_of_one_closure_have_a_timeout_each(cluster: Cluster) -> None:
    c = cluster.coordinator()
    got: list[int] = []
    with pytest.raises(muster.TimedOutError) as caught:
        for x in c.options(timeout=1.5).map(lambda x: (time.sleep(60 if x == 3 else 0.6), x)[1], range(5),
                                            chunksize=5):
            got.append(x)
    assert got == [0, 1, 2] and "item 3 of map" in noted(caught.value)


def test_input_that_failed_fails_its_item_alone(cluster: Cluster) -> None:
    c = cluster.coordinator()
    inputs = [c.submit(one), c.submit(bad), c.submit(one)]
    results = c.map(add, inputs, [1, 2, 3], chunksize=3)
    assert next(results) == 2
    with pytest.raises(muster.InputError) as caught:
        next(results)
    assert "item 1 of map" in noted(caught.value)


def test_a_failed_call_among_large_results_is_repeated(cluster: Cluster) -> None:
    def large(item: Any) -> Any:
        if item[0] == 1:
            raise ValueError("one")
        return numpy.full(300_000, item[0])  # an output of the chunk that is stored as a blob

    results = cluster.coordinator().map(large, [[i, b"x" * 5_000] for i in range(4)], chunksize=4)
    assert next(results)[0] == 0
    with pytest.raises(ValueError, match="one"):
        next(results)


def test_repeated_call_has_the_arguments_of_its_submission(cluster: Cluster) -> None:
    buffer = numpy.zeros(400_000)  # large enough for a blob

    def filled(count: int) -> Iterator[Any]:
        for i in range(count):
            buffer[:] = i
            yield [buffer, str(i)]

    def flaky(folder: str, item: Any) -> Any:
        number, path = item[0][0], os.path.join(folder, item[1])
        if not os.path.exists(path):
            open(path, "w").close()
            raise OSError("not yet")
        return number

    with tempfile.TemporaryDirectory() as folder:
        results = cluster.coordinator().map(flaky, itertools.repeat(folder), filled(6), chunksize=3)
        assert list(results) == [2, 2, 2, 5, 5, 5]  # the calls of a chunk share the buffer
    assert list(cluster.coordinator().map(total, filled(4), chunksize=1)) == [0, 400_000, 800_000, 1_200_000]


def test_repeated_call_has_its_inputs_after_the_program_released_them(cluster: Cluster) -> None:
    c = cluster.coordinator()
    results = c.map(add, [c.submit(add, i, 0) for i in range(4)], [1, 1, "text", 1], chunksize=4)
    gc.collect()
    c.join(DEADLINE)
    assert next(results) == 1 and next(results) == 2
    with pytest.raises(TypeError, match="unsupported") as caught:
        next(results)
    assert "item 2 of map" in noted(caught.value)


def test_a_result_that_cannot_be_returned_fails_its_item_alone(cluster: Cluster) -> None:
    results = cluster.coordinator().map(lambda x: threading.Lock() if x == 2 else x, range(4), chunksize=4)
    assert next(results) == 0 and next(results) == 1
    with pytest.raises(TypeError) as caught:
        next(results)
    assert "item 2 of map" in noted(caught.value)


def test_retries_repeat_the_item_that_failed_alone(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    def flaky(folder: str, item: int) -> int:
        path = os.path.join(folder, str(item))
        with open(path, "a") as file:
            file.write("x")
        if item in (3, 5) and os.stat(path).st_size < 4:
            raise OSError("not yet")
        return item

    c = cluster.coordinator().options(retries=2, retry_delay=0.01)
    assert list(c.map(flaky, [str(tmp_path)] * 8, range(8), chunksize=8)) == list(range(8))
    assert calls_made(tmp_path) == {i: 4 if i in (3, 5) else 1 for i in range(8)}


def test_closed_iteration_cancels_the_remaining_calls(cluster: Cluster) -> None:
    c = cluster.coordinator()
    results = c.map(lambda x: wait_until_stopped(60 * x), range(20))
    next(results)
    results.close()
    c.join(DEADLINE)
    assert list(results) == []


def test_dropped_iteration_cancels_the_remaining_calls_at_once(cluster: Cluster) -> None:
    c = cluster.coordinator()
    results = c.map(lambda x: wait_until_stopped(60 * x), range(20))
    next(results)
    gc.disable()
    try:
        del results
        c.join(DEADLINE)
    finally:
        gc.enable()


def test_a_coordinator_is_closed_with_the_last_reference_to_its_map(cluster: Cluster) -> None:
    results = muster.ClusterCoordinator(cluster.server.grpc, name="dropped").map(abs, (-x for x in range(600)))

    def is_open() -> bool:
        listed = cluster.server.get("/api/v1/jobs")["jobs"]
        return any(job["name"] == "dropped" and job["state"] == "RUNNING" for job in listed)

    assert next(results) == 0 and is_open()
    gc.disable()
    try:
        del results
        until(lambda: not is_open(), "its session is closed")
    finally:
        gc.enable()


def test_a_timeout_ends_the_iteration(cluster: Cluster) -> None:
    c = cluster.coordinator()
    results = c.map(lambda x: wait_until_stopped(60 * x) or x, range(3), timeout=1)
    assert next(results) == 0
    with pytest.raises(muster.WaitTimeout):
        next(results)
    c.join(DEADLINE)


def test_buffersize_limits_the_calls_submitted_ahead(cluster: Cluster) -> None:
    c = cluster.coordinator()
    taken = itertools.count()
    results = c.map(abs, taken, buffersize=4)
    assert [next(results) for _ in range(10)] == list(range(10))
    assert next(taken) == 14
    results.close()
    several = c.map(abs, range(10), buffersize=2, chunksize=3)
    assert list(several) == list(range(10))
    for wrong, error in ((0, ValueError), (-1, ValueError), ("1", TypeError)):
        with pytest.raises(error, match="buffersize"):
            c.map(abs, [1], buffersize=wrong)  # type: ignore[arg-type]


def test_an_executor_refuses_keywords_that_it_does_not_know(cluster: Cluster) -> None:
    with muster.Executor(cluster.server.grpc) as executor:
        with pytest.raises(TypeError, match="chunk_size"):
            executor.map(abs, [1], chunk_size=3)  # type: ignore[call-arg]
        assert list(executor.map(abs, [-1, 2], chunksize=2, buffersize=1, timeout=DEADLINE)) == [1, 2]
        assert next(iter(executor.map(abs, itertools.count(-4), buffersize=2))) == 4


def test_futures_of_an_executor_survive_an_error_of_another(cluster: Cluster) -> None:
    with muster.Executor(cluster.server.grpc) as executor:
        slow = executor.submit(time.sleep, 0.3)
        with pytest.raises(ZeroDivisionError):
            executor.submit(inverse, 0).result(DEADLINE)
        with pytest.raises(ZeroDivisionError):
            list(executor.map(inverse, [1, 0]))
        assert slow.result(DEADLINE) is None


def test_iterator_has_a_descriptive_repr(cluster: Cluster) -> None:
    results = cluster.coordinator().map(inverse, [1, 2])
    next(results)
    assert "MapIterator of inverse: 2 calls submitted" in repr(results)


def test_generator_and_async_functions_are_refused(cluster: Cluster) -> None:
    async def coroutine(x: int) -> int:
        return x

    with pytest.raises(TypeError, match="async"):
        cluster.coordinator().map(coroutine, [1])


def test_arguments_are_kept_only_until_their_call_has_succeeded(cluster: Cluster) -> None:
    c = cluster.coordinator()
    results = c.map(len, (str(i) * 5000 for i in range(60)), chunksize=3)
    c.join(DEADLINE)
    parts: Any = results._results._parts
    until(lambda: not any(request.args for _, _, request in parts), "they are dropped")
    assert list(results) == [len(str(i)) * 5000 for i in range(60)]


def test_submit_can_be_awaited(cluster: Cluster) -> None:
    c = cluster.coordinator()

    async def run() -> Any:
        failed = await c.async_submit(inverse, 0)
        half = await c.async_submit(inverse, x=2)
        with pytest.raises(ZeroDivisionError):
            await failed
        return await half

    assert asyncio.run(run()) == 0.5


def test_a_chunk_makes_all_calls_and_names_those_that_raise() -> None:
    chunk = Chunk(inverse)
    assert chunk((1,), (2,)) == [1, 0.5]
    assert chunk((0,), (2,), (0,)) == PartialResults([None, 0.5, None], [0, 2])
    with pytest.raises(ZeroDivisionError):
        chunk((0,))
    stops = Chunk(lambda x: next(iter([x] if x else [])))
    assert stops((1,), (0,), (2,), (0,)) == PartialResults([1, None, 2, None], [1, 3])


def test_an_iterator_is_closed_without_a_lock(cluster: Cluster) -> None:
    """The garbage collector closes iterators on any thread, also on one that holds the session's lock."""
    c = cluster.coordinator()
    results = c.map(time.sleep, [0, 60])
    next(results)
    closing = threading.Thread(target=results.close, daemon=True)
    with c._session._lock:
        closing.start()
        closing.join(DEADLINE)
        assert not closing.is_alive()
    until(lambda: not cluster.server.running(), "the rest is cancelled")


def test_a_with_block_closes_an_iterator(cluster: Cluster) -> None:
    with cluster.coordinator().map(int, range(600)) as results:
        assert next(results) == 0
    assert list(results) == []
