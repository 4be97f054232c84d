"""Configures JAX in processes that `muster run` or `muster launch` has started."""
from __future__ import annotations

import os
from typing import Any, Mapping


def settings(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the arguments of ``jax.distributed.initialize`` from the variables that `muster run` sets.

    Args:
        environment: Used instead of ``os.environ``.

    Raises:
        RuntimeError: A variable is missing. The error names it.
    """
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
    """Calls ``jax.distributed.initialize`` with the settings of `muster run`.

    On CPUs before jax 0.5, the processes also need ``jax.config.update('jax_cpu_collectives_implementation',
    'gloo')`` first.

    Args:
        **more: Further arguments. They override the settings.

    Raises:
        RuntimeError: The process was not started by `muster run`.
    """
    found = {**settings(), **more}  # before jax, which takes a while
    import jax

    jax.distributed.initialize(**found)


def renew_preemption_sync(step: int | None = None) -> bool:
    """Makes this process receive preemption notices again after its connection to the server was lost.

    JAX's own wait for a notice, on which ``reached_preemption_sync_point`` depends, ends with the connection, and
    JAX does not start another one. Call this function in all processes whose wait has ended; Muster's event
    ``notice_unheard`` names them. During the call, SIGTERM has its default disposition for a moment.

    Args:
        step: Number of the current step. The function then replaces ``reached_preemption_sync_point(step)``.
            Without it, the new wait has seen no step. A notice that arrives before the next sync point of all
            processes then names a step that has passed, and stops no process.

    Returns:
        Whether to stop after this step. False without `step`.

    Raises:
        RuntimeError: jax.distributed is not initialized, or ``jax_enable_preemption_service`` is off.
    """
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
    del old  # restores the handler of SIGTERM, so it must end before the new one is created
    state.initialize_preemption_sync_manager()
    return step is not None and bool(multihost_utils.reached_preemption_sync_point(step))
