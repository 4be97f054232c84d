"""Strategies of TensorFlow in run_distribute_coordinator, and the isolation of its tasks."""
from __future__ import annotations

import inspect
import threading
from typing import Any

import pytest

import muster
from muster import distribute
from recorded import TWO, context, independent, run


class Extended:
    experimental_between_graph = True
    experimental_should_init = False
    should_checkpoint = True
    should_save_summary = False


class OfTensorFlow:
    """Has exactly the members of tf.distribute.Strategy."""

    def __init__(self, cluster_resolver: Any = None) -> None:
        self.extended = Extended()
        self.cluster_resolver = cluster_resolver
        self.seen: list[Any] = []

    def configure(self, session_config: Any = None, cluster_spec: Any = None, task_type: str | None = None,
                  task_id: int | None = None) -> None:
        self.seen.append((task_type, task_id))


def test_flags_of_a_tensorflow_strategy_are_read_from_extended() -> None:
    seen: dict[Any, Any] = {}

    def f(strategy: Any) -> None:
        c = context()
        assert c.experimental_should_init is c.should_init
        seen[c.task_id] = (strategy.seen, c.should_init, c.should_checkpoint, c.should_save_summary)

    strategy = OfTensorFlow()
    run(f, TWO, strategy)
    assert seen == {i: ([("worker", i)], False, True, False) for i in (0, 1)}
    assert strategy.seen == [], "each task has a copy"


def test_arguments_have_the_order_of_tensorflow() -> None:
    evaluated: list[Any] = []
    assert muster.run_distribute_coordinator(lambda s: 1, None, evaluated.append, None, "standalone_client", None, None,
                                             None, None, "grpc", environment={}) is None
    assert evaluated == [None]
    assert list(inspect.signature(muster.run_distribute_coordinator).parameters)[:10] == [
        "worker_fn", "strategy", "eval_fn", "eval_strategy", "mode", "cluster_spec", "task_type", "task_id",
        "session_config", "rpc_layer"]


def test_object_that_is_not_a_strategy_is_named() -> None:
    with pytest.raises(TypeError, match="strategy: dict has no member 'between_graph'; derive the class from "
                                        "muster.distribute.Strategy"):
        run(lambda s: None, TWO, {})


def test_strategy_that_cannot_be_copied_is_named() -> None:
    class Locked(distribute.Strategy):
        def __init__(self) -> None:
            self.lock = threading.Lock()

    with pytest.raises(TypeError, match=r"strategy: Locked cannot be copied for each task: .*; add a method copy\(\)"):
        run(lambda s: None, TWO, Locked())


def test_resolver_of_a_tensorflow_strategy_is_used() -> None:
    strategy = OfTensorFlow(muster.resolver('simple:{"worker":["a:1","b:1"]};task_type=worker;task_id=1'))
    assert independent(lambda s: context().master_target, None, None, strategy=strategy) == "grpc://b:1"

    class WithMethods:
        task_type, task_id, rpc_layer = "worker", 0, None

        def cluster_spec(self) -> Any:
            return TWO

        def environment(self) -> str:
            return ""

    assert independent(lambda s: context().master_target, None, None, strategy=OfTensorFlow(WithMethods())) == "grpc://a:1"


def test_tasks_share_neither_cluster_nor_configuration_nor_strategy() -> None:
    class Sharing(distribute.Strategy):
        def __init__(self) -> None:
            self.kept: dict[str, Any] = {}

        def configure(self, session_config: Any, cluster: Any, task_type: Any, task_id: Any) -> None:
            cluster["worker"].clear()
            session_config["nested"]["configured"] = task_id

    given, config = {"worker": ["a:1", "b:1"]}, {"nested": {"a": 1}}
    seen: dict[Any, Any] = {}

    def f(strategy: Any) -> None:
        c = context()
        c.cluster_spec["worker"].clear()
        c.session_config["nested"].clear()
        strategy.kept[c.task_id] = True
        c.wait_for_other_workers()
        seen[c.task_id] = (c.cluster_spec, c.session_config, strategy.kept, c.distributed_mode)

    strategy = Sharing()
    run(f, given, strategy, session_config=config)
    assert seen == {i: ({"worker": {0: "a:1", 1: "b:1"}}, {"nested": {"a": 1, "configured": i}}, {i: True}, True)
                    for i in (0, 1)}
    assert (given, config, strategy.kept) == ({"worker": ["a:1", "b:1"]}, {"nested": {"a": 1}}, {})
