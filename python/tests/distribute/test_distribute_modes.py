"""TensorFlow's tests of the distribute coordinator, under their original names: standalone, independent and local mode."""
from __future__ import annotations

import threading
from typing import Any

import pytest

import muster
from conftest import DEADLINE
from recorded import WORKERS_AND_PS, Contexts, Servers, TraitStrategy, context, on_a_thread, run_independent_tasks

EVALUATOR = {**WORKERS_AND_PS, "evaluator": ["e:1"]}


def standalone(f: Any, strategy: Any, cluster: Any = None, **more: Any) -> Any:
    return muster.run_distribute_coordinator(f, strategy, cluster_spec=cluster, environment={}, **more)


def seen_standalone(strategy: Any, cluster: Any = None) -> dict[str, Any]:
    seen = Contexts()
    standalone(seen.note, strategy, cluster)
    return seen.all


def seen_independent(strategy: Any, cluster: Any) -> tuple[dict[str, Any], Servers]:
    seen, made = Contexts(), Servers()
    run_independent_tasks(seen.note, strategy, cluster, servers=made)
    return seen.all, made


class Sum:
    """The sum of TensorFlow's test, computed between two barriers."""

    def __init__(self) -> None:
        self.x = self.right = 0
        self._lock = threading.Lock()

    def add(self, wait: Any) -> None:
        c = context()
        if c.is_chief:
            self.x = 10
        wait()
        with self._lock:
            assert c.task_id is not None
            self.x += c.task_id + 1
        wait()
        with self._lock:
            self.right += self.x == 16


def test_in_graph_standalone_mode() -> None:
    calls: list[Any] = []

    def f(strategy: Any) -> int:
        calls.append(strategy)
        return 11

    assert standalone(f, TraitStrategy(), WORKERS_AND_PS) == 11
    assert len(calls) == 1


def test_between_graph() -> None:
    sum = Sum()
    assert standalone(lambda s: sum.add(context().wait_for_other_workers), TraitStrategy(True), WORKERS_AND_PS) is None
    assert sum.right == 3


def test_between_graph_context() -> None:
    seen = seen_standalone(TraitStrategy(True), WORKERS_AND_PS)
    assert sorted(seen) == ["worker:0", "worker:1", "worker:2"]
    for i in range(3):
        c = seen[f"worker:{i}"]
        assert (c.master, c.num_workers, c.is_chief) == (f"grpc://w:{i + 1}", 3, i == 0)
        assert c.distributed and c.barrier


@pytest.mark.parametrize("independent", [False, True])
def test_between_graph_strategy_properties(independent: bool) -> None:
    strategy = TraitStrategy(True, init=True)
    seen = seen_independent(strategy, WORKERS_AND_PS)[0] if independent else seen_standalone(strategy, WORKERS_AND_PS)
    assert {name: (c.init, c.checkpoint, c.summary) for name, c in seen.items()} == {
        "worker:0": (True, True, True), "worker:1": (True, False, False), "worker:2": (True, False, False)}


def test_in_graph_context() -> None:
    (c,) = seen_standalone(TraitStrategy(), WORKERS_AND_PS).values()
    assert (c.master, c.num_workers, c.is_chief, c.distributed, c.barrier) == ("grpc://w:1", 3, True, True, False)


def test_local_context() -> None:
    (c,) = seen_standalone(TraitStrategy()).values()
    assert (c.master, c.num_workers, c.is_chief, c.distributed) == ("", 0, True, False)


def test_between_graph_context_with_chief() -> None:
    seen = seen_standalone(TraitStrategy(True), {**WORKERS_AND_PS, "chief": ["c:1"]})
    assert {name: c.is_chief for name, c in seen.items()} == {"chief:0": True, "worker:0": False, "worker:1": False,
                                                              "worker:2": False}
    assert all(c.num_workers == 4 and c.distributed for c in seen.values())
    assert seen["chief:0"].master == "grpc://c:1"


