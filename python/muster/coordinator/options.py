"""How a coordinator presents itself, and what a closure may ask for. Times are seconds."""
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
"""What a closure counts."""
_NOTEBOOKS = ("ipykernel_launcher.py", "colab_kernel_launcher.py")


# What its user has started: of `python -c`, and where Python is embedded, that is not known.
def _script() -> str:
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    if name in _NOTEBOOKS:
        return "notebook"
    if name == "__main__.py":  # python -m package
        name = os.path.basename(os.path.dirname(sys.argv[0]))
    return "" if name == "-c" else name.encode(errors="replace").decode()


def _check_message(of: str, make: Callable[[], Any]) -> None:
    """Raises ValueError when `make` cannot make its message, which the session's own thread will need."""
    try:
        make()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{of} cannot be sent: {error}") from None


@dataclasses.dataclass(frozen=True)
class CoordinatorOptions:
    name: str = ""
    """Shown to operators. Empty: the script's, or that this is a notebook."""
    cluster: str = ""
    """Empty: the default one."""
    token: str = dataclasses.field(default="", repr=False)
    """Sent with every call where the server asks for a token. Empty: MUSTER_TOKEN of the
    environment."""
    continue_on_error: bool = False
    """Every closure runs, whatever the others do, and join raises nothing: each value has its own
    error. Else the first error cancels what is left and is raised."""
    queue_capacity: int = 0
    """Closures that may wait for a worker. While so many do, `schedule`, `submit` and `map` wait for room. 0: the
    server's default, 262,144 unless its ``--queue-capacity`` says otherwise. The client then waits only when the
    server's queue and `pending_max` are full."""
    max_worker_failures: int | None = None
    """Lost processes or workers after which a call fails with AbortedError: up to 255; 0: no limit.
    None: the server's default, 3. Calls of ``schedule`` then survive any number of lost workers, and
    only fail when their own process has ended that often. Each retry waits longer, from 0.1 s to 30 s. A
    worker that leaves in order does not count."""
    require_function: bool = False
    """Closures fail at once while no connected worker has this Python version."""
    num_workers: int = 0
    """How many workers each job has: what functions see as ``muster.context().num_workers``, whoever
    is connected. Values and datasets per worker are built on the tasks below it. 0: as the cluster
    is declared, else the number of tasks that the server knows, at least the highest index plus one."""
    weight: int = 1
    """Share of the workers beside the weights of others that have work: 1 to 1000."""
    session_grace: float = 0.0
    """After a lost connection the session is resumed within this time, or what is not finished
    fails with UnavailableError. 0: the server's default, a minute."""
    durable: bool | None = None
    """The session outlives the server's process. None: where the server has a data directory;
    True: else it is refused."""
    ca: str | None = None
    """PEM file with the CA certificates that verify the server; None: MUSTER_CA. Any of `ca`, `cert` and `key` turns TLS on."""
    cert: str | None = None
    """PEM file with the client certificate, for a server that asks for one; None: MUSTER_CERT."""
    key: str | None = None
    """PEM file with the private key of `cert`; None: MUSTER_KEY."""
    log_to_driver: bool | None = None
    """Whether lines that functions print and log on workers are printed here, too: ``(train.step worker:1) text``. What functions
    print to stdout goes to stdout, all other lines go to stderr. None: yes, unless MUSTER_LOG_TO_DRIVER is 0."""
    connect_timeout: float = 10.0
    pending_max: int = 65_536
    """Closures that may wait here to be sent. Full: schedule waits."""
    pending_bytes_max: int = 64 << 20
    shm_bytes_max: int | None = None
    """Of memory with large arguments, which workers of this host take. What does not fit goes by the server. 0: all
    does. None: 4 GiB, or half of the memory that there is, if that is less."""

    show_arguments: bool = True
    """A text of a closure's arguments, of 120 characters at most, goes with it to the server, which shows it to whoever
    may read the closure. False: none does, as where arguments are secrets."""

    def __post_init__(self) -> None:
        if not 0 <= (self.max_worker_failures or 0) <= WORKER_FAILURES_MAX:
            raise ValueError(f"max_worker_failures: {self.max_worker_failures}, must be from 0 to "
                             f"{WORKER_FAILURES_MAX}")
        if (self.shm_bytes_max or 0) < 0:
            raise ValueError(f"shm_bytes_max: {self.shm_bytes_max}, must not be negative")
        self.tls  # noqa: B018  raises ValueError for files that cannot be used
        for of in ("name", "cluster", "token"):
            as_text(of, getattr(self, of))
        _check_message("the coordinator's options", self.open)

    @property
    def tls(self) -> Tls:
        return Tls.of(self.ca, self.cert, self.key)

    @property
    def shown_name(self) -> str:
        """Returns the name that operators see: `name`, or that of the script."""
        return self.name or _script()

    def open(self) -> Any:
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
    priority: int = 0
    """Higher ones of a session are dispatched first."""
    delay: float = 0.0
    """Not before this long from now."""
    timeout: float = 0.0
    """Not finished this long after it was scheduled: fails with TIMEOUT. 0: none."""
    retries: int = 0
    """How often an error of the function is tried again."""
    retry_delay: float = 1.0
    """Before the first retry; it doubles with each, up to…"""
    retry_delay_max: float = 60.0
    """…this. A quarter less, spread by closure."""
    task: str | None = None
    """Only on this task, as "worker:3", or on tasks of this job, as "worker"."""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Only on workers where all of them match."""
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Taken from the worker meanwhile, as {"gpu": 1}."""
    trust_pickles: bool = False
    """Of functions scheduled by name: ``fetch`` unpickles what says of itself that it is a pickle. Then
    whoever answers, any worker that has this name, can run code here."""

    def __post_init__(self) -> None:
        for name in ("delay", "timeout", "retries", "retry_delay", "retry_delay_max"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)}, must not be negative")
        if self.task is not None and ":" in self.task and not self.task.partition(":")[2].isdigit():
            raise ValueError(f"task: {self.task!r}, must be as 'worker' or 'worker:3'")
        self._check_wire()

    def _check_wire(self) -> None:
        """Raises ValueError for a value that no message can carry. The session's own thread sends the options later,
        and could only end the session."""
        for of, texts in (("task", [self.task or ""]), ("labels", [*self.labels, *self.labels.values()]),
                          ("resources", self.resources)):
            for text in texts:
                if not isinstance(text, str):
                    raise ValueError(f"{of}: {text!r}, must be text")
                as_text(of, text)
        _check_message(f"the options {self}", self.to_wire)

    def to_wire(self) -> Any:
        wire = messages.ClosureOptions(
            priority=self.priority, delay_ms=_ms(self.delay), deadline_ms=_ms(self.timeout),
            max_retries=self.retries, label=dict(self.labels), resource=dict(self.resources))
        if self.retries:
            initial, most = _ms(self.retry_delay), _ms(self.retry_delay_max)
            if (initial, most) != (1000, 60_000):  # as it is where nothing is said
                wire.retry_initial_ms, wire.retry_max_ms = initial, max(most, initial)
        if self.task is not None:
            job, _, index = self.task.partition(":")
            wire.task_job = job
            if index:
                wire.task_index = int(index)
        return wire


class CoordinatorWords(TypedDict, total=False):
    """Those of CoordinatorOptions, as keyword arguments."""

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
    """Those of ClosureOptions."""

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
    """Raises TypeError: there is no option of this name."""
    known = {f.name for f in dataclasses.fields(options)}
    for name in given:
        if name in known:
            continue
        meant = _elsewhere.OPTIONS.get(name)
        if meant is None:
            meant = next(iter(difflib.get_close_matches(name, known, 1)), None)
        raise TypeError(f"{of}: there is no option {name!r}" +
                        (f"; you may mean {meant}" if meant else "") +
                        f". There are {', '.join(sorted(known))}")


def _ms(seconds: float | int) -> int:
    return int(seconds * 1000 + 0.999)
