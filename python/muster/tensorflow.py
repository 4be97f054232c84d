"""Describes the cluster of TensorFlow processes that were started by `muster run` or `muster launch`."""
from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Mapping


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The cluster of this process, and the task that this process runs."""

    jobs: dict[str, list[str]]
    """Addresses by job, such as {"worker": ["host:port"]}."""
    task_type: str | None
    task_index: int | None
    coordinator: str
    """Address of the coordination service, or "" if no address is set."""
    is_chief: bool
    num_workers: int
    restart_count: int

    def cluster_spec(self) -> Any:
        """Returns the cluster as a ``tf.train.ClusterSpec``."""
        import tensorflow as tf

        return tf.train.ClusterSpec(self.jobs)


def cluster(environment: Mapping[str, str] | None = None) -> Cluster:
    """Returns the cluster, from TF_CONFIG and the other environment variables that `muster run` sets.

    Args:
        environment: Mapping to use instead of ``os.environ``.

    Raises:
        RuntimeError: TF_CONFIG is not set.
        ValueError: TF_CONFIG is not a JSON object with a cluster.
    """
    given = os.environ if environment is None else environment
    text = given.get("TF_CONFIG")
    if not text:
        raise RuntimeError("TF_CONFIG: not set; start this program with 'muster run' or 'muster launch'")
    try:
        config = json.loads(text)
        jobs = {job: list(tasks.values() if isinstance(tasks, dict) else tasks)
                for job, tasks in config["cluster"].items()}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"TF_CONFIG: not a JSON object with a cluster: {error!r}") from error
    task = config.get("task") or {}
    kind = task.get("type")
    index = int(task["index"]) if "index" in task else None
    chief = kind == "chief" or (kind == "worker" and index == 0 and "chief" not in jobs)
    return Cluster(jobs, kind, index, given.get("MUSTER_COORDINATOR", ""),
                   given.get("MUSTER_IS_CHIEF", "1" if chief else "0") == "1",
                   int(given.get("MUSTER_NUM_WORKERS",
                                 len(jobs.get("chief", [])) + len(jobs.get("worker", [])))),
                   int(given.get("MUSTER_RESTART_COUNT", "0")))
