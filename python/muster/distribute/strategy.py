"""What run_distribute_coordinator asks of a strategy."""
from __future__ import annotations

import copy
from typing import Any

from muster.distribute.cluster import Cluster
from muster.distribute.servers import StandardServer


class Strategy:
    """A base class for strategies. Any object with these members works as well, and so does a strategy of
    TensorFlow. Each call of a worker function has a configured copy."""

    between_graph: bool = True
    """The worker function runs once for each chief and worker; else once for the whole cluster."""

    # Of a configured copy.
    should_init: bool = True
    should_checkpoint: bool = True
    should_save_summary: bool = True

    def copy(self) -> Any:
        """Returns a deep copy, which shares nothing with the copies of other tasks."""
        return copy.deepcopy(self)

    def configure(self, session_config: dict[str, Any], cluster: Cluster | None, task_type: str | None,
                  task_id: int | None) -> None:
        """Configures the strategy for a task. It may change both itself and the configuration. An evaluator, and a
        program that is alone, get no cluster, type and id; a worker function for the whole cluster gets no type and
        id."""

    def running_server(self) -> StandardServer | None:
        """Returns the server of this process if the strategy has started it; no other is started then."""
        return None

    def resolver(self) -> Any:
        """Returns a resolver, such as :func:`muster.resolver` makes, or None. It is asked when neither arguments nor
        TF_CONFIG describe a cluster."""
        return None


_OF_TENSORFLOW = {"between_graph": "experimental_between_graph", "should_init": "experimental_should_init",
                  "should_checkpoint": "should_checkpoint", "should_save_summary": "should_save_summary"}
"""Members of `strategy.extended`."""


def trait(strategy: Any, name: str) -> bool:
    """Returns a flag of a strategy: `between_graph`, `should_init`, `should_checkpoint` or `should_save_summary`. A
    strategy of TensorFlow has it in `extended`.

    Raises:
        TypeError: the object is not a strategy.
    """
    if hasattr(strategy, name):
        return bool(getattr(strategy, name))
    extended = getattr(strategy, "extended", None)
    if extended is None:
        raise TypeError(f"strategy: {type(strategy).__name__} has no member {name!r}; derive it from "
                        "muster.distribute.Strategy, or pass a strategy of TensorFlow, which has 'extended'")
    return bool(getattr(extended, _OF_TENSORFLOW[name], getattr(Strategy, name)))


def copy_of(strategy: Any) -> Any:
    """Returns a copy for one task: `strategy.copy()`, or a deep copy where the strategy has no such method.

    Raises:
        TypeError: it cannot be copied.
    """
    try:
        return strategy.copy() if hasattr(strategy, "copy") else copy.deepcopy(strategy)
    except TypeError as error:
        raise TypeError(f"strategy: {type(strategy).__name__} cannot be copied for each task: {error}; give it a method "
                        "copy()") from error


def configure(strategy: Any, session_config: dict[str, Any], cluster: Cluster | None, task_type: str | None,
              task_id: int | None) -> None:
    """Configures a copy. The strategy may change its arguments."""
    if hasattr(strategy, "configure"):
        strategy.configure(session_config, cluster, task_type, task_id)


def running_server(strategy: Any) -> StandardServer | None:
    ask = getattr(strategy, "running_server", None)
    found: StandardServer | None = None if ask is None else ask()
    return found


def resolver_of(strategy: Any) -> Any:
    """Returns the resolver of a strategy, or None. TensorFlow's strategies call it `cluster_resolver`."""
    if hasattr(strategy, "resolver"):
        return strategy.resolver()
    return getattr(strategy, "cluster_resolver", None)
