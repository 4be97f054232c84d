"""Options of coordinators and of calls. All times are in seconds."""
from __future__ import annotations

import dataclasses
import difflib
import os
import sys
from typing import Any, Callable, Iterable, Mapping, TypedDict

from muster import _elsewhere
from muster._pickled.names import as_text
from muster._tls import Tls
from muster._wire import messages

WORKER_FAILURES_MAX = 255
"""Largest number of lost workers that is counted for a call."""
_NOTEBOOKS = ("ipykernel_launcher.py", "colab_kernel_launcher.py")


# Returns the name of the program, or an empty string for `python -c` and embedded Python.
def _script() -> str:
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    if name in _NOTEBOOKS:
        return "notebook"
    if name == "__main__.py":  # run as `python -m package`
        name = os.path.basename(os.path.dirname(sys.argv[0]))
    return "" if name == "-c" else name.encode(errors="replace").decode()


def _check_message(of: str, make: Callable[[], Any]) -> None:
    """Raises ValueError if `make` cannot create its message. Without this check, the session thread would fail later.
    """
    try:
        make()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{of} cannot be sent: {error}") from None


@dataclasses.dataclass(frozen=True)
class CoordinatorOptions:
    """Options of a coordinator. Pass the fields as keyword arguments to `muster.ClusterCoordinator`,
    `LocalCluster.coordinator`, `muster.Executor` or joblib's backend. Times are in seconds.

    Raises:
        ValueError: A value is out of range, or a TLS file cannot be used.
    """

    name: str = ""
    """Display name of the session. Empty means the name of the script, or "notebook"."""
    cluster: str = ""
    """Name of the cluster. Empty means the default cluster."""
    token: str = dataclasses.field(default="", repr=False)
    """Token for a server that requires a token. If empty, the environment variable MUSTER_TOKEN or MUSTER_TOKEN_FILE is
    used.
    """
    continue_on_error: bool = False
    """Whether scheduled calls fail independently, as in `submit`. If True, an error does not cancel other calls, and
    `join` does not raise the error. If False, the first error of a scheduled call cancels the other scheduled calls and
    is raised.
    """
    queue_capacity: int = 0
    """Number of calls that can wait for a worker. While the queue is full, `schedule`, `submit` and `map` block. 0
    means the server's limit, which is set by its flag ``--queue-capacity`` (default 262,144). With 0, calls block only
    while the server's queue and `pending_max` are full.
    """
    max_worker_failures: int | None = None
    """Number of lost processes or workers after which a call fails with AbortedError, up to 255. 0 means no limit. None
    means the server's default, 3. With None, calls of ``schedule`` do not fail because of lost workers. Such calls fail
    only if their processes have ended that many times. The delay before each retry grows from 0.1 s to 30 s. A worker
    that shuts down normally does not count as lost.
    """
    require_function: bool = False
    """Whether calls fail immediately while no connected worker has this Python version."""
    num_workers: int = 0
    """Number of workers of each job, whether connected or not. Functions can read this number as
    ``muster.context().num_workers``. Per-worker values are built on tasks with a lower index. 0 means the number that
    the cluster declares. If the cluster declares no number, 0 means the highest known index plus one.
    """
    weight: int = 1
    """Weight of the session, from 1 to 1000. Sessions with waiting calls share the workers in proportion to their
    weights.
    """
    session_grace: float = 0.0
    """Seconds within which a lost connection can be resumed. After this time, unfinished calls fail with
    UnavailableError. 0 means the server's default, one minute.
    """
    durable: bool | None = None
    """Whether the session survives a restart of the server. If True, a server without a data directory rejects the
    session. None means True if the server has a data directory.
    """
    ca: str | None = None
    """PEM file with the CA certificates that verify the server. None means MUSTER_CA. TLS is used if any of `ca`,
    `cert` and `key` is set.
    """
    cert: str | None = None
    """PEM file with the client certificate, for a server that requires a client certificate. None means MUSTER_CERT."""
    key: str | None = None
    """PEM file with the private key of `cert`. None means MUSTER_KEY."""
    log_to_driver: bool | None = None
    """Whether this program prints the lines that functions print and log on workers, for example
    ``(train.step worker:1) text``. Lines from stdout are printed to stdout, all other lines to stderr. None means True,
    unless MUSTER_LOG_TO_DRIVER is 0.
    """
    connect_timeout: float = 10.0
    """Seconds to wait for the server's first answer."""
    pending_max: int = 65_536
    """Maximum number of unsent calls in this process. When this number is reached, `schedule` and `submit` block."""
    pending_bytes_max: int = 64 << 20
    """Maximum total size in bytes of the unsent calls in this process."""
    shm_bytes_max: int | None = None
    """Size in bytes of the shared memory for large arguments, which workers on this host map. Large arguments that do
    not fit are sent through the server. 0 means no shared memory. None means the smaller of 4 GiB and half of the
    available memory.
    """

    show_arguments: bool = True
    """Whether a summary of the arguments, at most 120 characters, is sent to the server. Every user with read access to
    the call can see the summary. Set this option to False if arguments are secret.
    """

    def __post_init__(self) -> None:
        if not 0 <= (self.max_worker_failures or 0) <= WORKER_FAILURES_MAX:
            raise ValueError(f"max_worker_failures: {self.max_worker_failures}, must be from 0 to "
                             f"{WORKER_FAILURES_MAX}")
        if (self.shm_bytes_max or 0) < 0:
            raise ValueError(f"shm_bytes_max: {self.shm_bytes_max}, must not be negative")
        self.tls  # noqa: B018  reading the property raises ValueError for files that cannot be used
        for of in ("name", "cluster", "token"):
            as_text(of, getattr(self, of))
        _check_message("the coordinator's options", self.open)

    @property
    def tls(self) -> Tls:
        return Tls.of(self.ca, self.cert, self.key)

    @property
    def shown_name(self) -> str:
        """Returns the display name of the session: `name`, or the name of the script."""
        return self.name or _script()

    def open(self) -> Any:
        """Returns the message that opens a session with these options. Internal."""
        return messages.SessionRequest(open={
            "name": self.shown_name, "cluster": self.cluster, "hold_values": True,
            "continue_on_error": self.continue_on_error, "queue_capacity": self.queue_capacity,
            "report_queue": self.queue_capacity > 0,
            "max_worker_failures": self.max_worker_failures or 0,
            "unlimited_worker_failures": self.max_worker_failures == 0, "weight": self.weight,
            "num_workers": self.num_workers,
            "require_function": self.require_function,
            "session_grace_ms": int(self.session_grace * 1000),
            **({} if self.durable is None else {"durable": self.durable})}).open


