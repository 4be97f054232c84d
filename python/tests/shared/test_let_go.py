"""Lost values are computed again even if the program has released their inputs."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import numpy
import pytest

import muster
from conftest import Cluster, until
from muster.coordinator import shared
from shared_closures import array, noted, total


def kept(made: Cluster) -> int:
    """Returns the number of released values whose closures the server still keeps."""
    return len(made.server.get("/api/v1/remote_values?place=released")["remote_values"])


def last_of_chain(made: Cluster, c: muster.ClusterCoordinator, path: pathlib.Path) -> Any:
    """Returns the last value of a chain: the program has released the two values before it. The worker that holds them is killed,
    and another one is connected."""
    made.add("--index", "0")
    first = c.schedule(noted, args=(str(path), array(4), 1))
    until(first.done)
    second = c.schedule(noted, args=(str(path), first, 2))
    until(second.done)
    del first
    last = c.schedule(noted, args=(str(path), second, 3))
    until(last.done)
    del second
    until(lambda: kept(made) == 2)
    made.add("--index", "1")
    made.workers[0].kill()
    return last


def expected() -> Any:
    first = array(4, 1) + array(4)[0]
    second = array(4, 2) + first[0]
    return array(4, 3) + second[0]


def test_chain_is_computed_again_if_only_its_last_value_is_kept(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "STAYS", 0.0)  # for successive calls
    made, path = make_cluster(), tmp_path / "runs"
    with made.coordinator() as c:
        last = last_of_chain(made, c, path)
        assert numpy.array_equal(last.fetch(), expected())
        assert path.read_text() == "made\n" * 6
        until(lambda: kept(made) == 2, "their values go again")
        del last
        until(lambda: kept(made) == 0, "nothing is kept for nobody")


def test_function_gets_a_released_value_that_was_lost(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path = make_cluster(), tmp_path / "runs"
    with made.coordinator() as c:
        last = last_of_chain(made, c, path)
        value = c.schedule(total, args=(last,))
        del last
        assert value.fetch() == total(expected())


def test_small_input_is_kept_with_the_values_computed_from_it(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path = make_cluster(), tmp_path / "runs"
    made.add("--index", "0")
    with made.coordinator() as c:
        seed = c.schedule(total, args=(numpy.arange(4),))
        value = c.schedule(noted, args=(str(path), array(4), seed))
        until(value.done)
        del seed
        c.join()
        made.add("--index", "1")
        made.workers[0].kill()
        assert numpy.array_equal(value.fetch(), array(4, 6) + array(4)[0])


def test_closures_are_forgotten_once_the_server_has_a_copy(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made, path = make_cluster(), tmp_path / "runs"
    made.add("--index", "0")
    with made.coordinator() as c:
        first = c.schedule(noted, args=(str(path), array(4), 1))
        second = c.schedule(noted, args=(str(path), first, 2))
        until(second.done)
        del first
        until(lambda: kept(made) == 1)
        until(lambda: kept(made) == 0, "ten seconds later there is a copy")
        made.workers[0].kill()
        assert numpy.array_equal(second.fetch(), array(4, 2) + (array(4, 1) + array(4)[0])[0])
        assert path.read_text() == "made\n" * 2
