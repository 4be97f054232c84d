"""Identity, limits and timeouts of a worker."""
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
    """Options of a worker. Times are in seconds.

    Attributes:
        servers: gRPC addresses ``"host:port"``, which are tried in turn.
        cluster: Name of the cluster. Empty means the main cluster.
        token: Token to send with every call, if the server requires a token. Empty means the token from MUSTER_TOKEN or
            MUSTER_TOKEN_FILE.
        job: Job of the worker's tasks.
        index: Index of the first task. The other tasks have the following indices. If None, the server chooses the
            indices.
        slots: Number of calls that each task executes at the same time.
        credits: Maximum number of unanswered calls of each task. 0 means the greater of 256 and twice the number of
            slots.
        nested_max: Maximum number of calls of each task that wait for values of other calls and have released their
            slots, at most `credits` minus `slots`. Any additional call that waits raises RuntimeError. If 0, waiting
            calls keep their slots.
        labels: Labels that calls can require.
        resources: Resources of each task, for example ``{"gpu": 1}``.
        host: Name of this host. Empty means the system's host name.
        version: Version that the server shows for the worker.
        ca: PEM file with the CA certificates for verifying the server. None means the value of MUSTER_CA. Setting `ca`,
            `cert` or `key` enables TLS.
        cert: PEM file with the client certificate, for a server that requests a certificate. None means the value of
            MUSTER_CERT.
        key: PEM file with the private key of `cert`. None means the value of MUSTER_KEY.
        backoff_min: Shortest pause before a reconnection attempt.
        backoff_max: Longest pause before a reconnection attempt.
        backoff_reset_after: Duration of a connection after which the pause is reset to `backoff_min`.
        connect_timeout: Time limit for establishing a connection.
        drain_timeout: Time that running calls have to finish when the worker is asked to leave. After this time,
            unfinished calls are returned to the server.
        stop_grace: Time that a cancelled call has to stop before its process is killed. The call is notified
            immediately through ``context().cancelled()``, and after one second by `muster.Cancelled`.
        stack_signal: Signal that makes the processes write their stacks (`muster stacks`). 0 disables stack sampling.
        blob_bytes_max: Maximum total size in bytes of the files with large arguments and values, which the processes
            share. The least recently used files are deleted.
        transfer_listen: HOST or HOST:PORT on which this worker serves its large values to workers on other hosts. Empty
            means the interface that reaches the server, and a free port. With ``"off"``, other workers fetch the values
            from the server.
        transfer_advertise: HOST or HOST:PORT to which other hosts connect, if it differs from `transfer_listen`, for
            example behind NAT.
        shm_bytes_max: Maximum size in bytes of the shared memory for large values, which other processes on this host
            can read. Values that do not fit are sent through the server. If 0, all values are sent through the server.
            None means the smaller of 4 GiB and half of the host's memory.

    Raises:
        ValueError: An option is invalid.
    """

    servers: list[str]
    cluster: str = ""
    token: str = dataclasses.field(default="", repr=False)
    job: str = "worker"
    index: int | None = None
    slots: int = 1
    credits: int = 0
    nested_max: int = 64
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    host: str = ""
    version: str = f"{__version__} (python {platform.python_version()})"
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    backoff_min: float = 0.1
    backoff_max: float = 5.0
    backoff_reset_after: float = 5.0
    connect_timeout: float = 10.0
    drain_timeout: float = 30.0
    stop_grace: float = 10.0

    stack_signal: int = stacks.DEFAULT

    blob_bytes_max: int = 4 << 30

    transfer_listen: str = ""
    transfer_advertise: str = ""
    shm_bytes_max: int | None = None

    def __post_init__(self) -> None:
        self.servers = addresses.checked(self.servers)
        if self.slots < 1:
            raise ValueError(f"slots: {self.slots}, must be at least 1")
        self.credits = self.credits or max(256, 2 * self.slots)
        if self.credits < self.slots:
            raise ValueError(f"credits: {self.credits}, must be at least the number of slots, {self.slots}")
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
        self.tls  # noqa: B018  raises ValueError for unusable files

    @property
    def tls(self) -> Tls:
        """TLS settings, as given by `ca`, `cert` and `key`."""
        return Tls.of(self.ca, self.cert, self.key)

    def index_of(self, number: int) -> int | None:
        """Returns the index that a task requests, or None if the server chooses.

        Args:
            number: Number of the task's attachment, from 0.
        """
        return None if self.index is None else self.index + number

    @property
    def channel_options(self) -> list[tuple[str, int]]:
        """Options for the gRPC channel to the server."""
        return [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class WorkerWords(TypedDict, total=False):
    """Options of WorkerOptions, except `servers` and `slots`, as keyword arguments for Worker."""

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
    """Options of LocalCluster's workers."""

    pickled: bool
    gpus: Sequence[int | str] | None
