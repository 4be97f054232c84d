"""What run_distribute_coordinator asks of a strategy."""
from __future__ import annotations

import copy
from typing import Any, Dict, Optional

from muster.distribute.cluster import Cluster
from muster.distribute.servers import StandardServer


class Strategy:
    """To be derived from, or imitated: any object with these members will do. Each call of a worker
    function has a configured copy."""

    between_graph: bool = True
    """The worker function runs once for each chief and worker; else once for the whole cluster."""

    # Of a configured copy.
    should_init: bool = True
    should_checkpoint: bool = True
    should_save_summary: bool = True

    def copy(self) -> Any:
        return copy.copy(self)

    def configure(self, session_config: Dict[str, Any], cluster: Optional[Cluster], task_type: Optional[str],
                  task_id: Optional[int]) -> None:
        """May change both itself and the configuration. An evaluator, and a program that is alone, get no
        cluster, type and id; a worker function for the whole cluster no type and id."""

    def running_server(self) -> Optional[StandardServer]:
        """The server of this process, if the strategy has started it; none other is started then."""
        return None

    def resolver(self) -> Any:
        """Asked when neither arguments nor TF_CONFIG describe a cluster: an object with ``cluster_spec()``,
        ``task_type``, ``task_id``, ``rpc_layer`` and ``environment``, as TensorFlow's resolvers are."""
        return None
