"""JAX processes that `muster run` has started."""
from __future__ import annotations

import os
from typing import Any, Mapping


def settings(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Arguments for ``jax.distributed.initialize`` from the variables that `muster run` sets. Raises
    RuntimeError: one of them is missing, which it names."""
    given = os.environ if environment is None else environment
    wanted = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
    missing = [name for name in wanted if not given.get(name)]
    if missing:
        raise RuntimeError(f"{', '.join(missing)}: not set; is this program started by 'muster run'?")
    made: dict[str, Any] = {"coordinator_address": given["JAX_COORDINATOR_ADDRESS"],
                            "num_processes": int(given["JAX_NUM_PROCESSES"]),
                            "process_id": int(given["JAX_PROCESS_ID"])}
    if given.get("JAX_COORDINATOR_BIND_ADDRESS"):
        made["coordinator_bind_address"] = given["JAX_COORDINATOR_BIND_ADDRESS"]
    return made


def initialize(**more: Any) -> None:
    """``jax.distributed.initialize`` with what `muster run` says; `more` goes on top. On CPUs the
    processes need collectives: ``jax.config.update('jax_cpu_collectives_implementation', 'gloo')``
    before jax 0.5."""
    found = {**settings(), **more}  # before jax, which takes a while
    import jax

    jax.distributed.initialize(**found)


def renew_preemption_sync(step: int | None = None) -> bool:
    """Lets this process hear preemption notices again (``reached_preemption_sync_point``) after its
    connection to the server was lost: JAX's own wait for a notice ends with the connection, and is
    never made again. All processes whose wait is gone need it; Muster's event ``notice_unheard``
    names them. SIGTERM has its default meaning for a moment meanwhile.

    With `step` it stands in the place of ``reached_preemption_sync_point(step)`` and returns the
    same: True, stop after this step. A new sync has seen no step, so without `step` (False is
    returned) a notice that comes before the next sync point of all processes names a step that lies
    behind them, and stops nobody. Raises RuntimeError: jax.distributed is not initialized, or
    without ``jax_enable_preemption_service``."""
    from jax._src import distributed
    from jax.experimental import multihost_utils

    state = distributed.global_state
    if state.client is None:
        raise RuntimeError("jax.distributed is not initialized")
    old, state.preemption_sync_manager = state.preemption_sync_manager, None
    if old is None:
        raise RuntimeError("there was no preemption sync: jax_enable_preemption_service is off")
    if hasattr(old, "shutdown"):
        old.shutdown()
    del old  # its end sets SIGTERM back, so it comes before the new one
    state.initialize_preemption_sync_manager()
    return step is not None and bool(multihost_utils.reached_preemption_sync_point(step))
