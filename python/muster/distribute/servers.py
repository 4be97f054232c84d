"""The server that a task runs for the other tasks. In Muster, this server is a worker, which connects to a Muster
server with the task's type and index. The task's own address is not used.
"""
from __future__ import annotations

import dataclasses
import logging
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Callable, Mapping

from muster import _forks
from muster.distribute.cluster import Cluster, check, check_given, master, seen_by, tf_config

if TYPE_CHECKING:
    from muster.worker.worker import Worker

log = logging.getLogger("muster.distribute")


class StandardServer:
    """Base class of standard servers."""

    def start(self) -> None:
        """Starts the server. Does nothing if the server has already been started."""
        raise NotImplementedError

    def join(self) -> None:
        """Starts the server if necessary and waits until it has stopped. Raises RuntimeError if the server has failed.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """Stops the server after its running calls have finished. Returns immediately."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class ServerConfig:
    cluster: Cluster
    """The tasks that the server knows. The server of an evaluator knows all evaluators; any other server knows all
    other tasks.
    """
    task_type: str
    task_id: int
    session_config: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Configuration for the sessions of other servers. Workers ignore this field."""
    rpc_layer: str = ""
    environment: str = ""
    """``"google"`` if the task already has a running server."""

    @property
    def target(self) -> str:
        return master(self.cluster, self.task_type, self.task_id, self.rpc_layer)


Factory = Callable[[ServerConfig], StandardServer]


def worker_servers(server: str | None = None, functions: Callable[[Worker], None] | None = None,
                   **options: Any) -> Factory:
    """Returns a factory for standard servers. Each of these servers is a worker of a Muster server.

    In the environment "google", a server does not start a worker and only waits for `stop`.

    Args:
        server: Address of the Muster server. None means the address in MUSTER_COORDINATOR.
        functions: Function that is called with each worker, to register the functions of this task.
        **options: Options of `muster.Worker`.

    Raises:
        ValueError: When the factory creates a server: no Muster server is set, or the cluster does not contain the
            task.
    """

    def make(c: ServerConfig) -> StandardServer:
        if c.environment == "google":
            return _Waiting(c.target)
        named = server or os.environ.get("MUSTER_COORDINATOR")
        if not named:
            raise ValueError(f"the server for {c.task_type}:{c.task_id} has no Muster server to attach to: set "
                             "MUSTER_COORDINATOR=host:port")
        from muster.worker.worker import Worker

        address = c.cluster.get(c.task_type, {}).get(c.task_id)
        if address is None:
            raise ValueError(f"the server for {c.task_type}:{c.task_id} has no address, because the cluster does not "
                             "contain the task")
        worker = Worker(named, job=c.task_type, index=c.task_id, labels={"address": address}, **options)
        if functions is not None:
            functions(worker)
        return _WorkerServer(f"{c.task_type}:{c.task_id}", worker)

    return make


class _WorkerServer(StandardServer):
    def __init__(self, name: str, worker: Worker) -> None:
        self._name, self._worker = name, worker
        self._lock = threading.Lock()  # protects the thread
        self._thread: threading.Thread | None = None
        self._status = 1

    def start(self) -> None:
        def run() -> None:
            self._status = self._worker.run()

        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=run, name="muster-standard-server", daemon=True)
                self._thread.start()

    def join(self) -> None:
        self.start()
        assert self._thread
        self._thread.join()
        if self._status:
            raise RuntimeError(f"the server for {self._name} has exited; see its log for the reason")

    def stop(self) -> None:
        self._worker.stop()


class _Waiting(StandardServer):
    def __init__(self, target: str) -> None:
        self._target = target
        self._over = threading.Event()

    def start(self) -> None:
        log.info("standard server %s: the environment is google, so the task's own server is used and no server is "
                 "started", self._target)

    def join(self) -> None:
        self._over.wait()

    def stop(self) -> None:
        self._over.set()


def serve_until_end(server: StandardServer) -> None:
    """Waits until the server has stopped.

    If this is the main thread and SIGTERM has its default disposition, the first SIGTERM stops the server after its
    running calls have finished. A second SIGTERM stops the server immediately.

    Raises:
        RuntimeError: The server has failed.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return server.join()
    _forks.handle_signal(signal.SIGTERM, lambda *_: server.stop())
    try:
        server.join()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


_mine = threading.local()


def server_of_this_thread(c: ServerConfig, make: Factory) -> StandardServer:
    """Returns the server of this thread. Starts the server if necessary. `c.cluster` is the whole cluster. Raises
    ValueError if this thread is already running a different server.
    """
    kept = getattr(_mine, "kept", None)
    if kept is not None:
        if kept[0] != c:
            raise ValueError(f"this thread already runs the server for {kept[0].task_type}:{kept[0].task_id} with "
                             "another configuration; to stop it, call end_standard_server_of_this_thread()")
        found: StandardServer = kept[1]
        return found
    seen = dataclasses.replace(c, cluster=seen_by(c.cluster, c.task_type))
    server = make(seen)
    log.info("starting standard server %s, configuration %s", seen.target, seen.session_config)
    server.start()
    _mine.kept = (c, server)
    return server


def run_standard_server(session_config: Mapping[str, Any] | None = None, *, servers: Factory | None = None,
                        environment: Mapping[str, str] | None = None) -> StandardServer:
    """Starts the server of the task that TF_CONFIG describes, unless this thread has already started the server.

    Args:
        session_config: Configuration for sessions, as a dict.
        servers: Function that creates the server. None means a function from `worker_servers`.
        environment: Mapping to use instead of ``os.environ``.

    Raises:
        ValueError: TF_CONFIG is invalid or incomplete. The message describes the missing part.
    """
    config = tf_config(os.environ if environment is None else environment)
    leader = next((job for job in ("chief", "worker") if job in config.cluster), None)
    for missing, said in ((not config.cluster, '"cluster" is missing'), (not config.has_task, '"task" is missing'),
                          (config.task_type is None, '"task" has no member "type"'),
                          (leader is None, "the cluster must have chief or worker jobs")):
        if missing:
            raise ValueError("TF_CONFIG: " + said)
    kind, index = config.task_type or "", config.task_id or 0
    check(config.cluster, kind, index)
    check_given(config.cluster, kind, config.task_id)
    session = {**(session_config or {}), "collective_group_leader": f"/job:{leader}/replica:0/task:0"}
    return server_of_this_thread(ServerConfig(config.cluster, kind, index, session, config.rpc_layer or "grpc",
                                              config.environment), servers or worker_servers())


def end_standard_server_of_this_thread() -> None:
    """Stops the server that this thread has started. Does nothing if the thread has not started a server."""
    kept = getattr(_mine, "kept", None)
    _mine.kept = None
    if kept is not None:
        kept[1].stop()
