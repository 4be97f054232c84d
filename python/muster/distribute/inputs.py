"""Reads and checks the inputs of run_distribute_coordinator. The sources are the arguments, TF_CONFIG and the
strategy's resolver, in this order.
"""
from __future__ import annotations

import dataclasses
import enum
import json
import logging
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional

from muster.distribute.cluster import Cluster, check, check_given, cluster_of, tf_config
from muster.distribute.servers import Factory
from muster.distribute.strategy import resolver_of, trait

if TYPE_CHECKING:
    from muster.agent.agent import Agent

log = logging.getLogger("muster.distribute")
CLUSTER_TEXT_MAX = 2000

Task = tuple[Optional[str], Optional[int]]
Part = tuple[Callable[[Any], Any], Any]
"""A function and its strategy."""


class CoordinatorMode(str, enum.Enum):
    STANDALONE_CLIENT = "standalone_client"
    """A single process runs the functions of all tasks. All other processes run standard servers."""
    INDEPENDENT_WORKER = "independent_worker"
    """Every task runs the distribute coordinator."""


@dataclasses.dataclass
class Job:
    work: Part
    evaluation: Part
    cluster: Cluster
    task: Task
    session_config: dict[str, Any]
    rpc_layer: str
    environment: str
    servers: Factory | None
    agent: Agent | None
    barrier_timeout: float
    stop_grace: float

    @property
    def is_client(self) -> bool:
        return self.task[0] in (None, "client")

    @property
    def between_graph(self) -> bool:
        return trait(self.work[1], "between_graph")


def complete(job: Job, mode: CoordinatorMode, environment: Mapping[str, str]) -> None:
    config = tf_config(environment)
    job.rpc_layer = job.rpc_layer if config.rpc_layer is None else config.rpc_layer
    job.environment = config.environment
    kind, index = job.task
    if not job.cluster:
        job.cluster = config.cluster
        if config.has_task:
            kind = kind if config.task_type is None else config.task_type
            index = index if config.task_id is None else config.task_id
            if index is None and kind not in (None, "client"):
                raise ValueError("TF_CONFIG: task.index is missing; set it to 0 or greater, or pass a task id")
    resolver = None if job.cluster else resolver_of(job.work[1])
    if resolver is not None:
        job.cluster = cluster_of(resolver.cluster_spec(), "resolver")
        kind, index = resolver.task_type, resolver.task_id
        said = resolver.environment  # a method of TensorFlow's TPU resolver, an attribute of its other resolvers
        job.rpc_layer, job.environment = resolver.rpc_layer or job.rpc_layer, (said() if callable(said) else said) or ""
    job.task = (kind or None, index)
    if not job.cluster:
        return
    if mode is CoordinatorMode.INDEPENDENT_WORKER and job.is_client:
        raise ValueError(f"task_type is {kind!r}, but an independent worker must be a chief, worker, ps or evaluator")
    check(job.cluster, *((None, None) if job.is_client else job.task))
    if not job.is_client:
        check_given(job.cluster, job.task[0] or "", index)


def announce(job: Job, mode: CoordinatorMode, has_eval_fn: bool) -> None:
    if not job.cluster:
        log.info("distribute coordinator: running locally, because no cluster is defined")
        if not has_eval_fn:
            log.info("evaluation is skipped, because eval_fn is not set")
        return
    text = json.dumps(job.cluster)
    if len(text) > CLUSTER_TEXT_MAX:
        text = f"{sum(map(len, job.cluster.values()))} tasks in {len(job.cluster)} jobs"
    log.info("distribute coordinator: mode %s, cluster %s, task %s, rpc layer %s, environment %s", mode.value, text,
             name_of(job.task), job.rpc_layer or "none", job.environment or "none")
    if "evaluator" in job.cluster or job.task[0] == "evaluator":
        if not has_eval_fn:
            log.warning("eval_fn is not set; evaluators run the worker function")
        if job.evaluation[1] is None:
            log.warning("eval_strategy is not set; evaluation runs without a strategy")


def name_of(task: Task) -> str:
    return "the whole cluster" if task[0] is None else f"{task[0]}:{task[1] or 0}"