@dataclasses.dataclass(frozen=True)
class ClosureOptions:
    """Options of a call. Pass the fields as keyword arguments to `muster.ClusterCoordinator.options`. Times are in
    seconds.

    Raises:
        ValueError: A value is negative or cannot be encoded, or `task` does not have the form "worker" or "worker:3".
    """

    priority: int = 0
    """Priority of the call. Within a session, calls with a higher priority start first."""
    delay: float = 0.0
    """Seconds after submission before the call can start."""
    timeout: float = 0.0
    """Seconds after submission within which the call must end. Otherwise the call fails with TimedOutError. 0 means no
    limit.
    """
    retries: int = 0
    """Number of times that the call is repeated if the function raises an exception."""
    retry_delay: float = 1.0
    """Seconds before the first retry. The delay doubles with each retry, and is shortened by up to a quarter. The
    amount differs between calls.
    """
    retry_delay_max: float = 60.0
    """Maximum delay in seconds before a retry."""
    task: str | None = None
    """Task or job on which the call must run, such as "worker:3" or "worker"."""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Labels that the worker of the call must have."""
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Resources that are reserved on the worker while the call runs, such as {"gpu": 1}."""
    trust_pickles: bool = False
    """Whether ``fetch`` unpickles results of named functions that are marked as pickles. If True, every worker that
    provides a function of this name can run code in this process.
    """

    def __post_init__(self) -> None:
        for name in ("delay", "timeout", "retries", "retry_delay", "retry_delay_max"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)}, must not be negative")
        if self.task is not None and ":" in self.task and not self.task.partition(":")[2].isdigit():
            raise ValueError(f"task: {self.task!r}, must be a role or a task, such as 'worker' or 'worker:3'")
        self._check_wire()

    def _check_wire(self) -> None:
        """Raises ValueError for a value that cannot be encoded. Without this check, sending the options would fail on
        the session thread and end the session.
        """
        for of, texts in (("task", [self.task or ""]), ("labels", [*self.labels, *self.labels.values()]),
                          ("resources", self.resources)):
            for text in texts:
                if not isinstance(text, str):
                    raise ValueError(f"{of}: {text!r}, must be a string")
                as_text(of, text)
        _check_message(f"the options {self}", self.to_wire)

    def to_wire(self) -> Any:
        """Returns these options as a protocol message. Internal."""
        wire = messages.ClosureOptions(
            priority=self.priority, delay_ms=_ms(self.delay), deadline_ms=_ms(self.timeout),
            max_retries=self.retries, label=dict(self.labels), resource=dict(self.resources))
        if self.retries:
            initial, most = _ms(self.retry_delay), _ms(self.retry_delay_max)
            if (initial, most) != (1000, 60_000):  # default values are not sent
                wire.retry_initial_ms, wire.retry_max_ms = initial, max(most, initial)
        if self.task is not None:
            job, _, index = self.task.partition(":")
            wire.task_job = job
            if index:
                wire.task_index = int(index)
        return wire


class CoordinatorWords(TypedDict, total=False):
    """Fields of CoordinatorOptions as keyword arguments."""

    name: str
    cluster: str
    token: str
    continue_on_error: bool
    queue_capacity: int
    max_worker_failures: int | None
    num_workers: int
    require_function: bool
    weight: int
    session_grace: float
    durable: bool | None
    ca: str | None
    cert: str | None
    key: str | None
    log_to_driver: bool | None
    connect_timeout: float
    pending_max: int
    pending_bytes_max: int
    shm_bytes_max: int | None
    show_arguments: bool


class ClosureWords(TypedDict, total=False):
    """Fields of ClosureOptions as keyword arguments."""

    priority: int
    delay: float
    timeout: float
    retries: int
    retry_delay: float
    retry_delay_max: float
    task: str | None
    labels: Mapping[str, str]
    resources: Mapping[str, int]
    trust_pickles: bool


def check_names(of: str, given: Iterable[str], options: type) -> None:
    """Raises TypeError if an option does not exist. The error message suggests a similar name."""
    known = {f.name for f in dataclasses.fields(options)}
    for name in given:
        if name in known:
            continue
        meant = _elsewhere.OPTIONS.get(name)
        if meant is None:
            meant = next(iter(difflib.get_close_matches(name, known, 1)), None)
        raise TypeError(f"{of}: unknown option {name!r}" +
                        (f"; use {meant}" if meant else "") +
                        f" (known options: {', '.join(sorted(known))})")


def _ms(seconds: float | int) -> int:
    return int(seconds * 1000 + 0.999)
