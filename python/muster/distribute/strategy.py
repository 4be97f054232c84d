"""The interface of strategies for run_distribute_coordinator."""
from __future__ import annotations

import copy
from typing import Any

from muster.distribute.cluster import Cluster
from muster.distribute.servers import StandardServer


class Strategy:
    """A base class for strategies. Objects with the same members and TensorFlow strategies can be used as well. Each
    call of a worker function receives a configured copy of the strategy.
    """

    between_graph: bool = True
    """Whether the worker function runs once for each chief and worker. If False, the function runs once for the whole
    cluster.
    """

    # These attributes are read from a configured copy.
    should_init: bool = True
    should_checkpoint: bool = True
    should_save_summary: bool = True

    def copy(self) -> Any:
        """Returns a deep copy that shares no state with the copies of other tasks."""
        return copy.deepcopy(self)

    def configure(self, session_config: dict[str, Any], cluster: Cluster | None, task_type: str | None,
                  task_id: int | None) -> None:
        """Configures the strategy for a task. This method can change both the strategy and the session configuration.

        Args:
            session_config: Configuration for sessions.
            cluster: The cluster, or None for an evaluator or if there is no cluster.
            task_type: Job of the task, or None if `cluster` is None or the function runs for the whole cluster.
            task_id: Index of the task, or None if `task_type` is None.
        """

    def running_server(self) -> StandardServer | None:
        """Returns the server that the strategy has started in this process, or None. If a server is returned, Muster
        does not start a server in this process.
        """
        return None

    def resolver(self) -> Any:
        """Returns a resolver, for example from `muster.resolver`, or None. The resolver is used if neither the
        arguments nor TF_CONFIG describe a cluster.
        """
        return None


_OF_TENSORFLOW = {"between_graph": "experimental_between_graph", "should_init": "experimental_should_init",
                  "should_checkpoint": "should_checkpoint", "should_save_summary": "should_save_summary"}
"""Members of `strategy.extended`."""


def trait(strategy: Any, name: str) -> bool:
    """Returns a flag of a strategy: `between_graph`, `should_init`, `should_checkpoint` or `should_save_summary`.
    TensorFlow's strategies store these flags in `extended`.

    Raises:
        TypeError: The object is not a strategy.
    """
    if hasattr(strategy, name):
        return bool(getattr(strategy, name))
    extended = getattr(strategy, "extended", None)
    if extended is None:
        raise TypeError(f"strategy: {type(strategy).__name__} has no member {name!r}; derive the class from "
                        "muster.distribute.Strategy, or pass a strategy of TensorFlow, which has 'extended'")
    return bool(getattr(extended, _OF_TENSORFLOW[name], getattr(Strategy, name)))


def copy_of(strategy: Any) -> Any:
    """Returns a copy of the strategy for one task: the result of `strategy.copy()`, or a deep copy if the strategy has
    no method `copy`.

    Raises:
        TypeError: The strategy cannot be copied.
    """
    try:
        return strategy.copy() if hasattr(strategy, "copy") else copy.deepcopy(strategy)
    except TypeError as error:
        raise TypeError(f"strategy: {type(strategy).__name__} cannot be copied for each task: {error}; add a method "
                        "copy() to the class") from error


def configure(strategy: Any, session_config: dict[str, Any], cluster: Cluster | None, task_type: str | None,
              task_id: int | None) -> None:
    """Configures a copy of a strategy. The strategy can change the arguments."""
    if hasattr(strategy, "configure"):
        strategy.configure(session_config, cluster, task_type, task_id)


def running_server(strategy: Any) -> StandardServer | None:
    ask = getattr(strategy, "running_server", None)
    found: StandardServer | None = None if ask is None else ask()
    return found


def resolver_of(strategy: Any) -> Any:
    """Returns the resolver of a strategy, or None. TensorFlow's strategies store the resolver in `cluster_resolver`."""
    if hasattr(strategy, "resolver"):
        return strategy.resolver()
    return getattr(strategy, "cluster_resolver", None)
