"""Runs a server and workers on this machine until the program exits."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import weakref
from typing import TYPE_CHECKING, Sequence

from muster import _forks, _program
from muster._elsewhere import LOCAL_CLUSTER, Hints
from muster.coordinator.cluster_coordinator import ClusterCoordinator
from muster.coordinator.link import end_sessions
from muster.coordinator.options import CoordinatorWords
from muster.errors import MusterError
from muster.rest.client import Client
from muster.rest.http import NoServer, ServerError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from muster._pickled.uploads import Uploadable
    from muster.worker.options import LocalWords

START_TIMEOUT = 30.0
"""Seconds that the workers have to connect."""


_TLS = {f"MUSTER_{verb}{name}" for verb in ("", "SERVE_")
        for name in ("TLS_CERT", "TLS_KEY", "TLS_CLIENT_CA", "TLS_CLIENT_REQUIRED", "CA", "CERT", "KEY")}
"""Environment variables with the TLS settings of other servers."""
_PLAINTEXT = {"ca": "", "cert": "", "key": ""}


class LocalCluster(Hints):
    """A server on free ports and workers on this machine.

    The cluster stops when you close it, when the program exits or crashes, or when the program has no reference to the
    cluster or its coordinators. Ctrl-C interrupts only the program. ``muster.context().num_workers`` equals `workers`
    from the first call on. If a worker crashes, the replacement process has the same index.

    The cluster runs the program ``muster`` at the path in MUSTER_BINARY, otherwise the program in this package,
    otherwise the program in PATH.

    Args:
        workers: Number of workers, each of which is a separate process.
        threads: If set, the cluster has a single worker with this many threads, and `workers` is ignored.
        modules: Modules that the workers import, to register their functions.
        server: Additional arguments of ``muster serve``. With ``["--log-level", "info"]``, the server log is shown.
        **options: Options of `muster.WorkerOptions`, and `pickled` and `gpus` of `muster.Worker`.

    Attributes:
        address: ``"host:port"`` of the server's gRPC API.
        url: URL of the REST API and the dashboard.

    Raises:
        FileNotFoundError: The program ``muster`` was not found.
        MusterError: The cluster did not start.

    Example:
        ```python
        import muster

        with muster.LocalCluster(workers=4) as cluster, cluster.coordinator() as c:
            print(c.submit(pow, 2, 10).fetch())  # 1024
        ```
    """

    _instead = LOCAL_CLUSTER
    _shown = "LocalCluster"

    def __init__(self, workers: int = 4, *, threads: int | None = None,
                 modules: Sequence[str] = (), server: Sequence[str] = (),
                 **options: Unpack[LocalWords]) -> None:
        count = {"threads": threads} if threads else {"processes": workers}
        asked = {"binary": _program.find(), "server": list(server), "program": os.getpid(),
                 "worker": {**count, "modules": list(modules), **options}}
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.pathsep.join([package, *(p for p in sys.path if p)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "muster.local.supervisor", json.dumps(asked)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,  # Ctrl-C interrupts only the program
            env={**{k: v for k, v in os.environ.items() if k not in _TLS}, "PYTHONPATH": path})
        self._program = os.getpid()
        self._close = weakref.finalize(self, _stop, self._process, os.getpid())
        _forks.notify_in_forks(self)
        assert self._process.stdout
        said = json.loads(self._process.stdout.readline() or "{}")
        if "grpc" not in said:
            self._close()
            raise MusterError("the local cluster did not start: " +
                              said.get("error", "its process exited"))
        self.address: str = said["grpc"]
        self.url: str = said["http"]
        self._wait_for(1 if threads else workers)

    def _wait_for(self, count: int) -> None:
        end = time.monotonic() + START_TIMEOUT
        while self._process.poll() is None and time.monotonic() < end:
            try:  # a new client each time: after its first answer, a client would wait for the server to restart
                if sum(t["state"] == "CONNECTED" for t in self.client().tasks()) >= count:
                    return
            except NoServer:
                pass
            except ServerError as error:
                if error.status != 503:  # the server stops because its workers have ended
                    raise
            time.sleep(0.01)
        ended = self._process.poll() is not None
        self._close()
        raise MusterError("the local cluster did not start: " + (
            "its workers have exited; see stderr for the reason" if ended else
            f"its {count} workers did not attach within {START_TIMEOUT:g} s"))

    def forked(self) -> None:
        """Closes the pipes in a forked process. The package calls this method after a fork."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()

    def coordinator(self, *, upload: Sequence[Uploadable] = (),
                    **options: Unpack[CoordinatorWords]) -> ClusterCoordinator:
        """Opens a coordinator of this cluster. The cluster runs at least as long as the program refers to the
        coordinator or its values.

        Args:
            upload: Modules for all calls of the coordinator. See `ClusterCoordinator.options`.
            **options: Options of `muster.CoordinatorOptions`.

        Returns:
            The coordinator, which uses TLS only if `options` contains TLS files.
        """
        plaintext: CoordinatorWords = {"ca": "", "cert": "", "key": ""}
        plaintext.update(options)
        made = ClusterCoordinator(self.address, upload=upload, **plaintext)
        made._owner.keep(self)
        return made

    def client(self) -> Client:
        """Returns a client of this cluster's REST API."""
        return Client(self.url, **_PLAINTEXT)

    def close(self) -> None:
        """Stops the cluster and closes the sessions of its coordinators and executors. Has no effect in a forked
        process.
        """
        if self._close.alive and os.getpid() == self._program:
            end_sessions(self.address, f"the LocalCluster at {self.address} was closed")
        self._close()

    def __repr__(self) -> str:
        return f"<muster.LocalCluster {self.address}, dashboard {self.url}>"

    def _repr_html_(self) -> str:
        return (f"<div><b>muster.LocalCluster</b> {self.address}, "
                f'<a href="{self.url}" target="_blank">dashboard</a></div>')

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _stop(process: subprocess.Popen[str], program: int) -> None:
    if os.getpid() != program:
        return
    assert process.stdin and process.stdout
    with contextlib.suppress(OSError):  # the process has exited
        process.stdin.write("stop\n")  # written explicitly, because a forked process may keep the pipe open
        process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
