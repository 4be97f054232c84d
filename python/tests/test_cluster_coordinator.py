"""One test for each of TensorFlow's that has a counterpart; conformance_names.py lists all of them.

Names are those of tensorflow/python/distribute/coordinator, in lower case with underscores.
"""
from __future__ import annotations

import collections
import threading
from typing import Any, Callable, Iterator

import pytest

import muster
from closures import add, bad, one, start_one
from conftest import Cluster, until


def test_fn_return_nested_values(cluster: Cluster) -> None:
    c = cluster.coordinator()
    Point = collections.namedtuple("Point", "x y")
    nested = {"a": (1, [2.5, None]), "b": Point(3, {"c": b"raw"})}
    value = c.schedule(lambda: {"a": (1, [2.5, None]), "b": Point(3, {"c": b"raw"})})
    assert value.fetch() == nested
    got = c.fetch({"k": (value, 7), "l": [value]})
    assert got == {"k": (nested, 7), "l": [nested]}
    assert type(got["k"][0]["a"]) is tuple


def test_fetching_remote_value_structure(cluster: Cluster) -> None:
    c = cluster.coordinator()
    assert c.fetch([c.schedule(add, args=(i, 1)) for i in range(5)]) == [1, 2, 3, 4, 5]


def count_to(n: int) -> Callable[[], Any]:
    def dataset_fn() -> range:
        return range(1, n + 1)

    return dataset_fn


def test_input_function(cluster: Cluster) -> None:
    c = cluster.coordinator()
    dataset = c.create_per_worker_dataset(count_to(5))
    for _ in range(2):  # each iterator starts at the first element
        assert c.schedule(next, args=(iter(dataset),)).fetch() == 1


