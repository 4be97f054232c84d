"""Configures JAX in processes that were started by `muster run` or `muster launch`."""
from __future__ import annotations

import os
from typing import Any, Mapping


def settings(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the arguments of ``jax.distributed.initialize``, from the environment variables that `muster run` sets.

    Args:
        environment: Mapping to use instead of ``os.environ``.

    Raises:
        RuntimeError: An environment variable is missing. The message contains the name of the variable.
    """
    given = os.environ if environment is None else environment
    wanted = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
    missing = [name for name in wanted if not given.get(name)]
    if missing:
        raise RuntimeError(f"{', '.join(missing)}: not set; start this program with 'muster run' or 'muster launch'")
    made: dict[str, Any] = {"coordinator_address": given["JAX_COORDINATOR_ADDRESS"],
                            "num_processes": int(given["JAX_NUM_PROCESSES"]),
                            "process_id": int(given["JAX_PROCESS_ID"])}
    if given.get("JAX_COORDINATOR_BIND_ADDRESS"):
        made["coordinator_bind_address"] = given["JAX_COORDINATOR_BIND_ADDRESS"]
    return made


def initialize(**more: Any) -> None:
    """Calls ``jax.distributed.initialize`` with the settings of `muster run`.

    On CPUs with jax versions before 0.5, first call ``jax.config.update('jax_cpu_collectives_implementation',
    'gloo')``.

    Args:
        **more: Additional arguments, which override the settings.

    Raises:
        RuntimeError: The process was not started by `muster run`.
    """
    found = {**settings(), **more}  # before the import of jax, which is slow
    import jax

    jax.distributed.initialize(**found)


def renew_preemption_sync(step: int | None = None) -> bool:
    """Makes this process receive preemption notices again after a loss of its connection to the server.

    JAX waits for a notice in the background, and ``reached_preemption_sync_point`` depends on this wait. The wait ends
    when the connection is lost, and JAX does not restart the wait. Call this function in all processes whose wait has
    ended; Muster's event ``notice_unheard`` lists these processes. SIGTERM briefly has its default disposition during
    the call.

    Args:
        step: Number of the current step. If `step` is set, this call replaces ``reached_preemption_sync_point(step)``.
            If `step` is None, JAX does not know the current step. A notice that arrives before all processes have
            reached the next sync point then selects a past step, and no process stops.

    Returns:
        Whether to stop after the current step. False if `step` is None.

    Raises:
        RuntimeError: jax.distributed is not initialized, or ``jax_enable_preemption_service`` is False.
    """
    from jax._src import distributed
    from jax.experimental import multihost_utils

    state = distributed.global_state
    if state.client is None:
        raise RuntimeError("jax.distributed is not initialized")
    old, state.preemption_sync_manager = state.preemption_sync_manager, None
    if old is None:
        raise RuntimeError("there is no preemption sync manager, because jax_enable_preemption_service is off")
    if hasattr(old, "shutdown"):
        old.shutdown()
    del old  # this restores the SIGTERM handler, so it must precede the creation of the new wait
    state.initialize_preemption_sync_manager()
    return step is not None and bool(multihost_utils.reached_preemption_sync_point(step))
