"""Functions that parse cluster descriptions and TF_CONFIG, and check clusters and tasks."""
from __future__ import annotations

import dataclasses
import json
import operator
import re
from typing import Any, Mapping

Cluster = dict[str, dict[int, str]]
"""Addresses by job and index. If there are no addresses, the program runs without a cluster."""
JOBS = ("chief", "worker", "ps", "evaluator")


def cluster_of(given: Any, where: str = "cluster_spec") -> Cluster:
    """Converts an object such as {"worker": ["host:port", …]}, {"ps": {"3": "host:port"}} or TensorFlow's ClusterSpec
    to a Cluster. Raises ValueError for other objects.
    """
    given = given.as_dict() if hasattr(given, "as_dict") else given
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"{where}: the value is {given!r}, not an object such as {{\"worker\": [\"host:port\"]}}")
    made: Cluster = {}
    for job, tasks in given.items():
        try:
            if isinstance(tasks, str):
                raise TypeError
            pairs = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
            made[str(job)] = {_whole(i): _text(address) for i, address in pairs}
        except (TypeError, ValueError):
            raise ValueError(f"{where}: job {job!r} is {tasks!r}, not a list of addresses") from None
    return {job: dict(sorted(tasks.items())) for job, tasks in sorted(made.items()) if tasks}


def _text(address: Any) -> str:
    if not isinstance(address, str):
        raise TypeError
    return address


def _whole(index: Any) -> int:
    """Converts `index` to a task index. Raises TypeError or ValueError unless it is a whole number of at least 0, or a
    string of such a number.
    """
    if isinstance(index, bool) or (isinstance(index, str) and not re.fullmatch("[0-9]+", index)):
        raise ValueError
    number = int(index) if isinstance(index, str) else operator.index(index)
    if number < 0:
        raise ValueError
    return number


@dataclasses.dataclass(frozen=True)
class TfConfig:
    cluster: Cluster = dataclasses.field(default_factory=dict)
    has_task: bool = False
    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str = ""


def tf_config(environment: Mapping[str, str]) -> TfConfig:
    """Parses TF_CONFIG. Raises ValueError if TF_CONFIG is invalid; the message contains the invalid field."""
    text = environment.get("TF_CONFIG")
    if text is None:
        return TfConfig()
    try:
        all = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG: not JSON: {error}") from None
    task = all.get("task") if isinstance(all, dict) else None
    if not isinstance(all, dict) or not isinstance(task, (dict, type(None))):
        raise ValueError('TF_CONFIG: the value is not an object such as {"cluster": {…}, '
                         '"task": {"type": …, "index": …}}')
    kind, index = (task or {}).get("type"), (task or {}).get("index")
    try:
        number = None if index is None else _whole(index)
    except (TypeError, ValueError):
        raise ValueError(f"TF_CONFIG: task.index is {index!r}; it must be a whole number, 0 or greater") from None
    for name, said in (("task.type", kind), ("rpc_layer", all.get("rpc_layer")),
                       ("environment", all.get("environment"))):
        if not isinstance(said, (str, type(None))):
            raise ValueError(f"TF_CONFIG: {name} is {said!r}, not a string")
    return TfConfig(cluster_of(all.get("cluster"), "TF_CONFIG: cluster"), bool(task), kind, number,
                    all.get("rpc_layer"), all.get("environment") or "")


def check(cluster: Cluster, task_type: str | None = None, task_id: int | None = None) -> None:
    """Raises ValueError if the jobs cannot be combined or the cluster does not contain the task. The task of an
    evaluator does not have to be in the cluster.
    """
    for job in cluster:
        if job not in JOBS:
            raise ValueError(f"job {job!r} is not allowed in the cluster; allowed jobs are {', '.join(JOBS)}")
    for job in ("chief", "evaluator"):
        if len(cluster.get(job, ())) > 1:
            raise ValueError(f"job {job} has {len(cluster[job])} tasks; at most one is allowed")
    if task_type is not None and task_type not in JOBS:
        raise ValueError(f"task type {task_type!r} is unknown; known types are {', '.join(JOBS)}")
    if task_id is not None and task_id < 0:
        raise ValueError(f"task id is {task_id}; it must be 0 or greater")
    if task_type is None or not cluster:
        return
    if task_type not in cluster:
        if task_type == "evaluator":
            return
        raise ValueError(f"task type {task_type!r} is not a job of the cluster (its jobs are {', '.join(cluster)})")
    if task_id is not None and task_id not in cluster[task_type]:
        raise ValueError(f"task id is {task_id}, but job {task_type!r} has "
                         f"{', '.join(map(str, cluster[task_type]))}")


def check_given(cluster: Cluster, task_type: str, task_id: int | None) -> None:
    """Raises ValueError if the task index is missing and the job has several tasks."""
    count = len(cluster.get(task_type, ()))
    if task_id is None and count > 1:
        raise ValueError(f"task id is missing, and job {task_type!r} has {count} tasks; pass a task id from 0 to "
                         f"{count - 1}")


def master(cluster: Cluster, task_type: str, task_id: int, rpc_layer: str) -> str:
    """Returns the master of a task, such as "grpc://host:port". Raises ValueError if the cluster does not contain the
    task.
    """
    check(cluster, task_type, task_id)
    address = cluster.get(task_type, {}).get(task_id, "")
    return f"{rpc_layer}://{address}" if rpc_layer and address else address


def trainers(cluster: Cluster) -> list[tuple[str, int]]:
    """Returns the chief and the workers, ordered by rank."""
    return [(job, i) for job in ("chief", "worker") for i in cluster.get(job, ())]


def is_chief(cluster: Cluster, task_type: str | None, task_id: int | None) -> bool:
    """Returns whether the task acts as the chief. The chief, evaluators, tasks without a cluster, and the first worker
    of a cluster without a chief act as the chief.
    """
    if not cluster or task_type in (None, "chief", "evaluator"):
        return True
    return task_type == "worker" and "chief" not in cluster and (task_id or 0) == 0


def seen_by(cluster: Cluster, task_type: str) -> Cluster:
    """Returns the part of the cluster that a task's server knows. The server of an evaluator knows all evaluators; any
    other server knows all tasks that are not evaluators.
    """
    return {job: tasks for job, tasks in cluster.items() if (job == "evaluator") == (task_type == "evaluator")}