def test_async_schedule_and_join(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.join()
    for rounds in (5, 5):
        values = [c.schedule(one) for _ in range(rounds)]
        c.join()
        assert all(v.done() for v in values)
    c.join()
    assert c.done()


def test_per_worker_value(cluster: Cluster) -> None:
    c = cluster.coordinator()
    counters = c.create_per_worker_value(lambda: {"n": 0, "lock": threading.Lock()})

    def increment(counter: Any) -> str:
        with counter["lock"]:
            counter["n"] += 1
        return muster.context().task

    for value in [c.schedule(increment, args=(counters,)) for _ in range(10)]:
        value.fetch()
    total = sum(c.options(task=f"worker:{i}").schedule(lambda k: k["n"], args=([counters],)[0]
                                                       ).fetch() for i in range(3))
    assert total == 10
    until(lambda: set(counters.components().values()) == {muster.RemoteValueStatus.READY},
          "all are built")


def test_disallow_remote_value_as_input(cluster: Cluster) -> None:
    """RemoteValues are allowed as input here, at any depth, except in calls that would not wait for them."""
    c = cluster.coordinator()
    value = c.schedule(add, args=(1, 2))
    nested = c.schedule(lambda d, k: d["x"][0] + k[1], args=({"x": [value]},), kwargs={"k": (0, value)})
    assert nested.fetch() == 6
    with pytest.raises(TypeError, match="pass it as an argument"):
        c.schedule(lambda: value)
    with pytest.raises(TypeError, match="plain"):
        c.create_per_worker_value(add, args=(value, 1))


def test_pass_dataset_to_create_per_worker_dataset(cluster: Cluster) -> None:
    c = cluster.coordinator()
    iterator = iter(c.create_per_worker_dataset([4, 5]))
    assert c.schedule(next, args=(iterator,)).fetch() == 4


def test_multiple_datasets(cluster: Cluster) -> None:
    c = cluster.coordinator()
    first = iter(c.create_per_worker_dataset(count_to(9)))
    second = iter(c.create_per_worker_dataset([10, 20, 30]))
    on = c.options(task="worker:1")
    got = [on.schedule(lambda a, b: (next(a), next(b)), args=(first, second)).fetch()
           for _ in range(2)]
    assert got == [(1, 10), (2, 20)]


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


def test_iterators_are_arguments_at_any_depth(cluster: Cluster) -> None:
    """Iterators of datasets, and other iterators that are per-worker values, can be arguments."""
    c = cluster.coordinator(continue_on_error=True)
    on = c.options(task="worker:1")
    by_hand = c.create_per_worker_value(lambda: iter("abc"))
    of_dataset = iter(c.create_per_worker_dataset(count_to(9)))
    offset = c.schedule(add, args=(40, 2))

    def take(given: Any, *, more: Any) -> Any:
        letters, numbers = given["a"][0]
        assert more[1] is letters and iter(letters) is letters
        return next(letters), next(numbers), more[0], [next(numbers), next(numbers)]

    def both() -> Any:
        return on.schedule(take, args=({"a": [(by_hand, of_dataset)]},),
                           kwargs={"more": (offset, by_hand)}).fetch(20)

    assert both() == ("a", 1, 42, [2, 3])
    assert both() == ("b", 4, 42, [5, 6])
    assert on.schedule(lambda h: next(h.held), args=(Holder(by_hand),)).fetch(20) == "c"
    assert on.schedule(next, args=(by_hand, "no more")).fetch(20) == "no more"
    with pytest.raises(StopIteration) as caught:
        on.schedule(next, args=(by_hand,)).fetch(20)
    assert isinstance(caught.value, muster.ClosureError) and caught.value.type == "StopIteration"
    assert iter(of_dataset) is of_dataset
    with pytest.raises(NotImplementedError, match="pass the iterator"):
        next(of_dataset)


def test_repeated_iterator_creation(cluster: Cluster) -> None:
    c = cluster.coordinator()
    dataset = c.create_per_worker_dataset(count_to(3))
    for _ in range(10):
        assert c.schedule(next, args=(iter(dataset),)).fetch() == 1
    until(lambda: len(cluster.server.get("/api/v1/per_worker_values")["per_worker_values"]) <= 1,
          "unreferenced iterators are deleted")


def test_datasets_shuffled_differently(cluster: Cluster) -> None:
    c = cluster.coordinator()

    def shuffled() -> list[int]:
        import random

        numbers = list(range(1000))
        random.SystemRandom().shuffle(numbers)
        return numbers

    iterator = iter(c.create_per_worker_dataset(shuffled))
    a, b = (c.options(task=f"worker:{i}").schedule(list, args=(iterator,)) for i in (0, 1))
    assert a.fetch() != b.fetch() and sorted(a.fetch()) == sorted(b.fetch())


def test_python_function_not_allowed_to_schedule(cluster: Cluster) -> None:
    """Any callable can be scheduled here. Other values, and callables that cannot be pickled, are refused."""
    c = cluster.coordinator()
    with pytest.raises(TypeError, match="needs a callable, not int"):
        c.schedule(5)  # type: ignore[arg-type]
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot be pickled"):
        c.schedule(lambda: lock)


def test_dataset_partially_created_on_coordinator(cluster: Cluster) -> None:
    c = cluster.coordinator()
    stream: Iterator[int] = (i for i in range(3))
    with pytest.raises(TypeError, match="cannot be pickled"):
        c.create_per_worker_dataset(lambda: stream)


# Errors.


def test_join_raise_error(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.schedule(one)
    c.schedule(bad)
    with pytest.raises(ValueError):
        c.join()


def test_schedule_raise_error(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.schedule(bad)
    with pytest.raises(ValueError):
        for _ in range(100_000):
            c.schedule(one)


def test_schedule_raise_error_with_multiple_failure(cluster: Cluster) -> None:
    c = cluster.coordinator()
    for _ in range(3):
        c.schedule(bad)
    with pytest.raises(ValueError):
        while True:
            c.schedule(bad)
    c.join()


def test_error_willbe_cleared(cluster: Cluster) -> None:
    c = cluster.coordinator()
    for message in ("first", "second"):
        c.schedule(bad, args=(message,))
        with pytest.raises(ValueError, match=message):
            c.join()
    assert [str(f.message) for f in c.failures()] == ["second"]
    c.join()


def test_remote_value_return_error(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = c.schedule(bad)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            value.fetch()
    with pytest.raises(ValueError):
        c.join()


def test_input_error(cluster: Cluster) -> None:
    c = cluster.coordinator()
    broken = c.create_per_worker_value(bad, args=("no dataset",))
    value = c.schedule(add, args=(broken, 1))
    with pytest.raises(muster.InputError, match="no dataset"):
        c.join()
    with pytest.raises(muster.InputError, match="no dataset"):
        value.fetch()


def test_errored_input_not_used(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.create_per_worker_value(bad)
    assert c.schedule(one).fetch() == 1
    c.join()


def test_cancellation(cluster: Cluster) -> None:
    c = cluster.coordinator()
    long = start_one(cluster, c)
    c.schedule(bad)
    with pytest.raises(ValueError):
        c.join()
    with pytest.raises(muster.CancelledError):
        long.fetch()
    assert c.schedule(one).fetch() == 1


def test_resource_can_stillbe_used_after_cancellation(cluster: Cluster) -> None:
    c = cluster.coordinator()
    iterator = iter(c.create_per_worker_dataset(count_to(9)))
    on = c.options(task="worker:0")
    assert on.schedule(next, args=(iterator,)).fetch() == 1
    c.schedule(bad)
    with pytest.raises(ValueError):
        c.join()
    assert on.schedule(next, args=(iterator,)).fetch() == 2


def test_limited_closure_queue_size_basic_test(cluster: Cluster) -> None:
    c = cluster.coordinator(queue_capacity=2, pending_max=2)
    values = [c.schedule(add, args=(i, 1)) for i in range(200)]
    assert c.fetch(values) == [i + 1 for i in range(200)]


def test_limited_closure_queue_error_test(cluster: Cluster) -> None:
    c = cluster.coordinator(queue_capacity=2, pending_max=2)
    c.schedule(bad)
    with pytest.raises(ValueError):
        for _ in range(1000):
            c.schedule(one)
    assert c.schedule(one).fetch() == 1


# Tests of TensorFlow's fault tolerance suite.


def test_join_raises_unavailable_error_at_ps_failure(cluster: Cluster) -> None:
    c = cluster.coordinator()

    def step() -> None:
        raise muster.DependencyLost("the connection to it broke", "ps:1")

    for _ in range(3):
        c.schedule(step)
    with pytest.raises(muster.UnavailableError, match="ps:1") as caught:
        c.join()
    assert caught.value.dependency == ["ps:1"]


def test_schedule_raises_unavailable_error_at_ps_failure(cluster: Cluster) -> None:
    c = cluster.coordinator()

    def step() -> None:
        raise muster.DependencyLost("the connection to it broke", "ps:1")

    with pytest.raises(muster.UnavailableError):
        for _ in range(100_000):
            c.schedule(step)


def test_cluster_coordinator_destroyed(cluster: Cluster) -> None:
    def library_threads() -> set[str]:
        return {t.name for t in threading.enumerate() if t.name.startswith("muster")}

    c = muster.ClusterCoordinator(cluster.server.grpc)
    value = c.schedule(one)
    value.fetch()
    del c
    assert library_threads()  # a value keeps its coordinator open
    assert value.fetch() == 1
    del value
    until(lambda: not library_threads(), "no thread is left")
