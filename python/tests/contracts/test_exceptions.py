"""Exceptions of functions as the client catches, shows, copies and pickles them, and errors of arguments."""
from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import pickle
import pkgutil
import sys
import threading
import time
import traceback
from typing import Any, Iterator

import cloudpickle
import pytest

import muster
from conftest import DEADLINE, Cluster
from muster import errors as muster_errors
from muster.errors import FailureKind
from muster.rest.programs import Program

LOCK = threading.Lock()


@pytest.fixture
def coordinator(cluster: Cluster) -> muster.ClusterCoordinator:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return cluster.coordinator()


def raises(kind: type, *args: Any) -> None:
    raise kind(*args)


def end_of(values: list[int]) -> int:
    return next(iter(values))


@pytest.mark.parametrize("kind", [MemoryError, RecursionError, StopIteration, StopAsyncIteration, KeyError, OSError, UnicodeError,
                                  AssertionError, SyntaxError, ImportError])
def test_exception_class_of_a_function_is_caught(coordinator: muster.ClusterCoordinator, kind: type) -> None:
    with pytest.raises(kind) as caught:
        coordinator.submit(raises, kind, "why").fetch(20)
    assert isinstance(caught.value, muster.ClosureError) and caught.value.args == ("why",)


def test_end_of_a_dataset_is_caught_as_stop_iteration(coordinator: muster.ClusterCoordinator) -> None:
    with pytest.raises(StopIteration):
        coordinator.submit(end_of, []).fetch(20)
    with pytest.raises(StopIteration):
        coordinator.fetch([coordinator.submit(end_of, [])], timeout=20)
    coordinator.schedule(end_of, ([],))
    with pytest.raises(StopIteration):
        coordinator.join(20)


def test_stop_iteration_ends_no_coroutine_generator_or_map(coordinator: muster.ClusterCoordinator) -> None:
    async def awaits(how: str) -> None:
        value = coordinator.submit(end_of, [])
        if how == "value":
            await value
        elif how == "fetch":
            await coordinator.async_fetch([value])
        elif how == "future":
            await asyncio.wrap_future(value.future())
        elif how == "join":
            coordinator.schedule(end_of, ([],))
            await coordinator.async_join()
        else:
            failed = coordinator.schedule(end_of, ([],))
            muster.wait([failed])
            await coordinator.async_schedule(noop)

    for how in ("value", "fetch", "future", "join", "schedule"):
        with pytest.raises(muster.ClosureError) as caught:
            asyncio.run(awaits(how))
        assert caught.value.type == "StopIteration" and isinstance(caught.value.original, StopIteration)
    for chunksize in (1, 3):
        with pytest.raises(muster.ClosureError):
            list(coordinator.map(end_of, [[1], [], [2]], chunksize=chunksize))


def test_class_name_is_shown_once(coordinator: muster.ClusterCoordinator) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        coordinator.submit(divmod, 1, 0).fetch(20)
    shown = traceback.format_exception_only(type(caught.value), caught.value)[0]
    assert shown.startswith("muster.errors.ZeroDivisionError: integer division or modulo by zero (on worker:")
    cancelled = muster.CancelledError(FailureKind.CANCELLED, "muster.ClusterCoordinator", "cancelled before it started")
    assert str(cancelled) == "cancelled before it started"
    unknown = muster.ClosureError(FailureKind.USER, "their.Own", "why")
    assert str(unknown) == "Own: why"


def test_local_exception_class_of_the_client_is_caught(coordinator: muster.ClusterCoordinator) -> None:
    class Own(Exception):
        def __init__(self, code: int) -> None:
            super().__init__(f"code {code}")
            self.code = code

    with pytest.raises(Own) as caught:
        coordinator.submit(raises, Own, 7).fetch(20)
    assert caught.value.code == 7 and type(caught.value.original) is Own


def raises_own() -> None:
    import socket

    class Own(ValueError):
        connection = socket.socket()  # an instance of the class cannot be pickled

        def __init__(self, code: int) -> None:
            super().__init__(f"code {code}")
            self.code = code

    raise Own(7)


