"""Values whose only holder is lost are computed again when they are needed."""
from __future__ import annotations

import os
import pathlib
from typing import Any, Callable

import numpy
import pytest

import muster
from conftest import Cluster, until
from memories import memories
from muster.coordinator import lineage, shared
from shared_closures import array, noted, total


def gone_value(made: Cluster, c: muster.ClusterCoordinator, path: pathlib.Path, big: Any) -> Any:
    """Returns a value of a worker that is killed before the value is fetched. No other worker is connected."""
    made.add("--index", "0")
    value = c.schedule(noted, args=(str(path), big, 3))
    until(value.done)
    made.workers[0].kill()
    return value


def lost_value(made: Cluster, c: muster.ClusterCoordinator, path: pathlib.Path, big: Any) -> Any:
    """Returns a value of a worker that is killed before the value is fetched. Another worker is connected."""
    made.add("--index", "0")
    value = c.schedule(noted, args=(str(path), big, 3))
    until(value.done)
    made.add("--index", "1")
    made.workers[0].kill()
    return value


def test_value_of_a_killed_worker_is_computed_again(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    with made.coordinator() as c:
        value = lost_value(made, c, path, big)
        assert numpy.array_equal(value.fetch(), array(4, 3) + big[0])
        assert path.read_text() == "made\nmade\n"
        assert numpy.array_equal(value.fetch(), array(4, 3) + big[0])
        assert path.read_text() == "made\nmade\n"


def test_large_arguments_are_kept_until_their_value_is_fetched(
        make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "STAYS", 0.0)  # for successive calls
    monkeypatch.setattr(lineage, "KEPT_FOR", 0.0)  # for values computed from this one
    made, path = make_cluster(), tmp_path / "runs"
    with made.coordinator() as c:
        value = lost_value(made, c, path, array(4))
        until(lambda: not c._session.blobs._shared._staying)
        assert len(memories(os.getpid())) >= 1
        assert numpy.array_equal(value.fetch(), array(4, 3) + array(4)[0])
        until(lambda: not c._session.blobs._shared._process.store.held())  # and no longer


def test_fetched_value_belongs_to_the_program(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    made.add("--index", "0")
    with made.coordinator() as c:
        value = c.schedule(noted, args=(str(path), big, 3))
        found = value.fetch()
        made.workers[0].kill()
        made.add("--index", "1")
        assert value.fetch() is found
        assert path.read_text() == "made\n"


def test_closure_that_needs_a_lost_value_waits_until_it_is_computed_again(
        make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    with made.coordinator() as c:
        value = lost_value(made, c, path, big)
        until(lambda: len(made.server.get("/api/v1/remote_values?place=released")["remote_values"]) == 1)
        assert c.schedule(total, args=(value,)).fetch() == total(array(4, 3) + big[0])
        assert path.read_text() == "made\nmade\n"


def test_fetch_fails_if_a_lost_value_cannot_be_computed_again(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    from muster.coordinator import made_again

    monkeypatch.setattr(made_again, "RUN_AGAIN_WITHIN", 1.0)
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    with made.coordinator() as c:
        value = gone_value(made, c, path, big)
        with pytest.raises(muster.UnavailableError, match="only in the memory of a worker"):
            value.fetch()


def test_closures_that_were_dispatched_with_a_lost_value_get_its_replacement(
        make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    with made.coordinator() as c:
        value = lost_value(made, c, path, big)  # the closures follow at once, while the server waits for the worker to reconnect
        sums = [c.schedule(total, args=(value,)) for _ in range(3)]
        assert c.fetch(sums) == [total(array(4, 3) + big[0])] * 3
        assert path.read_text() == "made\nmade\n"


def test_futures_and_awaited_values_are_computed_again(make_cluster: Callable[..., Cluster],
                                                       tmp_path: pathlib.Path) -> None:
    import asyncio

    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    with made.coordinator() as c:
        value = lost_value(made, c, path, big)
        future = value.future()
        assert c.schedule(total, args=(numpy.ones(3, int),)).fetch() == 3  # other calls succeed at the same time
        assert numpy.array_equal(future.result(60), array(4, 3) + big[0])

        async def awaited() -> Any:
            return await c.schedule(noted, args=(str(path), big, 4))

        assert numpy.array_equal(asyncio.run(awaited()), array(4, 4) + big[0])


def test_fetch_of_a_lost_value_has_a_timeout(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    with made.coordinator() as c:
        value = gone_value(made, c, path, big)
        with pytest.raises(muster.WaitTimeout, match="not been recomputed"):
            value.fetch(timeout=4)


@pytest.mark.parametrize("how", ["--processes", "--threads"])
def test_worker_with_one_slot_computes_the_value_again_that_it_waits_for(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path,
                                                                         how: str) -> None:
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    with made.coordinator() as c:
        made.add("--index", "0")
        value = c.schedule(noted, args=(str(path), big, 3))
        until(value.done)
        made.add("--index", "1", how, "1")
        made.workers[0].kill()
        assert c.options(task="worker:1").schedule(total, args=(value,)).fetch(timeout=30) == total(array(4, 3) + big[0])
