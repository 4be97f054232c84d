"""What a worker function may ask about the task it runs for."""
from __future__ import annotations

import copy
import json
import logging
import threading
from typing import Any, Callable

from muster.distribute.cluster import Cluster, is_chief, master, trainers
from muster.distribute.sessions import Scaffold, SessionCreator
from muster.distribute.strategy import trait

_current = threading.local()


class WorkerContext:
    """One for each call of a worker function, on the thread of that call. ``wait_for_other_workers`` and
    ``stop_requested`` may be called from any thread as long as the call lasts."""

    def __init__(self, strategy: Any, cluster: Cluster, task_type: str | None, task_id: int | None, *,
                 session_config: dict[str, Any] | None = None, rpc_layer: str = "grpc",
                 barrier: Callable[[], None] | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Raises ValueError: the cluster has no such task; for the whole cluster, neither chief nor
        worker."""
        self._strategy = strategy
        self._cluster = copy.deepcopy(cluster)
        self.task_type = task_type
        """None: alone, or for the whole cluster."""
        self.task_id = task_id
        self._session_config = copy.deepcopy(session_config or {})
        self.num_workers = len(trainers(cluster))
        """Chief and workers; 0 when alone."""
        self.is_chief = is_chief(cluster, task_type, task_id)
        self.master_target = self._master(rpc_layer)
        """"grpc://host:port" of the own task; for the whole cluster, of the chief or else worker 0; empty
        when alone and for an evaluator."""
        self._barrier, self._stop = barrier, stop
        self._warned = False

    @property
    def cluster_spec(self) -> Cluster:
        """Returns a new copy each time. Empty if the program runs without a cluster."""
        return copy.deepcopy(self._cluster)

    @property
    def session_config(self) -> dict[str, Any]:
        """A new copy each time."""
        return copy.deepcopy(self._session_config)

    def _master(self, rpc_layer: str) -> str:
        if not self._cluster or self.task_type == "evaluator":
            return ""
        if self.task_type is not None:
            return master(self._cluster, self.task_type, self.task_id or 0, rpc_layer)
        job = "chief" if "chief" in self._cluster else "worker"
        if job not in self._cluster:
            raise ValueError("a worker function for the whole cluster needs a chief or a worker, and there is none: "
                             + json.dumps(self._cluster))
        return master(self._cluster, job, 0, rpc_layer)

    @property
    def distributed_mode(self) -> bool:
        """In a cluster, and no evaluator."""
        return bool(self._cluster) and self.task_type != "evaluator"

    @property
    def has_barrier(self) -> bool:
        return self._barrier is not None

    def wait_for_other_workers(self) -> None:
        """Until all chiefs and workers have come. Without a barrier, where each task is a process of its own
        and has no agent, it returns at once, as TensorFlow's does, and the log says so once. Raises
        threading.BrokenBarrierError where another one has failed or has returned; of an agent, what
        ``muster.Agent.barrier`` raises."""
        if self._barrier is not None:
            self._barrier()
        elif self.num_workers > 1 and self.distributed_mode and not self._warned:
            self._warned = True
            logging.getLogger("muster.distribute").warning(
                "wait_for_other_workers() waits for nobody: %s is a process of its own, without a barrier; "
                "run_distribute_coordinator(agent=muster.Agent(…)) gives it one", self)

    @property
    def stop_requested(self) -> bool:
        """Another task has failed, or has come to the end of the data: it is time to return. Of an independent
        worker its agent says so."""
        return self._stop()

    def session_creator(self, scaffold: Scaffold | None = None, config: dict[str, Any] | None = None,
                        checkpoint_dir: str | None = None, checkpoint_filename_with_path: str | None = None,
                        max_wait_secs: float = 7200) -> SessionCreator:
        """Returns a creator of sessions for this function, as in ``c.session_creator(scaffold).create_session()``. Without a
        strategy, or where it `should_init`, the creator is the chief's, which calls ``scaffold.init``, or
        ``scaffold.restore`` with the checkpoint. Others wait for ``scaffold.ready``. The own configuration goes over
        `config`. Raises ValueError: both checkpoints are given, or the scaffold cannot restore."""
        own = self.task_type is not None and self.distributed_mode
        task = f"{self.task_type}:{self.task_id or 0}" if self.task_type is not None else "distribute coordinator"
        return SessionCreator(
            is_chief=self._strategy is None or self.should_init, master=self.master_target,
            config={**copy.deepcopy(config or {}), **self.session_config}, scaffold=scaffold or Scaffold(),
            checkpoint_dir=checkpoint_dir, checkpoint_file=checkpoint_filename_with_path, max_wait=max_wait_secs,
            name=task, task=task if own else None)

    # Of the strategy; False without one.

    @property
    def should_init(self) -> bool:
        return self._strategy is not None and trait(self._strategy, "should_init")

    @property
    def experimental_should_init(self) -> bool:
        """TensorFlow's name of `should_init`."""
        return self.should_init

    @property
    def should_checkpoint(self) -> bool:
        return self._strategy is not None and trait(self._strategy, "should_checkpoint")

    @property
    def should_save_summary(self) -> bool:
        return self._strategy is not None and trait(self._strategy, "should_save_summary")

    def __str__(self) -> str:
        if not self._cluster:
            return "[local]"
        return (f"[cluster_spec: {json.dumps(self._cluster)}, task_type: {self.task_type}, "
                f"task_id: {self.task_id}]")

    def __enter__(self) -> WorkerContext:
        """Makes it the current one. Raises RuntimeError: this thread is in a worker function already."""
        outer = get_current_worker_context()
        if outer is not None:
            raise RuntimeError(f"cannot run distribute coordinator in a worker function {outer}")
        _current.context = self
        return self

    def __exit__(self, *_: Any) -> None:
        _current.context = None


def get_current_worker_context() -> WorkerContext | None:
    """Of the worker function that this thread runs; None outside of one."""
    found: WorkerContext | None = getattr(_current, "context", None)
    return found
