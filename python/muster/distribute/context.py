"""The context of a worker function, which describes its task."""
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
    """Describes the task of a worker function. `get_current_worker_context` returns it.

    Each call of a worker function has its own context, which is current on the thread of that call.
    ``wait_for_other_workers`` and ``stop_requested`` can be called from any thread until the call ends.

    Attributes:
        task_type: Job of the task, or None if there is no cluster or the function runs for the whole cluster.
        task_id: Index of the task, or None if `task_type` is None.
        num_workers: Number of chiefs and workers, or 0 if there is no cluster.
        is_chief: Whether the task is the chief.
        master_target: Master of the task, such as "grpc://host:port". If the function runs for the whole cluster, this
            is the master of the chief or of worker 0. Empty for an evaluator and if there is no cluster.
    """

    def __init__(self, strategy: Any, cluster: Cluster, task_type: str | None, task_id: int | None, *,
                 session_config: dict[str, Any] | None = None, rpc_layer: str = "grpc",
                 barrier: Callable[[], None] | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Creates a context. Raises ValueError if the cluster does not contain the task. For a function that runs for
        the whole cluster, raises ValueError if the cluster contains neither a chief nor a worker.
        """
        self._strategy = strategy
        self._cluster = copy.deepcopy(cluster)
        self.task_type = task_type
        """None without a cluster, or if the function runs for the whole cluster."""
        self.task_id = task_id
        self._session_config = copy.deepcopy(session_config or {})
        self.num_workers = len(trainers(cluster))
        """Number of chiefs and workers. 0 without a cluster."""
        self.is_chief = is_chief(cluster, task_type, task_id)
        self.master_target = self._master(rpc_layer)
        """Master such as "grpc://host:port" of the task. For the whole cluster, the master of the chief or of worker 0.
        Empty without a cluster and for an evaluator.
        """
        self._barrier, self._stop = barrier, stop
        self._warned = False

    @property
    def cluster_spec(self) -> Cluster:
        """Returns a new copy of the cluster, which contains the addresses by job and index. The copy is empty if the
        program runs without a cluster.
        """
        return copy.deepcopy(self._cluster)

    @property
    def session_config(self) -> dict[str, Any]:
        """Returns a new copy of the configuration for sessions."""
        return copy.deepcopy(self._session_config)

    def _master(self, rpc_layer: str) -> str:
        if not self._cluster or self.task_type == "evaluator":
            return ""
        if self.task_type is not None:
            return master(self._cluster, self.task_type, self.task_id or 0, rpc_layer)
        job = "chief" if "chief" in self._cluster else "worker"
        if job not in self._cluster:
            raise ValueError("a worker function for the whole cluster needs a chief or a worker, but the cluster has "
                             "neither: "
                             + json.dumps(self._cluster))
        return master(self._cluster, job, 0, rpc_layer)

    @property
    def distributed_mode(self) -> bool:
        """Returns whether the task is in a cluster and is not an evaluator."""
        return bool(self._cluster) and self.task_type != "evaluator"

    @property
    def has_barrier(self) -> bool:
        """Returns whether `wait_for_other_workers` waits at a barrier. If False, the method returns immediately."""
        return self._barrier is not None

    def wait_for_other_workers(self) -> None:
        """Waits until all chiefs and workers have called this method.

        If each task is a separate process without an agent, there is no barrier. The method then returns immediately,
        as in TensorFlow, and logs once that it does not wait.

        Raises:
            threading.BrokenBarrierError: Another task has failed, has returned or has not reached the barrier in time.
            AgentError: `muster.Agent.barrier` of the task's agent has raised this error.
        """
        if self._barrier is not None:
            self._barrier()
        elif self.num_workers > 1 and self.distributed_mode and not self._warned:
            self._warned = True
            logging.getLogger("muster.distribute").warning(
                "wait_for_other_workers() does not wait: %s runs in its own process and has no barrier; pass "
                "agent=muster.Agent(…) to run_distribute_coordinator to get one", self)

    @property
    def stop_requested(self) -> bool:
        """Returns whether the function should return because another task has failed or has reached the end of the
        data. In an independent worker, the task's agent provides this information.
        """
        return self._stop()

    def session_creator(self, scaffold: Scaffold | None = None, config: dict[str, Any] | None = None,
                        checkpoint_dir: str | None = None, checkpoint_filename_with_path: str | None = None,
                        max_wait_secs: float = 7200) -> SessionCreator:
        """Returns a session creator for this function. For example: ``c.session_creator(scaffold).create_session()``.

        The function acts as the chief if there is no strategy, or if the strategy's `should_init` is True. The chief
        calls ``scaffold.init``, or ``scaffold.restore`` with the checkpoint. All other functions wait until
        ``scaffold.ready`` returns True.

        Args:
            scaffold: Functions that prepare the job.
            config: Configuration of the session. The configuration of the task has precedence.
            checkpoint_dir: Directory with the checkpoint to restore.
            checkpoint_filename_with_path: Path of the checkpoint to restore.
            max_wait_secs: Total time in seconds to wait for the server and the chief.

        Raises:
            ValueError: Both a checkpoint directory and a checkpoint path are given, or the scaffold has no `restore`.
        """
        own = self.task_type is not None and self.distributed_mode
        task = f"{self.task_type}:{self.task_id or 0}" if self.task_type is not None else "distribute coordinator"
        return SessionCreator(
            is_chief=self._strategy is None or self.should_init, master=self.master_target,
            config={**copy.deepcopy(config or {}), **self.session_config}, scaffold=scaffold or Scaffold(),
            checkpoint_dir=checkpoint_dir, checkpoint_file=checkpoint_filename_with_path, max_wait=max_wait_secs,
            name=task, task=task if own else None)

    # Flags of the strategy. All flags are False if there is no strategy.

    @property
    def should_init(self) -> bool:
        """Returns whether the function initializes the job."""
        return self._strategy is not None and trait(self._strategy, "should_init")

    @property
    def experimental_should_init(self) -> bool:
        """Returns `should_init`, under the name that TensorFlow uses."""
        return self.should_init

    @property
    def should_checkpoint(self) -> bool:
        """Returns whether the function saves checkpoints."""
        return self._strategy is not None and trait(self._strategy, "should_checkpoint")

    @property
    def should_save_summary(self) -> bool:
        """Returns whether the function saves summaries."""
        return self._strategy is not None and trait(self._strategy, "should_save_summary")

    def __str__(self) -> str:
        if not self._cluster:
            return "[local]"
        return (f"[cluster_spec: {json.dumps(self._cluster)}, task_type: {self.task_type}, "
                f"task_id: {self.task_id}]")

    def __enter__(self) -> WorkerContext:
        """Sets this context as the current context of the thread. Raises RuntimeError if the thread is already running
        a worker function.
        """
        outer = get_current_worker_context()
        if outer is not None:
            raise RuntimeError(f"cannot run distribute coordinator in a worker function {outer}")
        _current.context = self
        return self

    def __exit__(self, *_: Any) -> None:
        _current.context = None


def get_current_worker_context() -> WorkerContext | None:
    """Returns the context of the worker function that this thread is running, or None outside a worker function."""
    found: WorkerContext | None = getattr(_current, "context", None)
    return found
