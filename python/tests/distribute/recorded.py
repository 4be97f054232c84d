"""A strategy that exposes how it was configured, servers that count their calls, contexts as worker functions see them,
and helpers that run the distribute coordinator."""
from __future__ import annotations

import dataclasses
import json
import threading
from typing import Any, Callable

import muster
from conftest import DEADLINE
from muster import distribute

TWO = {"worker": ["a:1", "b:1"]}
WORKERS_AND_PS = {"worker": ["w:1", "w:2", "w:3"], "ps": ["p:1", "p:2"]}


class TraitStrategy(distribute.Strategy):
    """Only task 0 initializes, saves checkpoints and saves summaries, unless `traits` says otherwise."""

    def __init__(self, between_graph: bool = False, **traits: bool) -> None:
        self.between_graph = between_graph
        self._traits = traits

    def configure(self, session_config: dict[str, Any], cluster: Any, task_type: str | None,
                  task_id: int | None) -> None:
        first = not task_id
        self.should_init = self._traits.get("init", first)
        self.should_checkpoint = self._traits.get("checkpoint", first)
        self.should_save_summary = self._traits.get("summary", first)
        for_task = bool(cluster and task_type and self.between_graph)
        key = "task" if for_task else "alone"
        session_config[key] = session_config.get(key, 0) + 1
        session_config["device_filters"] = [f"/job:{task_type}/task:{task_id}", "/job:ps"] if for_task else ["/job:x"]


class Server(distribute.StandardServer):
    def __init__(self, config: distribute.ServerConfig) -> None:
        self.config = config
        self.starts = self.joins = self.stops = 0

    def start(self) -> None:
        self.starts += 1

    def join(self) -> None:
        self.joins += 1

    def stop(self) -> None:
        self.stops += 1


class Servers:
    def __init__(self) -> None:
        self.all: dict[str, Server] = {}

    def __call__(self, config: distribute.ServerConfig) -> Server:
        name = f"{config.task_type}:{config.task_id}"
        assert name not in self.all, f"{name} made twice"
        self.all[name] = Server(config)
        return self.all[name]

    @property
    def joined(self) -> list[str]:
        return sorted(name for name, s in self.all.items() if s.joins)


@dataclasses.dataclass
class Seen:
    """A copy of a context's values that stays the same after the worker function has ended."""

    master: str
    num_workers: int
    is_chief: bool
    distributed: bool
    barrier: bool
    init: bool
    checkpoint: bool
    summary: bool
    config: dict[str, Any]


class Contexts:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.all: dict[str, Seen] = {}

    def note(self, _: Any) -> None:
        c = muster.get_current_worker_context()
        assert c
        name = f"{c.task_type}:{c.task_id}" if c.task_type else ""
        with self._lock:
            assert name not in self.all, f"{name} ran twice"
            self.all[name] = Seen(c.master_target, c.num_workers, c.is_chief, c.distributed_mode, c.has_barrier,
                                  c.should_init, c.should_checkpoint, c.should_save_summary, c.session_config)


def on_a_thread(f: Callable[[], Any]) -> Any:
    """Runs `f` on a thread of its own, because each thread has its own server. Returns its result or raises its error."""
    got: list[Any] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            got.append(f())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    if errors:
        raise errors[0]
    return got[0]


def run_independent_tasks(f: Any, strategy: Any, cluster: dict[str, list[str]], **common: Any) -> dict[str, Any]:
    """Runs each task on a thread, as if it were a process of its own. Returns the result of each task."""
    got: dict[str, Any] = {}

    def run(job: str, index: int) -> None:
        got[f"{job}:{index}"] = muster.run_distribute_coordinator(
            f, strategy, mode="independent_worker", cluster_spec=cluster, task_type=job, task_id=index,
            environment={}, **common)

    threads = [threading.Thread(target=run, args=(job, i), daemon=True)
               for job, tasks in cluster.items() for i in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    return got


def context() -> muster.WorkerContext:
    found = muster.get_current_worker_context()
    assert found
    return found


def run(f: Any, cluster: Any = None, strategy: Any = None, tf_config: Any = None, **more: Any) -> Any:
    environment = {} if tf_config is None else {"TF_CONFIG": tf_config if isinstance(tf_config, str)
                                                else json.dumps(tf_config)}
    return on_a_thread(lambda: muster.run_distribute_coordinator(f, strategy, cluster_spec=cluster,
                                                                 environment=environment, **more))


def independent(f: Any, kind: Any, index: Any, cluster: Any = None, **more: Any) -> Any:
    return run(f, cluster, mode="independent_worker", task_type=kind, task_id=index, **more)


def never(strategy: Any) -> None:
    raise AssertionError("it runs")


class InGraph(distribute.Strategy):
    between_graph = False