def test_in_graph_context_with_eval() -> None:
    seen = seen_standalone(TraitStrategy(), EVALUATOR)
    assert sorted(seen) == ["", "evaluator:0"]
    assert (seen[""].master, seen[""].num_workers) == ("grpc://w:1", 3)
    e = seen["evaluator:0"]
    assert (e.master, e.is_chief, e.distributed) == ("", True, False)
    assert not (e.init or e.checkpoint or e.summary), "an evaluator has no strategy"


def test_between_graph_with_an_evaluator() -> None:
    seen = seen_standalone(TraitStrategy(True), EVALUATOR)
    assert len(seen) == 4
    assert all(seen[f"worker:{i}"].num_workers == 3 and seen[f"worker:{i}"].is_chief == (i == 0) for i in range(3))
    assert not seen["evaluator:0"].barrier, "the workers do not wait for the evaluator"


def test_in_graph_of_independent_workers() -> None:
    made = Servers()
    got = run_independent_tasks(lambda s: 7, TraitStrategy(), WORKERS_AND_PS, servers=made)
    assert {name for name, value in got.items() if value} == {"worker:0"}
    assert made.joined == ["ps:0", "ps:1", "worker:1", "worker:2"]
    seen, made = seen_independent(TraitStrategy(), EVALUATOR)
    assert sorted(seen) == ["", "evaluator:0"]
    assert (seen[""].master, seen[""].num_workers, seen[""].is_chief) == ("grpc://w:1", 3, True)
    assert seen["evaluator:0"].is_chief and not seen["evaluator:0"].distributed
    assert len(made.all) == 5, "an evaluator has no server"
    assert all("evaluator" not in s.config.cluster for s in made.all.values()), "no server has the evaluator in its cluster"


def test_between_graph_of_independent_workers() -> None:
    sum, together, made = Sum(), threading.Barrier(3), Servers()

    def f(strategy: Any) -> Any:
        assert not context().has_barrier
        context().wait_for_other_workers()  # does nothing in this mode
        sum.add(lambda: together.wait(DEADLINE))
        return context().task_type

    got = run_independent_tasks(f, TraitStrategy(True), WORKERS_AND_PS, servers=made)
    assert sum.right == 3
    assert {name for name, value in got.items() if value} == {"worker:0", "worker:1", "worker:2"}
    assert made.joined == ["ps:0", "ps:1"], "no server of a worker is joined"
    assert {s.starts for s in made.all.values()} == {1} and len(made.all) == 5


def test_between_graph_context_of_independent_workers() -> None:
    seen, _ = seen_independent(TraitStrategy(True), EVALUATOR)
    for i in range(3):
        c = seen[f"worker:{i}"]
        assert (c.master, c.num_workers, c.is_chief, c.distributed) == (f"grpc://w:{i + 1}", 3, i == 0, True)
    assert seen["evaluator:0"].is_chief and not seen["evaluator:0"].distributed


TWO = {"worker": ["w:1", "w:2"], "ps": ["p:1"]}


def one(f: Any, kind: str, index: int, **more: Any) -> Any:
    return on_a_thread(lambda: muster.run_distribute_coordinator(
        f, TraitStrategy(True), mode=muster.distribute.CoordinatorMode.INDEPENDENT_WORKER, cluster_spec=TWO,
        task_type=kind, task_id=index, environment={}, **more))


def test_session_config_in_std_server_and_in_the_function() -> None:
    made = Servers()
    config = one(lambda s: context().session_config, "worker", 0, servers=made)
    assert made.all["worker:0"].config.session_config == {"task": 1}, "the server has no device filters, since any strategy may use it"
    assert config == {"task": 2, "device_filters": ["/job:worker/task:0", "/job:ps"]}


def test_eval_strategy_configure() -> None:
    def never(strategy: Any) -> None:
        raise AssertionError

    config = one(never, "evaluator", 0, eval_strategy=TraitStrategy(True),
                 eval_fn=lambda s: context().session_config)
    assert config == {"alone": 2, "device_filters": ["/job:x"]}, "configured without a cluster"
