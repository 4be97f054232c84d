"""muster.wait and muster.async_wait."""
from __future__ import annotations

import asyncio
import pathlib
import threading
from typing import Any, Callable

import pytest

import muster
from closures import wait_for_file
from conftest import DEADLINE, Cluster


@pytest.fixture(params=["wait", "async_wait"])
def wait(request: pytest.FixtureRequest) -> Callable[..., Any]:
    if request.param == "wait":
        return muster.wait

    def waits(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(muster.async_wait(*args, **kwargs))

    return waits


def test_wait_returns_finished_values_and_the_others_in_order(cluster: Cluster, tmp_path: pathlib.Path,
                                                              wait: Callable[..., Any]) -> None:
    c = cluster.coordinator()
    values = [c.submit(wait_for_file, tmp_path / name) for name in "abc"]
    assert wait(values, timeout=0.05) == ([], values)
    (tmp_path / "b").touch()
    assert wait(values, timeout=DEADLINE) == ([values[1]], [values[0], values[2]])
    (tmp_path / "a").touch()
    assert wait(values, 2, timeout=DEADLINE) == (values[:2], values[2:])
    assert wait(values, timeout=0) == (values[:1], values[1:]), "no more than num_returns"
    (tmp_path / "c").touch()
    assert wait(values, 3) == (values, [])


def test_wait_accepts_several_coordinators_objects_and_errors(cluster: Cluster, wait: Callable[..., Any]) -> None:
    class Adder:
        def add(self, n: int) -> int:
            return n + 1

    values = [cluster.coordinator().submit(divmod, 1, n) for n in (0, 1)]
    values.append(cluster.coordinator().create(Adder, task="worker:0").add(1))
    ready, pending = wait(values, 3, timeout=DEADLINE)
    assert ready == values and not pending
    with pytest.raises(ZeroDivisionError):
        ready[0].fetch()


def test_wait_leaves_no_callbacks_behind(cluster: Cluster, tmp_path: pathlib.Path, wait: Callable[..., Any]) -> None:
    value = cluster.coordinator().submit(wait_for_file, tmp_path / "go")
    for _ in range(3):
        assert wait([value], timeout=0.01) == ([], [value])
        with pytest.raises(muster.WaitTimeout):
            value.fetch(0.01)
    assert not value._record.waiters
    (tmp_path / "go").touch()


def test_wait_ends_when_its_coordinator_is_closed(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    c = cluster.coordinator()
    value = c.submit(wait_for_file, tmp_path / "go")
    threading.Timer(0.2, c.close).start()
    assert muster.wait([value], timeout=DEADLINE) == ([value], [])
    (tmp_path / "go").touch()


def test_wrong_arguments_are_named(cluster: Cluster, wait: Callable[..., Any]) -> None:
    value: Any = cluster.coordinator().submit(int)
    for arguments, error in ((([value], 2), "num_returns: 2, must be at least 1 and at most 1"),
                             (([value], 0), "num_returns: 0"), (([],), "num_returns: 1"),
                             (([value, value],), "occurs twice")):
        with pytest.raises(ValueError, match=error):
            wait(*arguments)
    for values, error in ((value, r"wait\(\[value\]\)"), ([1], "not int")):
        with pytest.raises(TypeError, match=error):
            wait(values)


def test_wait_in_a_callback_is_refused(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    c = cluster.coordinator()
    pending = c.submit(wait_for_file, tmp_path / "go")
    first = c.submit(wait_for_file, tmp_path / "first")
    raised: list[Any] = []
    called = threading.Event()

    def callback() -> None:
        try:
            muster.wait([pending], timeout=DEADLINE)
        except RuntimeError as error:
            raised.append(error)
        called.set()

    first.add_done_callback(callback)
    (tmp_path / "first").touch()
    assert called.wait(DEADLINE) and raised
    (tmp_path / "go").touch()


@pytest.fixture(autouse=True)
def _by_value() -> None:
    """Pickles this module by value, because workers cannot import it."""
    import sys

    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