def test_class_that_cannot_be_pickled_keeps_its_name_base_and_attributes(coordinator: muster.ClusterCoordinator) -> None:
    with pytest.raises(ValueError) as caught:
        coordinator.submit(raises_own).fetch(20)
    error: Any = caught.value
    assert type(error).__name__ == "Own" and error.code == 7 and error.args == ("code 7",)
    assert type(error.original).__qualname__ == "raises_own.<locals>.Own"


def test_exceptions_are_copied_and_pickled() -> None:
    for kind in errors():
        if issubclass(kind, muster.ClosureError):
            of = next((k for k, made_of in muster_errors._CLASSES.items() if made_of is kind), FailureKind.USER)
            made = kind(of, "their.Error", "why", "trace", "worker:3", 2, ["ps:0"])
        elif kind is muster.DependencyLost:
            made = kind("why", "ps:0")
        elif kind is muster.ProgramFailedError:
            view: dict[str, Any] = {"id": "pr_1", "name": "train", "state": "FAILED", "cause": {"text": "exit status 1"}}
            made = kind(Program(None, view))  # type: ignore[arg-type]
            made.program = None  # a copy has no program
        else:
            made = new(kind)
        for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
            assert str(again) == str(made) and again.args == made.args, kind
            assert isinstance(again, kind) or kind.__name__ == "LostValue", kind
            kept = {k: v for k, v in vars(made).items() if not k.startswith("_")}
            assert {k: getattr(again, k) for k in kept} == kept, kind


def new(kind: type) -> Any:
    if "__init__" not in vars(kind):
        return kind("why")
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    texts = {"Mapping": {"code": "ABORTED", "detail": "why"}, "int": 3}
    return kind(*[next((v for k, v in texts.items() if k in str(p.annotation)), "why") for p in parameters
                  if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD])


def errors() -> Iterator[type]:
    found = set()
    for each in pkgutil.walk_packages(muster.__path__, "muster."):
        if each.name.rpartition(".")[2] in ("__main__", "tensorflow", "jax", "joblib") or each.name.startswith("muster.torchrun"):
            continue
        for name, value in vars(importlib.import_module(each.name)).items():
            if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == each.name and (
                    not name.startswith("_") and value not in found):
                found.add(value)
    assert len(found) > 20
    yield from found


def noop(*args: Any, **kwargs: Any) -> None:
    pass


def refers() -> Any:
    return LOCK


def circle() -> Any:
    return LOCK


circle.__wrapped__ = circle  # type: ignore[attr-defined]  # inspect.unwrap raises ValueError


def test_argument_that_cannot_be_pickled_is_named(coordinator: muster.ClusterCoordinator) -> None:
    handle = coordinator.create(dict, task="worker:0")
    lock: Any = threading.Lock()
    for call, text in (
            (lambda: coordinator.submit(noop, 1, lock), "argument 2 of .*noop, a lock, cannot be pickled: cannot pickle"),
            (lambda: coordinator.submit(noop, x=[lock]), "argument 'x' of .*noop, a list, cannot be pickled"),
            (lambda: coordinator.map(noop, [1, 2, lock], chunksize=2), "item 2 of map, a call of .*noop, cannot be pickled"),
            (lambda: handle.update(lock), "argument 1 of dict.update, a lock, cannot be pickled"),
            (lambda: coordinator.create(dict, (lock,), task="worker:0"), "argument 1 of dict, a lock, cannot be pickled"),
            (lambda: coordinator.submit(refers), "refers cannot be pickled: the function refers to the variable "
                                                 "'LOCK', a lock: "),
            (lambda: coordinator.submit(circle), "circle cannot be pickled: cannot pickle"),
            (lambda: coordinator.map(refers, [1]), "refers cannot be pickled: the function refers to the variable "
                                                   "'LOCK', a lock: ")):
        with pytest.raises(TypeError, match=text):
            call()


def test_sessions_end_with_their_local_cluster() -> None:
    local = muster.LocalCluster(workers=1)
    c = local.coordinator()
    executor = muster.Executor(local.address)
    value, future = c.submit(time.sleep, 60), executor.submit(time.sleep, 60)
    local.close()
    why = f"the LocalCluster at {local.address} was closed"
    for call in (lambda: future.result(DEADLINE), lambda: c.submit(int), lambda: executor.submit(int).result(DEADLINE),
                 lambda: c.join(DEADLINE)):
        with pytest.raises(muster.UnavailableError, match=why):
            call()
    assert value.done()
    executor.shutdown()
