"""Sessions of worker functions. The chief prepares the job, and the other functions wait until the job is ready."""
from __future__ import annotations

import dataclasses
import logging
import os
import time
from typing import TYPE_CHECKING, Any, Callable

from muster.errors import WaitTimeout

if TYPE_CHECKING:
    from muster.coordinator.cluster_coordinator import ClusterCoordinator, Scheduling

log = logging.getLogger("muster.distribute")
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 2.0
"""Initial pause in seconds between two calls of `ready`. The pause doubles up to LONGEST_PAUSE."""


class WorkerSession:
    """A session of a worker function. Use it in a ``with`` block, which closes the session at the end.

    Attributes:
        coordinator: The muster.ClusterCoordinator of the session.
        config: The configuration of the session.
    """

    def __init__(self, coordinator: ClusterCoordinator, task: str | None, config: dict[str, Any]) -> None:
        self.coordinator = coordinator
        self.config = config
        self._task = task

    def on_own_task(self) -> Scheduling:
        """Returns the coordinator with an option that runs calls on the task of this function.

        The task must run a server; see `servers` of `muster.run_distribute_coordinator`. If there is no cluster,
        or the function runs for the whole cluster, calls run on any task.
        """
        return self.coordinator if self._task is None else self.coordinator.options(task=self._task)

    def close(self) -> None:
        """Closes the coordinator."""
        self.coordinator.close()

    def __enter__(self) -> WorkerSession:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


@dataclasses.dataclass
class Scaffold:
    """Functions that prepare a job before its steps can run. Each function is called with the session."""

    init: Callable[[WorkerSession], Any] | None = None
    """Function that the chief calls once for each session."""
    ready: Callable[[WorkerSession], bool] | None = None
    """Function that returns whether `init` has run. The other worker functions call `ready` until the result is True.
    If `ready` is None, they do not wait.
    """
    restore: Callable[[WorkerSession, str], bool] | None = None
    """Function that the chief calls instead of `init` if a checkpoint is set. If the directory contains no checkpoint,
    `restore` returns False and `init` is called.
    """


@dataclasses.dataclass
class SessionCreator:
    """Creates the session of a worker function. See `WorkerContext.session_creator`."""

    is_chief: bool
    master: str
    config: dict[str, Any]
    scaffold: Scaffold
    checkpoint_dir: str | None
    checkpoint_file: str | None
    max_wait: float
    name: str
    task: str | None

    def __post_init__(self) -> None:
        if self.checkpoint_dir and self.checkpoint_file:
            raise ValueError(f"checkpoint_dir and checkpoint_filename_with_path are both given ({self.checkpoint_dir}, "
                             f"{self.checkpoint_file}); pass only one of them")
        if (self.checkpoint_dir or self.checkpoint_file) and self.scaffold.restore is None:
            raise ValueError("a checkpoint is set, but the scaffold has no restore function")

    def create_session(self) -> WorkerSession:
        """Connects to the server in MUSTER_COORDINATOR. The chief then prepares the job, and the other functions wait
        until the job is ready.

        Returns:
            The session.

        Raises:
            UnavailableError: No server answered within `max_wait_secs`.
            WaitTimeout: The chief did not prepare the job within `max_wait_secs`.
            FileNotFoundError: The checkpoint file was not found or could not be restored.
        """
        from muster.coordinator.cluster_coordinator import ClusterCoordinator

        end = time.monotonic() + self.max_wait
        log.info("session of %s: %s, master %r, configuration %s", self.name, "this is the chief, which prepares the "
                                                                              "job"
                 if self.is_chief else "waiting until the chief has prepared the job", self.master, self.config)
        made = WorkerSession(ClusterCoordinator(os.environ.get("MUSTER_COORDINATOR") or "127.0.0.1:8476", name=self.name,
                                                connect_timeout=self.max_wait), self.task, self.config)
        try:
            made.coordinator.wait_open()
            self._prepare(made) if self.is_chief else self._wait(made, end)
        except BaseException:
            made.close()
            raise
        return made

    def _prepare(self, session: WorkerSession) -> None:
        wanted = self.checkpoint_file or self.checkpoint_dir
        if wanted and self.scaffold.restore and self.scaffold.restore(session, wanted):
            return
        if self.checkpoint_file:
            raise FileNotFoundError(f"no checkpoint was restored from {self.checkpoint_file}")
        if self.scaffold.init is not None:
            self.scaffold.init(session)

    def _wait(self, session: WorkerSession, end: float) -> None:
        pause = FIRST_PAUSE
        while self.scaffold.ready is not None and not self.scaffold.ready(session):
            if time.monotonic() + pause > end:
                raise WaitTimeout(f"the chief did not prepare the job within {self.max_wait:g} s")
            time.sleep(pause)  # only the program knows when the job is ready
            pause = min(2 * pause, LONGEST_PAUSE)
