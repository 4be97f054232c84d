"""How a worker presents itself, and its limits and times."""
from __future__ import annotations

import dataclasses
import platform
from typing import Sequence, TypedDict

from muster import __version__
from muster._pickled.names import as_text
from muster._tls import Tls
from muster._wire import addresses
from muster.worker import stacks


@dataclasses.dataclass
class WorkerOptions:
    """Times are seconds. Raises ValueError for what cannot be."""

    servers: list[str]
    """"host:port", tried in turn."""
    cluster: str = ""
    token: str = dataclasses.field(default="", repr=False)
    """Sent with every call where the server asks for a token. Empty: MUSTER_TOKEN of the
    environment."""
    job: str = "worker"
    index: int | None = None
    """Of the first attachment, the others follow; None: the server picks."""
    slots: int = 1
    """Of each attachment."""
    credits: int = 0
    """Closures that each may hold unanswered; 0: 256, or twice the slots if that is more."""
    nested_max: int = 64
    """Closures of each attachment that may wait for values of others at one time, having given their
    slots back; within credits less slots. More: the call that waits raises RuntimeError. 0: they keep
    their slots."""
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    """Of each attachment, as {"gpu": 1}."""
    host: str = ""
    version: str = f"{__version__} (python {platform.python_version()})"
    ca: str | None = None
    """PEM file with the CA certificates that verify the server; None: MUSTER_CA. Any of `ca`, `cert` and `key` turns TLS on."""
    cert: str | None = None
    """PEM file with the client certificate, for a server that asks for one; None: MUSTER_CERT."""
    key: str | None = None
    """PEM file with the private key of `cert`; None: MUSTER_KEY."""
    backoff_min: float = 0.1
    backoff_max: float = 5.0
    backoff_reset_after: float = 5.0
    connect_timeout: float = 10.0
    drain_timeout: float = 30.0
    """For what runs when the worker is asked to leave; then it is given back."""
    stop_grace: float = 10.0
    """For a closure that was asked to stop; then its process is killed. It is told at once by
    `context().cancelled()`, and after a second by muster.Cancelled being raised."""

    stack_signal: int = stacks.DEFAULT
    """What its processes write their stacks at (`muster stacks`); 0: they are not prepared for it."""

    blob_bytes_max: int = 4 << 30
    """Of files with large arguments and values, which its processes share; the ones that were not
    used for longest go."""

    transfer_listen: str = ""
    """Where workers of other hosts take large values of this one, HOST or HOST:PORT; empty: the interface by which
    the server is reached, and a free port; "off": they have them from the server."""
    transfer_advertise: str = ""
    """HOST or HOST:PORT that they are told instead, where the way there leads through something."""
    shm_bytes_max: int | None = None
    """Of memory in which large values stay here, for other processes of this host to take. What does not fit goes by
    the server. 0: all does. None: 4 GiB, or half of the memory that there is, if that is less."""

    def __post_init__(self) -> None:
        self.servers = addresses.checked(self.servers)
        if self.slots < 1:
            raise ValueError(f"slots: {self.slots}, must be at least 1")
        self.credits = self.credits or max(256, 2 * self.slots)
        if self.credits < self.slots:
            raise ValueError(f"credits: {self.credits}, must be at least slots, {self.slots}")
        if self.nested_max < 0:
            raise ValueError(f"nested_max: {self.nested_max}, must not be negative")
        for of, texts in (("labels", [*self.labels, *self.labels.values()]), ("resources", self.resources),
                          ("host", [self.host])):
            for text in texts:
                as_text(of, text)
        for name in ("transfer_listen", "transfer_advertise"):
            if getattr(self, name) not in ("", "off"):
                try:
                    addresses.split(getattr(self, name))
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from error
        if (self.shm_bytes_max or 0) < 0:
            raise ValueError(f"shm_bytes_max: {self.shm_bytes_max}, must not be negative")
        self.tls  # noqa: B018  raises ValueError for files that cannot be used

    @property
    def tls(self) -> Tls:
        return Tls.of(self.ca, self.cert, self.key)

    def index_of(self, number: int) -> int | None:
        return None if self.index is None else self.index + number

    @property
    def channel_options(self) -> list[tuple[str, int]]:
        return [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class WorkerWords(TypedDict, total=False):
    """Those of WorkerOptions but `servers` and `slots`, as keyword arguments of Worker."""

    cluster: str
    token: str
    job: str
    index: int | None
    credits: int
    nested_max: int
    labels: dict[str, str]
    resources: dict[str, int]
    host: str
    version: str
    ca: str | None
    cert: str | None
    key: str | None
    backoff_min: float
    backoff_max: float
    backoff_reset_after: float
    connect_timeout: float
    drain_timeout: float
    stop_grace: float
    stack_signal: int
    blob_bytes_max: int
    transfer_listen: str
    transfer_advertise: str
    shm_bytes_max: int | None


class LocalWords(WorkerWords, total=False):
    """Those of the workers of a LocalCluster."""

    pickled: bool
    gpus: Sequence[int | str] | None
